//! `oncegate connector pack`: a component that another toolchain made becomes a connector that describes itself. The
//! manifest and the schemas are the author's files; nothing of the component is run, and none of its bytes changed.

use super::{BuildError, BuildReport, OutFile, bad_component, examples_fit, inspect, read_manifest};
use crate::catalog::json;
use crate::catalog::section::{self, Schemas, SectionError};
use crate::runtime::{LoadError, check_interface};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What to pack.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// The component, as its toolchain wrote it.
    pub component: PathBuf,
    /// `connector.toml`.
    pub manifest: PathBuf,
    /// `schemas.json`: `{"settings": …, "actions": {"NAME": {"input": …, "output": …}}}`, each of them a JSON Schema.
    pub schemas: PathBuf,
    /// Where the connector goes; `None`: `NAME.wasm` beside the component.
    pub out: Option<PathBuf>,
}

/// Packs a component.
///
/// # Errors
/// What, where, and how to mend it. Nothing is written then.
pub fn pack(options: &PackOptions) -> Result<BuildReport, BuildError> {
    let manifest = read_manifest(&options.manifest, "name the connector's manifest with --manifest")?;
    let component = read(&options.component, "name the component that your toolchain wrote")?;
    not_packed(&options.component, &component)?;
    let schemas = read_schemas(&options.schemas)?;
    same_actions(options, &manifest, &schemas)?;
    let json = section::to_json(&manifest, &schemas);
    // All that can be wrong in it stands in the two files, and is said of them.
    let description = section::describe(&json).map_err(|why| BuildError::Section {
        file: match why {
            SectionError::Schema { .. } => options.schemas.display().to_string(),
            _ => options.manifest.display().to_string(),
        },
        why,
    })?;
    examples_fit(&options.manifest, &description)?;
    let bytes = section::embed(&component, &json).map_err(|why| bad_section(&options.component, why))?;
    let out = out(options, &manifest.name)?;
    let report = inspect(&out.named, &bytes)?;
    out.write(&bytes)?;
    Ok(report)
}

fn read(file: &Path, mend: &'static str) -> Result<Vec<u8>, BuildError> {
    std::fs::read(file).map_err(|error| BuildError::Read {
        file: file.display().to_string(),
        why: error.to_string(),
        mend,
    })
}

fn bad_section(file: &Path, why: SectionError) -> BuildError {
    BuildError::Section {
        file: file.display().to_string(),
        why,
    }
}

/// A connector by its interface, and without a section.
fn not_packed(file: &Path, component: &[u8]) -> Result<(), BuildError> {
    check_interface(component).map_err(|why| unpackable(file, why))?;
    match section::read(component) {
        Err(SectionError::Missing) => Ok(()),
        Ok(known) => Err(BuildError::Packed {
            file: file.display().to_string(),
            what: format!("{} {}", known.manifest.name, known.manifest.version),
        }),
        Err(why) => Err(bad_section(file, why)),
    }
}

/// Another toolchain made it, so what helps is a word about that one, not about `build`.
fn unpackable(file: &Path, why: LoadError) -> BuildError {
    let what = match &why {
        LoadError::NotWasm => "this is not WebAssembly".to_owned(),
        LoadError::CoreModule => "this is a core WebAssembly module, not a component".to_owned(),
        LoadError::MissingExport { name, .. } => format!("the component does not export `{name}`"),
        LoadError::TooLarge { .. }
        | LoadError::NeedsTooMuch { .. }
        | LoadError::Malformed(_)
        | LoadError::ForbiddenImport { .. }
        | LoadError::Mismatch(_)
        | LoadError::Compile(_) => return bad_component(file, why),
    };
    BuildError::Unpackable {
        file: file.display().to_string(),
        what,
    }
}

fn read_schemas(file: &Path) -> Result<Schemas, BuildError> {
    let bytes = read(
        file,
        "write the JSON Schemas of the actions there, or name the file with --schemas",
    )?;
    let wrong = |what: String| BuildError::Schemas {
        file: file.display().to_string(),
        what,
    };
    let placed = |error: serde_json::Error| {
        let place = format!(":{}:{}", error.line(), error.column());
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or(&text);
        BuildError::Schemas {
            file: format!("{}{place}", file.display()),
            what: text.to_owned(),
        }
    };
    // With line and column first; what this reader lets pass (a list for an object, a name that is there twice) is refused
    // beside it.
    are_objects(&serde_json::from_slice(&bytes).map_err(placed)?).map_err(wrong)?;
    let schemas = serde_json::from_slice(&bytes).map_err(placed)?;
    json::parse(&bytes).map_err(|why| wrong(why.replace("the body", "the file")))?;
    Ok(schemas)
}

fn are_objects(document: &Value) -> Result<(), String> {
    let object = |place: &str, value: &Value| match value {
        Value::Object(fields) => Ok(fields.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(format!("{place} must be an object {{…}}"))
        }
    };
    let top = object("it", document)?;
    let Some(actions) = top.get("actions") else {
        return Ok(());
    };
    for (name, schemas) in object("/actions", actions)? {
        object(&format!("/actions/{name}"), &schemas)?;
    }
    Ok(())
}

fn same_actions(
    options: &PackOptions,
    manifest: &crate::catalog::Manifest,
    schemas: &Schemas,
) -> Result<(), BuildError> {
    let wrong = |file: &Path, action: &str, where_, mend| BuildError::Actions {
        file: file.display().to_string(),
        action: action.to_owned(),
        where_,
        mend,
    };
    let missing = manifest
        .actions
        .keys()
        .find(|name| !schemas.actions.contains_key(*name));
    if let Some(name) = missing {
        let mend =
            "add its schemas: \"actions\": {\"NAME\": {\"input\": …, \"output\": …}}; `true` lets anything through";
        return Err(wrong(
            &options.schemas,
            name,
            "in the manifest and has no schemas",
            mend,
        ));
    }
    match schemas
        .actions
        .keys()
        .find(|name| !manifest.actions.contains_key(*name))
    {
        Some(name) => {
            let mend = "add [[actions]] with this name, its effect and its requests, or take its schemas out";
            Err(wrong(
                &options.manifest,
                name,
                "in the schemas and not in the manifest",
                mend,
            ))
        }
        None => Ok(()),
    }
}

/// Never an input: to pack again after a change, each is needed as it is.
fn out(options: &PackOptions, name: &str) -> Result<OutFile, BuildError> {
    let beside = || options.component.with_file_name(name).with_extension("wasm");
    let file = options.out.clone().unwrap_or_else(beside);
    OutFile::at(file, &[&options.component, &options.manifest, &options.schemas])
}

#[cfg(test)]
mod tests;
