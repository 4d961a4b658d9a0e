//! What a step hands to its action: a tree of fixed values and templates, made once, filled in per event.

use super::convert::bytes_of;
use super::expression::{Failure, Use};
use super::fields::Item;
use super::names::Names;
use super::path::View;
use super::problem::{Problems, TemplateError};
use super::template::Template;
use super::text::Text;
use serde_json::{Map, Number, Value};
use toml::de::{DeFloat, DeInteger, DeValue};

#[derive(Debug)]
pub(super) enum Shape {
    Fixed(Value),
    Template {
        /// Its place in the flow, for errors.
        at: String,
        template: Template,
    },
    List(Vec<Shape>),
    Object(Vec<(String, Shape)>),
}

impl Shape {
    /// Reads a value of the definition; `at` is its place in the flow. `None`: problems were noted.
    pub(super) fn parse(item: &Item<'_>, at: &str, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Shape> {
        let place = item.span().start;
        match item.get_ref() {
            DeValue::String(value) => {
                let text = Text::new(value, item.span(), problems.source());
                let template = Template::parse(&text, names, problems)?;
                Some(match template.literal() {
                    Some(literal) => Shape::Fixed(Value::String(literal)),
                    None => Shape::Template {
                        at: at.to_owned(),
                        template,
                    },
                })
            }
            DeValue::Array(items) => {
                let shapes = items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| Shape::parse(item, &format!("{at}[{i}]"), names, problems));
                all(shapes).map(Shape::List)
            }
            DeValue::Table(members) => {
                let shapes = members.iter().map(|(key, item)| {
                    let name = plain_name(key.get_ref(), key.span().start, problems);
                    let shape = Shape::parse(item, &format!("{at}.{}", key.get_ref()), names, problems);
                    Some((name?, shape?))
                });
                all(shapes).map(Shape::Object)
            }
            other => fixed(other, place, problems).map(Shape::Fixed),
        }
    }

    /// Every path it uses.
    pub(super) fn uses(&self) -> Vec<&Use> {
        match self {
            Shape::Fixed(_) => Vec::new(),
            Shape::Template { template, .. } => template.uses().collect(),
            Shape::List(shapes) => shapes.iter().flat_map(Shape::uses).collect(),
            Shape::Object(members) => members.iter().flat_map(|(_, shape)| shape.uses()).collect(),
        }
    }

    /// Fills it in.
    pub(super) fn value(&self, view: &View<'_>, bytes_left: &mut usize) -> Result<Value, TemplateError> {
        match self {
            Shape::Fixed(value) => {
                *bytes_left = bytes_left.saturating_sub(bytes_of(value));
                Ok(value.clone())
            }
            Shape::Template { at, template } => template
                .value(view, bytes_left)
                .map_err(|failure: Failure| failure.at(at)),
            Shape::List(shapes) => shapes
                .iter()
                .map(|shape| shape.value(view, bytes_left))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Shape::Object(members) => {
                let members = members
                    .iter()
                    .map(|(name, shape)| Ok((name.clone(), shape.value(view, bytes_left)?)));
                members.collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
        }
    }
}

/// A value without templates (`[vars]`).
pub(super) fn plain(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Value> {
    let place = item.span().start;
    match item.get_ref() {
        DeValue::String(value) if value.contains("{{") => {
            problems.error(
                place,
                "`vars` are plain values, not templates",
                "write the template where it is used, with `{{ vars.NAME }}` in it",
            );
            None
        }
        DeValue::String(value) => Some(Value::String(value.to_string())),
        DeValue::Array(items) => all(items.iter().map(|item| plain(item, problems))).map(Value::Array),
        DeValue::Table(members) => {
            let members = members.iter().map(|(key, item)| {
                Some((
                    plain_name(key.get_ref(), key.span().start, problems)?,
                    plain(item, problems)?,
                ))
            });
            all(members).map(|members| Value::Object(members.into_iter().collect()))
        }
        other => fixed(other, place, problems),
    }
}

/// Goes on after a failure, so that every problem is noted.
fn all<T>(items: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let (mut found, mut failed) = (Vec::new(), false);
    for item in items {
        match item {
            Some(item) => found.push(item),
            None => failed = true,
        }
    }
    (!failed).then_some(found)
}

fn plain_name(name: &str, place: usize, problems: &mut Problems<'_>) -> Option<String> {
    if name.contains("{{") || name.starts_with("$serde_json::private::") {
        problems.error(
            place,
            format!("`{name}` cannot be a name"),
            "names are fixed; only values may be templates",
        );
        return None;
    }
    Some(name.to_owned())
}

fn fixed(value: &DeValue<'_>, place: usize, problems: &mut Problems<'_>) -> Option<Value> {
    let number = match value {
        DeValue::Boolean(value) => return Some(Value::Bool(*value)),
        DeValue::Datetime(value) => return Some(Value::String(value.to_string())),
        DeValue::Integer(value) => whole(value),
        DeValue::Float(value) => decimal(value),
        DeValue::String(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    };
    if number.is_none() {
        problems.error(
            place,
            "this number has no JSON form",
            "write a finite number, or a text in quotes",
        );
    }
    number.map(Value::Number)
}

fn whole(value: &DeInteger<'_>) -> Option<Number> {
    Number::from_i128(i128::from_str_radix(value.as_str(), value.radix()).ok()?)
}

/// With the digits that were written: `1.50` stays `1.50`.
fn decimal(value: &DeFloat<'_>) -> Option<Number> {
    value.as_str().trim_start_matches('+').replace('_', "").parse().ok()
}
