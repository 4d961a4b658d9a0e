//! JSON Schemas of inputs, outputs and settings: 2020-12, closed in themselves, of bounded cost.
//!
//! A schema comes from a connector, so it is hostile until proved otherwise: it may name nothing outside of itself, its
//! references may not run in circles or multiply, and its regular expressions take linear time.

use oncegate_domain::limits::JSON_DEPTH_MAX;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Largest schema, as JSON text.
pub const SCHEMA_BYTES_MAX: usize = 128 * 1024;
/// Values in a schema with every reference written out: what one check may cost at most.
const EXPANDED_MAX: u64 = 20_000;
/// Compiled size of one regular expression.
const REGEX_BYTES_MAX: usize = 1024 * 1024;
/// Most mismatches that are told.
const MISMATCHES_MAX: usize = 5;

/// Of what a wrong schema holds, in characters.
const TOLD_CHARS_MAX: usize = 200;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A schema, compiled.
pub struct Schema {
    source: Value,
    validator: jsonschema::Validator,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.source)
    }
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub String);

/// What does not fit, for people: pointer and reason, without the values, which may be personal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Mismatch(pub Vec<String>);

impl Schema {
    /// Checks and compiles a schema.
    pub fn compile(source: &Value) -> Result<Schema, SchemaError> {
        let bytes = source.to_string().len();
        if bytes > SCHEMA_BYTES_MAX {
            return Err(SchemaError(format!(
                "it has {bytes} bytes, at most {SCHEMA_BYTES_MAX} are taken"
            )));
        }
        check_closed(source, 0)?;
        let mut walk = Walk {
            root: source,
            known: BTreeMap::new(),
            open: Vec::new(),
        };
        walk.expanded(source)?;
        let patterns = jsonschema::PatternOptions::regex()
            .size_limit(REGEX_BYTES_MAX)
            .dfa_size_limit(REGEX_BYTES_MAX);
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_pattern_options(patterns)
            .should_validate_formats(false)
            .offline()
            .build(source)
            .map_err(|error| SchemaError(no_schema(&error)))?;
        Ok(Schema {
            source: source.clone(),
            validator,
        })
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Whether a value fits.
    pub fn check(&self, value: &Value) -> Result<(), Mismatch> {
        let mut errors = self.validator.iter_errors(value).peekable();
        if errors.peek().is_none() {
            return Ok(());
        }
        let told = errors.take(MISMATCHES_MAX).map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() {
                "the whole".to_owned()
            } else {
                place
            };
            let why: String = error.masked().to_string().chars().take(300).collect();
            format!("{place}: {why}")
        });
        Err(Mismatch(told.collect()))
    }
}

/// Where a schema breaks the rules of schemas, and with what: nothing in one is secret.
fn no_schema(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let place = if place.is_empty() { "its root" } else { &place };
    let value: String = error.instance().to_string().chars().take(TOLD_CHARS_MAX).collect();
    let why: String = error.masked().to_string().chars().take(TOLD_CHARS_MAX).collect();
    format!("it is no schema: {place} is {value}: {why}")
}

/// Nothing in it leads out of it, and nothing changes what a reference means.
fn check_closed(value: &Value, depth: usize) -> Result<(), SchemaError> {
    if depth > JSON_DEPTH_MAX {
        return Err(SchemaError(format!("it nests deeper than {JSON_DEPTH_MAX}")));
    }
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            match (name.as_str(), value) {
                ("$ref", Value::String(target)) if !target.starts_with("#/") && target != "#" => {
                    let why = format!("$ref {target:?} leads out of it; only \"#/…\" is followed");
                    return Err(SchemaError(why));
                }
                ("$schema", Value::String(draft)) if draft.trim_end_matches('#') != DRAFT => {
                    return Err(SchemaError(format!(
                        "it is written for {draft:?}; write it for {DRAFT:?}"
                    )));
                }
                (
                    "$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$vocabulary" | "$recursiveRef",
                    Value::String(_),
                ) => {
                    return Err(SchemaError(format!(
                        "it uses {name}, which is not supported; use $defs and $ref"
                    )));
                }
                _ => {}
            }
            check_closed(value, depth + 1)
        }),
        Value::Array(items) => items.iter().try_for_each(|item| check_closed(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Counts a schema with its references written out. Circles are refused: what recurs can be made to cost without bound.
struct Walk<'s> {
    root: &'s Value,
    known: BTreeMap<&'s str, u64>,
    open: Vec<&'s str>,
}

impl<'s> Walk<'s> {
    fn expanded(&mut self, value: &'s Value) -> Result<u64, SchemaError> {
        let mut count = 1_u64;
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    count += match (name.as_str(), value) {
                        ("$ref", Value::String(target)) => self.followed(target)?,
                        ("$defs" | "definitions", _) => 1,
                        _ => self.expanded(value)?,
                    };
                }
            }
            Value::Array(items) => {
                for item in items {
                    count += self.expanded(item)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        if count > EXPANDED_MAX {
            return Err(SchemaError(format!(
                "with its references written out it has more than {EXPANDED_MAX} values"
            )));
        }
        Ok(count)
    }

    fn followed(&mut self, target: &'s str) -> Result<u64, SchemaError> {
        if let Some(count) = self.known.get(target) {
            return Ok(*count);
        }
        if self.open.contains(&target) || target == "#" {
            return Err(SchemaError(format!(
                "$ref {target:?} runs in a circle; recursive types are not supported"
            )));
        }
        let pointed = percent_encoding::percent_decode_str(&target[1..])
            .decode_utf8_lossy()
            .into_owned();
        let Some(value) = self.root.pointer(&pointed) else {
            return Err(SchemaError(format!("$ref {target:?} leads nowhere")));
        };
        self.open.push(target);
        let count = self.expanded(value)?;
        self.open.pop();
        self.known.insert(target, count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
