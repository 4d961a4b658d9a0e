//! From TOML and from JSON to the one tree. What nests too deeply for those who walk it is left out, and where that was is
//! said.

use super::{At, Content, Node};
use oncegate_domain::limits::JSON_DEPTH_MAX;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) fn from_toml_table(table: &DeTable<'_>, depth: usize, too_deep: &mut Option<At>) -> Content {
    let entries = table.iter().map(|(key, value)| {
        let node = from_toml(value, depth, too_deep);
        (key.get_ref().to_string(), (At(key.span().start), node))
    });
    Content::Table(entries.collect())
}

fn from_toml(value: &Spanned<DeValue<'_>>, depth: usize, too_deep: &mut Option<At>) -> Node {
    let at = At(value.span().start);
    let content = match value.get_ref() {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Content::Number(number.as_str().trim_start_matches('+').into())
        }
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Content::Null, |number| Content::Number(number.to_string())),
        DeValue::Float(number) => Content::Number(number.as_str().trim_start_matches('+').into()),
        DeValue::Boolean(flag) => Content::Flag(*flag),
        DeValue::Datetime(date) => Content::Date(date.to_string()),
        DeValue::Array(_) | DeValue::Table(_) if depth >= JSON_DEPTH_MAX => {
            too_deep.get_or_insert(at);
            Content::Null
        }
        DeValue::Array(items) => Content::List(items.iter().map(|item| from_toml(item, depth + 1, too_deep)).collect()),
        DeValue::Table(table) => from_toml_table(table, depth + 1, too_deep),
    };
    Node { at, content }
}

pub(super) fn from_json(
    value: &Value,
    path: String,
    paths: &mut Vec<String>,
    depth: usize,
    too_deep: &mut Option<At>,
) -> Node {
    let at = At(paths.len());
    paths.push(path.clone());
    let content = match value {
        Value::String(text) => Content::Text(text.clone()),
        Value::Number(number) => Content::Number(number.to_string()),
        Value::Bool(flag) => Content::Flag(*flag),
        Value::Null => Content::Null,
        Value::Array(_) | Value::Object(_) if depth > JSON_DEPTH_MAX => {
            too_deep.get_or_insert(at);
            Content::Null
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            Content::List(
                items
                    .map(|(i, item)| from_json(item, format!("{path}[{i}]"), paths, depth + 1, too_deep))
                    .collect(),
            )
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| {
                let node = from_json(value, format!("{path}.{name}"), paths, depth + 1, too_deep);
                (name.clone(), (node.at, node))
            });
            Content::Table(entries.collect())
        }
    };
    Node { at, content }
}
