//! What a value may be asked for; anything else than what is asked for is a problem at its place.

use super::{At, Content, Node, Problems, duration, said_duration};
use serde_json::{Map, Number, Value};
use std::str::FromStr;

impl Node {
    /// The value as JSON, digits kept. Dates become texts.
    pub(crate) fn to_json(&self) -> Value {
        match &self.content {
            Content::Text(text) | Content::Date(text) => Value::String(text.clone()),
            Content::Number(text) => Number::from_str(text).map_or(Value::Null, Value::Number),
            Content::Flag(flag) => Value::Bool(*flag),
            Content::Null => Value::Null,
            Content::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Content::Table(entries) => {
                let entries = entries.iter().map(|(name, (_, node))| (name.clone(), node.to_json()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// The text, or a problem.
    pub(crate) fn text(&self, name: &str, problems: &mut Problems<'_>) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            other => self.wrong(name, other, "a text in quotes", problems),
        }
    }

    /// True or false, or a problem.
    pub(crate) fn flag(&self, name: &str, problems: &mut Problems<'_>) -> Option<bool> {
        match &self.content {
            Content::Flag(flag) => Some(*flag),
            other => self.wrong(name, other, "true or false", problems),
        }
    }

    /// A whole number within bounds, or a problem.
    pub(crate) fn whole(&self, name: &str, min: u64, max: u64, problems: &mut Problems<'_>) -> Option<u64> {
        let Content::Number(text) = &self.content else {
            return self.wrong(name, &self.content, "a whole number", problems);
        };
        match text.parse::<u64>().ok().filter(|number| (min..=max).contains(number)) {
            Some(number) => Some(number),
            None => {
                problems.add(
                    self.at,
                    format!("`{name}` is {text}"),
                    format!("write a whole number from {min} to {max}"),
                );
                None
            }
        }
    }

    /// The list, or a problem.
    pub(crate) fn list(&self, name: &str, problems: &mut Problems<'_>) -> Option<&[Node]> {
        match &self.content {
            Content::List(items) => Some(items),
            other => self.wrong(name, other, "a list in brackets", problems),
        }
    }

    /// A list of texts; items of another kind are problems.
    pub(crate) fn texts<'n>(&'n self, name: &str, problems: &mut Problems<'_>) -> Option<Vec<(At, &'n str)>> {
        let items = self.list(name, problems)?;
        Some(
            items
                .iter()
                .filter_map(|item| Some((item.at, item.text(name, problems)?)))
                .collect(),
        )
    }

    /// A duration such as `"30s"` within bounds, in milliseconds, or a problem.
    pub(crate) fn duration_ms(&self, name: &str, min: u64, max: u64, problems: &mut Problems<'_>) -> Option<u64> {
        let bounds = format!(
            "write a time from \"{}\" to \"{}\"",
            said_duration(min),
            said_duration(max)
        );
        let Content::Text(text) = &self.content else {
            problems.add(
                self.at,
                format!("`{name}` is {}, not a time", self.content.kind()),
                bounds,
            );
            return None;
        };
        let parsed = duration(text).filter(|ms| (min..=max).contains(ms));
        if parsed.is_none() {
            problems.add(self.at, format!("`{name}` is {text:?}"), bounds);
        }
        parsed
    }

    fn wrong<T>(&self, name: &str, is: &Content, should: &str, problems: &mut Problems<'_>) -> Option<T> {
        problems.add(self.at, format!("`{name}` is {}", is.kind()), format!("write {should}"));
        None
    }
}
