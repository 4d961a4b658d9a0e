//! Between JSON values and those of the template engine. Never by serde: with serde_json's `arbitrary_precision` a number
//! serialises as a private struct, which the engine would show as a map.

use minijinja::value::{Value as Engine, ValueKind};
use serde_json::{Map, Number, Value};

/// Hands a value to the engine. Whole numbers are exact to 128 bits; every other number enters as the text it was.
pub(super) fn to_engine(value: &Value) -> Engine {
    match value {
        Value::Null => Engine::from(()),
        Value::Bool(bool) => Engine::from(*bool),
        Value::Number(number) => number_to_engine(&number.to_string()),
        Value::String(text) => Engine::from(text.as_str()),
        Value::Array(items) => items.iter().map(to_engine).collect::<Vec<_>>().into(),
        Value::Object(members) => {
            Engine::from_pairs(members.iter().map(|(name, value)| (name.as_str(), to_engine(value))))
        }
    }
}

fn number_to_engine(text: &str) -> Engine {
    if let Ok(whole) = text.parse::<i128>() {
        Engine::from(whole)
    } else if let Ok(whole) = text.parse::<u128>() {
        Engine::from(whole)
    } else {
        Engine::from(text)
    }
}

/// Why a result of the engine cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// There is nothing, or something in it is nothing.
    Missing,
    /// More bytes than allowed.
    TooLarge,
    /// What it is has no JSON form.
    NoJson(&'static str),
}

/// Takes a value from the engine, of at most `bytes_left` bytes of text (counted down).
pub(super) fn from_engine(value: &Engine, bytes_left: &mut usize) -> Result<Value, Unusable> {
    spend(bytes_left, 8)?;
    match value.kind() {
        ValueKind::Undefined => Err(Unusable::Missing),
        ValueKind::None => Ok(Value::Null),
        ValueKind::Bool => Ok(Value::Bool(value.is_true())),
        ValueKind::Number => number_from_engine(value),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            spend(bytes_left, text.len())?;
            Ok(Value::String(text.to_owned()))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value
                .try_iter()
                .map_err(|_| Unusable::NoJson("a list that cannot be read"))?;
            items
                .map(|item| from_engine(&item, bytes_left))
                .collect::<Result<_, _>>()
                .map(Value::Array)
        }
        ValueKind::Map => {
            let names = value
                .try_iter()
                .map_err(|_| Unusable::NoJson("a map that cannot be read"))?;
            names
                .map(|name| member_from_engine(value, &name, bytes_left))
                .collect::<Result<Map<_, _>, _>>()
                .map(Value::Object)
        }
        ValueKind::Bytes => Err(Unusable::NoJson("bytes")),
        _ => Err(Unusable::NoJson("something that is no value")),
    }
}

fn member_from_engine(map: &Engine, name: &Engine, bytes_left: &mut usize) -> Result<(String, Value), Unusable> {
    let text = name
        .as_str()
        .ok_or(Unusable::NoJson("a map whose names are not texts"))?
        .to_owned();
    if text.starts_with("$serde_json::private::") {
        return Err(Unusable::NoJson("a map with a reserved name"));
    }
    spend(bytes_left, text.len())?;
    let value = map
        .get_item(name)
        .map_err(|_| Unusable::NoJson("a map that cannot be read"))?;
    Ok((text, from_engine(&value, bytes_left)?))
}

fn number_from_engine(value: &Engine) -> Result<Value, Unusable> {
    let number = if value.is_integer() {
        let signed = i128::try_from(value.clone()).ok().and_then(Number::from_i128);
        signed.or_else(|| u128::try_from(value.clone()).ok().and_then(Number::from_u128))
    } else {
        f64::try_from(value.clone()).ok().and_then(Number::from_f64)
    };
    number
        .map(Value::Number)
        .ok_or(Unusable::NoJson("a number that is not finite or too large"))
}

fn spend(bytes_left: &mut usize, bytes: usize) -> Result<(), Unusable> {
    *bytes_left = bytes_left.checked_sub(bytes).ok_or(Unusable::TooLarge)?;
    Ok(())
}

/// A value as text within other text: a text as it is, a number as it was written, nothing for null, compact JSON for
/// lists and objects.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Bytes that a value takes, as [`from_engine`] counts them.
pub(super) fn bytes_of(value: &Value) -> usize {
    8 + match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + bytes_of(value)).sum(),
    }
}

/// Missing, null, empty, false and 0 (however written) are false; everything else is true.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(bool) => *bool,
        Value::Number(number) => number
            .as_str()
            .split(['e', 'E'])
            .next()
            .unwrap_or_default()
            .bytes()
            .any(|b| matches!(b, b'1'..=b'9')),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}
