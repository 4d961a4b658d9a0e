//! From TOML and from JSON to the one tree.

use super::{At, Content, Node};
use oncegate_domain::limits::JSON_DEPTH_MAX;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

pub(super) fn from_toml_table(table: &DeTable<'_>, depth: usize) -> Content {
    if depth > JSON_DEPTH_MAX {
        return Content::Null;
    }
    let entries = table.iter().map(|(key, value)| {
        let node = Node {
            at: At(value.span().start),
            content: from_toml(value.get_ref(), depth),
        };
        (key.get_ref().to_string(), (At(key.span().start), node))
    });
    Content::Table(entries.collect())
}

fn from_toml(value: &DeValue<'_>, depth: usize) -> Content {
    match value {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Content::Number(number.as_str().trim_start_matches('+').into())
        }
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Content::Null, |number| Content::Number(number.to_string())),
        DeValue::Float(number) => Content::Number(number.as_str().trim_start_matches('+').into()),
        DeValue::Boolean(flag) => Content::Flag(*flag),
        DeValue::Datetime(date) => Content::Date(date.to_string()),
        DeValue::Array(items) if depth < JSON_DEPTH_MAX => Content::List(
            items
                .iter()
                .map(|item| Node {
                    at: At(item.span().start),
                    content: from_toml(item.get_ref(), depth + 1),
                })
                .collect(),
        ),
        DeValue::Array(_) => Content::Null,
        DeValue::Table(table) => from_toml_table(table, depth + 1),
    }
}

pub(super) fn from_json(value: &Value, path: String, paths: &mut Vec<String>, depth: usize) -> Node {
    let at = At(paths.len());
    paths.push(path.clone());
    let content = match value {
        Value::String(text) => Content::Text(text.clone()),
        Value::Number(number) => Content::Number(number.to_string()),
        Value::Bool(flag) => Content::Flag(*flag),
        Value::Null => Content::Null,
        Value::Array(_) | Value::Object(_) if depth > JSON_DEPTH_MAX => Content::Null,
        Value::Array(items) => {
            let items = items.iter().enumerate();
            Content::List(
                items
                    .map(|(i, item)| from_json(item, format!("{path}[{i}]"), paths, depth + 1))
                    .collect(),
            )
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(name, value)| {
                let node = from_json(value, format!("{path}.{name}"), paths, depth + 1);
                (name.clone(), (node.at, node))
            });
            Content::Table(entries.collect())
        }
    };
    Node { at, content }
}
