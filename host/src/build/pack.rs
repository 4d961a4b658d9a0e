//! `oncegate connector pack`: a component that another toolchain made becomes a connector that describes itself. The
//! manifest and the schemas are the author's files; nothing of the component is run, and none of its bytes changed.

use super::{BuildError, BuildReport, bad_component, inspect, read_manifest, write};
use crate::catalog::json;
use crate::catalog::section::{self, Schemas, SectionError};
use crate::runtime::check_interface;
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
    section::describe(&json).map_err(|why| BuildError::Section {
        file: match why {
            SectionError::Schema { .. } => options.schemas.display().to_string(),
            _ => options.manifest.display().to_string(),
        },
        why,
    })?;
    let bytes = section::embed(&component, &json).map_err(|why| bad_section(&options.component, why))?;
    let file = out(options, &manifest.name)?;
    let report = inspect(&file, &bytes)?;
    write(&file, &bytes)?;
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
    check_interface(component).map_err(|why| bad_component(file, why))?;
    match section::read(component) {
        Err(SectionError::Missing) => Ok(()),
        Ok(known) => Err(BuildError::Packed {
            file: file.display().to_string(),
            what: format!("{} {}", known.manifest.name, known.manifest.version),
        }),
        Err(why) => Err(bad_section(file, why)),
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
    // With line and column first; what this reader lets pass (a name that is there twice), the strict one refuses.
    let schemas = serde_json::from_slice(&bytes).map_err(|error| {
        let place = format!(":{}:{}", error.line(), error.column());
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or(&text);
        BuildError::Schemas {
            file: format!("{}{place}", file.display()),
            what: text.to_owned(),
        }
    })?;
    json::parse(&bytes).map_err(|why| wrong(why.replace("the body", "the file")))?;
    Ok(schemas)
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

/// Never the component itself: to pack again after a change, it is needed as the toolchain wrote it.
fn out(options: &PackOptions, name: &str) -> Result<PathBuf, BuildError> {
    let beside = || options.component.with_file_name(name).with_extension("wasm");
    let file = options.out.clone().unwrap_or_else(beside);
    let same =
        |one: &Path, other: &Path| matches!((one.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same(&file, &options.component) {
        return Err(BuildError::OverComponent {
            file: file.display().to_string(),
        });
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
