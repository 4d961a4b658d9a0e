//! What is called, checked as far as it can be before a host is brought up: so that a wrong word is answered at once, and
//! in the words of the command line.

use super::FLOW;
use crate::catalog::approved::approve;
use crate::catalog::section::{self, Description};
use crate::catalog::{Approved, ConnectionSpec, Problem, Purpose, digest_of};
use anyhow::{Context, anyhow, bail, ensure};
use oncegate_domain::doubt::Effect;
use oncegate_domain::key::KeyFormat;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One call, as it was typed, checked.
pub struct Subject {
    /// The connector's bytes.
    pub bytes: Vec<u8>,
    /// What it says about itself.
    pub description: Description,
    /// The connection's file, turned to this call.
    pub connection: toml::Table,
    /// What the connection approves of the action.
    pub approved: Arc<Approved>,
    /// The connection's file approves other bytes than these.
    pub other_digest: bool,
    /// The input.
    pub input: Value,
    /// The step key; `None`: a fresh one.
    pub key: Option<String>,
    /// Perform or lookup.
    pub purpose: Purpose,
    /// Below this folder `file:` secrets are read.
    pub secrets_dir: PathBuf,
    /// Where compiled connectors are kept from one call to the next; `None`: nowhere.
    pub cache: Option<PathBuf>,
}

impl Subject {
    /// Reads the files and checks that they fit.
    ///
    /// # Errors
    /// What does not fit, and how to mend it.
    pub fn read(wasm: &Path, connection: &Path, action: &str, secrets_dir: PathBuf) -> anyhow::Result<Self> {
        let bytes = std::fs::read(wasm).with_context(|| format!("{} cannot be read", wasm.display()))?;
        let description = section::read(&bytes).with_context(|| format!("{} is no connector", wasm.display()))?;
        let source = std::fs::read_to_string(connection)
            .with_context(|| format!("the connection {} cannot be read", connection.display()))?;
        let said = |problems: Vec<Problem>| said(connection, &problems);
        let spec = ConnectionSpec::parse(&source).map_err(said)?;
        let digest = digest_of(&bytes);
        let mut granted = approve(&description, &digest, &spec, 1).map_err(said)?;
        let Some(approved) = granted.remove(action) else {
            let known: Vec<&str> = granted.keys().map(String::as_str).collect();
            bail!(
                "the connection {} grants no action {action:?} of {}; it grants: {}",
                connection.display(),
                description.manifest.name,
                known.join(", ")
            );
        };
        Ok(Self {
            connection: turned(source.parse()?),
            other_digest: spec.digest.as_ref().is_some_and(|approved| *approved != digest),
            bytes,
            description,
            approved,
            input: Value::Null,
            key: None,
            purpose: Purpose::Perform,
            secrets_dir,
            cache: None,
        })
    }

    /// With this input.
    ///
    /// # Errors
    /// It is none of the action.
    pub fn with_input(self, input: Value) -> anyhow::Result<Self> {
        ensure!(input.is_object(), "the input must be a JSON object, such as {{}}");
        let action = &self.approved.action;
        self.approved
            .check_input(&input)
            .map_err(|why| anyhow!("this is no input of {action:?}: {why}; nothing was sent"))?;
        Ok(Self { input, ..self })
    }

    /// With this step key, in place of a fresh one.
    ///
    /// # Errors
    /// The destination does not take such keys.
    pub fn with_key(self, key: Option<String>) -> anyhow::Result<Self> {
        if let Some(key) = &key {
            fits(key, self.approved.key.format())?;
        }
        Ok(Self { key, ..self })
    }

    /// Asks by a key in place of performing.
    ///
    /// # Errors
    /// The action has no lookup here, or there is no key to ask by.
    pub fn as_lookup(self) -> anyhow::Result<Self> {
        let action = &self.approved.action;
        ensure!(
            self.approved.terms.lookup_after_ms.is_some(),
            "{action:?} has no lookup here: neither its manifest nor the connection says `lookup_after`"
        );
        ensure!(self.key.is_some(), "say with --key which effect to look for");
        Ok(Self {
            purpose: Purpose::Lookup,
            ..self
        })
    }

    /// It may change something at the destination.
    pub fn changes(&self) -> bool {
        self.purpose == Purpose::Perform && self.approved.terms.effect == Effect::Write
    }

    /// The installation whose one flow makes the call.
    pub(super) fn write_installation(&self, folder: &Path) -> anyhow::Result<()> {
        let write = |part: &str, name: &str, content: &[u8]| {
            std::fs::create_dir_all(folder.join(part))?;
            std::fs::write(folder.join(part).join(name), content)
        };
        let connector = &self.description.manifest.name;
        write("connectors", &format!("{connector}.wasm"), &self.bytes)?;
        let connection = toml::to_string(&self.connection).context("the connection cannot be written again")?;
        write(
            "connections",
            &format!("{}.toml", self.approved.connection),
            connection.as_bytes(),
        )?;
        write("flows", &format!("{FLOW}.toml"), self.flow_file().as_bytes())?;
        Ok(())
    }

    /// The flow names the input's fields, so that it is checked like any other; the values go to the step as they are.
    fn flow_file(&self) -> String {
        let fields = self.input.as_object().into_iter().flatten();
        let with: String = fields
            .map(|(field, _)| {
                let field = Value::from(field.as_str());
                let path = Value::from(format!("{{{{ body.input[{field}] }}}}"));
                format!("{field} = {path}\n")
            })
            .collect();
        format!(
            "name = \"{FLOW}\"\ntitle = \"One call by hand\"\n\n[trigger.webhook]\npath = \"{FLOW}\"\nverify = \"none\"\n\
             key = \"{{{{ body.key }}}}\"\n\n[[steps]]\nid = \"step\"\nuse = \"{}.{}\"\n[steps.with]\n{with}",
            self.approved.connection, self.approved.action
        )
    }
}

/// The folder of secrets, where nobody named one: beside the connection's folder, as in an installation; else that of the
/// data directory.
pub fn secrets_dir(connection: &Path, data: &Path) -> PathBuf {
    let beside = connection.parent().unwrap_or(Path::new("")).join("../secrets");
    if beside.is_dir() { beside } else { data.join("secrets") }
}

/// The connection for this call: of these bytes, whichever it approves, and for the call's own flow.
fn turned(mut connection: toml::Table) -> toml::Table {
    for unwanted in ["digest", "examples"] {
        connection.remove(unwanted);
    }
    let flows = toml::Value::Array(vec![toml::Value::from(FLOW)]);
    connection.insert("flows".to_owned(), flows);
    connection
}

fn said(file: &Path, problems: &[Problem]) -> anyhow::Error {
    let said = problems.iter().map(|problem| format!("{}:{problem}", file.display()));
    anyhow!(said.collect::<Vec<_>>().join("\n"))
}

/// Whether a key could be the host's.
fn fits(key: &str, format: KeyFormat) -> anyhow::Result<()> {
    ensure!(
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()),
        "a step key is one word of visible ASCII characters"
    );
    match format {
        KeyFormat::Text { max_length } => ensure!(
            key.len() <= max_length,
            "the step key has {} characters; this destination takes {max_length}",
            key.len()
        ),
        KeyFormat::Uuid => {
            let is_uuid = key.len() == 36
                && key.char_indices().all(|(at, c)| match at {
                    8 | 13 | 18 | 23 => c == '-',
                    _ => c.is_ascii_hexdigit(),
                });
            ensure!(is_uuid, "this destination takes UUIDs as keys, and {key:?} is none");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_that_the_destination_takes() {
        let text = KeyFormat::Text { max_length: 8 };
        assert!(fits("og1_abcd", text).is_ok());
        for (key, format, why) in [
            ("", text, "one word"),
            ("two words", text, "one word"),
            ("og1_abcde", text, "takes 8"),
            ("og1_abcd", KeyFormat::Uuid, "takes UUIDs"),
        ] {
            assert!(fits(key, format).unwrap_err().to_string().contains(why), "{key}");
        }
        assert!(fits("01234567-89ab-8def-8123-456789abcdef", KeyFormat::Uuid).is_ok());
    }
}
