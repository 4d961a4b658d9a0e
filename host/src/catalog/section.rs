//! The custom section `oncegate:manifest`: what makes one `.wasm` file describe itself.
//!
//! It is read before any code of the component is compiled or run. Exactly one, at the outermost level: a second one, or
//! one hidden in a nested module, could show people something else than what is used.

use super::manifest::{MANIFEST_BYTES_MAX, Manifest};
use super::schema::{Schema, SchemaError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasm_encoder::{ComponentSection, Encode};
use wasmparser::{Parser, Payload};

/// Name of the section.
pub const SECTION: &str = "oncegate:manifest";
/// The only format so far.
const FORMAT: u32 = 1;
/// Largest section.
pub const SECTION_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The schemas of a connector, as a build wrote them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schemas {
    /// By name of the action.
    pub actions: BTreeMap<String, ActionSchemas>,
    /// Of `[settings]`; absent: anything goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,
}

/// The schemas of one action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionSchemas {
    /// What it takes.
    pub input: Value,
    /// What it gives.
    pub output: Value,
}

/// What a component says about itself, checked.
#[derive(Clone, Debug)]
pub struct Description {
    /// The author's manifest.
    pub manifest: Manifest,
    /// The schemas, compiled, by action: input and output.
    pub actions: BTreeMap<String, Arc<CheckedSchemas>>,
    /// Of the settings.
    pub settings: Option<Arc<Schema>>,
    /// The whole section as JSON text.
    pub json: String,
}

/// Input and output of one action.
#[derive(Debug)]
pub struct CheckedSchemas {
    /// What it takes.
    pub input: Schema,
    /// What it gives.
    pub output: Schema,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    manifest: Value,
    schemas: Schemas,
}

/// Why a component does not describe itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// Not a component at all.
    #[error("this is no WebAssembly component ({0}); build it with `oncegate connector build`")]
    NoComponent(String),
    /// No section.
    #[error(
        "the component has no section {SECTION}; build it with `oncegate connector build`, or give it one with `oncegate \
         connector pack`"
    )]
    Missing,
    /// More than one.
    #[error("the component has {0} sections {SECTION}, and exactly one may be there; build it afresh")]
    Several(usize),
    /// One inside a nested module or component.
    #[error("a nested module has a section {SECTION} of its own; only the component itself may have one")]
    Nested,
    /// Too large.
    #[error("the section {SECTION} has {0} bytes, at most {SECTION_BYTES_MAX} are read; shorten manifest or schemas")]
    TooLarge(usize),
    /// Not the JSON that it should be.
    #[error("the section {SECTION} cannot be read: {0}; build the component afresh")]
    Json(String),
    /// A format of the future.
    #[error("the section {SECTION} has format {0}, and this host reads format {FORMAT}; use a newer host")]
    Format(u32),
    /// The manifest breaks rules.
    #[error("the manifest inside the component is not right:\n{0}")]
    Manifest(String),
    /// Manifest and schemas do not fit.
    #[error("the action {0:?} is {1}; build the component afresh")]
    Unequal(String, &'static str),
    /// A schema that cannot be used.
    #[error("the schema of {of} cannot be used: {why}")]
    Schema {
        /// Of what.
        of: String,
        /// Why.
        why: SchemaError,
    },
}

/// The JSON of the section.
pub fn to_json(manifest: &Manifest, schemas: &Schemas) -> String {
    serde_json::json!({ "format": FORMAT, "manifest": manifest.to_json(), "schemas": schemas }).to_string()
}

/// Appends the section to a component that has none.
pub fn embed(component: &[u8], json: &str) -> Result<Vec<u8>, SectionError> {
    match find(component) {
        Err(SectionError::Missing) => {}
        Err(other) => return Err(other),
        Ok(_) => return Err(SectionError::Several(2)),
    }
    let section = wasm_encoder::CustomSection {
        name: SECTION.into(),
        data: Cow::Borrowed(json.as_bytes()),
    };
    let mut bytes = component.to_vec();
    bytes.push(ComponentSection::id(&section));
    Encode::encode(&section, &mut bytes);
    Ok(bytes)
}

/// Reads and checks what a component says about itself.
pub fn read(component: &[u8]) -> Result<Description, SectionError> {
    let data = find(component)?;
    let json = std::str::from_utf8(data).map_err(|error| SectionError::Json(error.to_string()))?;
    describe(json)
}

/// Checks the JSON of a section.
pub fn describe(json: &str) -> Result<Description, SectionError> {
    let document = super::json::parse(json.as_bytes()).map_err(SectionError::Json)?;
    if let Some(format) = document
        .get("format")
        .and_then(Value::as_u64)
        .filter(|format| *format != u64::from(FORMAT))
    {
        return Err(SectionError::Format(u32::try_from(format).unwrap_or(u32::MAX)));
    }
    let document: Document = serde_json::from_value(document).map_err(|error| SectionError::Json(error.to_string()))?;
    if document.format != FORMAT {
        return Err(SectionError::Format(document.format));
    }
    if document.manifest.to_string().len() > MANIFEST_BYTES_MAX {
        return Err(SectionError::Manifest(format!(
            "it has more than {MANIFEST_BYTES_MAX} bytes"
        )));
    }
    let manifest = Manifest::from_json(&document.manifest).map_err(|problems| {
        SectionError::Manifest(
            problems
                .iter()
                .map(|problem| format!("  {problem}"))
                .collect::<Vec<_>>()
                .join("\n"),
        )
    })?;
    same_actions(&manifest, &document.schemas)?;
    let compile = |of: String, schema: &Value| Schema::compile(schema).map_err(|why| SectionError::Schema { of, why });
    let actions = document.schemas.actions.iter().map(|(name, schemas)| {
        let input = compile(format!("{name}'s input"), &schemas.input)?;
        let output = compile(format!("{name}'s output"), &schemas.output)?;
        Ok((name.clone(), Arc::new(CheckedSchemas { input, output })))
    });
    let actions = actions.collect::<Result<BTreeMap<_, _>, SectionError>>()?;
    let settings = document.schemas.settings.as_ref();
    let settings = settings
        .map(|schema| compile("the settings".into(), schema).map(Arc::new))
        .transpose()?;
    Ok(Description {
        manifest,
        actions,
        settings,
        json: json.to_owned(),
    })
}

/// Every action has schemas and every schema an action.
pub fn same_actions(manifest: &Manifest, schemas: &Schemas) -> Result<(), SectionError> {
    if let Some(name) = manifest
        .actions
        .keys()
        .find(|name| !schemas.actions.contains_key(*name))
    {
        return Err(SectionError::Unequal(
            name.clone(),
            "in the manifest and not in the code",
        ));
    }
    match schemas
        .actions
        .keys()
        .find(|name| !manifest.actions.contains_key(*name))
    {
        Some(name) => Err(SectionError::Unequal(
            name.clone(),
            "in the code and not in the manifest",
        )),
        None => Ok(()),
    }
}

/// The bytes of the one section.
fn find(component: &[u8]) -> Result<&[u8], SectionError> {
    if !Parser::is_component(component) {
        return Err(SectionError::NoComponent("it does not begin as one".into()));
    }
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(|error| SectionError::NoComponent(error.to_string()))?;
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if section.name() == SECTION => {
                if depth > 0 {
                    return Err(SectionError::Nested);
                }
                found.push(section.data());
            }
            _ => {}
        }
    }
    match found.as_slice() {
        [] => Err(SectionError::Missing),
        [data] if data.len() > SECTION_BYTES_MAX => Err(SectionError::TooLarge(data.len())),
        [data] => Ok(data),
        several => Err(SectionError::Several(several.len())),
    }
}

#[cfg(test)]
mod tests;
