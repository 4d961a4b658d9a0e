//! Reading of form bodies (`application/x-www-form-urlencoded`) into the same shape as a JSON object.

use super::json::{BodyLimits, JsonError, utf8};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Reads a form body: every value is text, a name that comes more than once becomes a list in the order sent.
pub fn parse_form(bytes: &[u8], limits: &BodyLimits) -> Result<Value, JsonError> {
    let text = utf8(bytes, limits)?;
    let mut form = Map::new();
    for (count, pair) in text.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        if count >= limits.values_max {
            return Err(JsonError::TooMuch {
                max: limits.values_max,
                unit: "values",
            });
        }
        let at = pair.as_ptr() as usize - text.as_ptr() as usize;
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name, at)?, Value::String(decoded(value, at)?));
        if name.starts_with("$serde_json::private::") {
            return Err(JsonError::Reserved {
                pointer: format!("/{name}"),
            });
        }
        match form.get_mut(&name) {
            None => {
                form.insert(name, value);
            }
            Some(Value::Array(list)) => list.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
        }
    }
    Ok(Value::Object(form))
}

fn decoded(text: &str, at: usize) -> Result<String, JsonError> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| JsonError::Syntax {
        at,
        what: "it is not UTF-8",
    })
}
