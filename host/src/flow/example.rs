//! The example body: every `body.*` of the flow must be in it, so that a mistyped name is found before the first event.

use super::expression::{Expression, Use};
use super::json::{BodyLimits, parse_json};
use super::path::{Root, Segment, walk};
use super::problem::{Problems, mean_or_list};
use super::text::Text;
use serde_json::Value;

/// Reads the example that the flow names.
pub(super) fn read(
    text: &Text<'_>,
    examples: &dyn Fn(&str) -> Option<String>,
    problems: &mut Problems<'_>,
) -> Option<Value> {
    let name = text.value;
    if name.is_empty() || name.starts_with('/') || name.contains('\\') || name.split('/').any(|part| part == "..") {
        problems.error(
            text.at,
            format!("{name:?} is no file beside the flow"),
            "name a file in the same folder, such as \"lead.example.json\"",
        );
        return None;
    }
    let Some(content) = examples(name) else {
        problems.error(
            text.at,
            format!("the example {name:?} cannot be read"),
            "put the file beside the flow, or take `example` out",
        );
        return None;
    };
    match parse_json(content.as_bytes(), &BodyLimits::default()) {
        Ok(value) => Some(value),
        Err(error) => {
            problems.error(
                text.at,
                format!("the example {name:?}: {error}"),
                "mend the example: it is a JSON body as the sender sends it",
            );
            None
        }
    }
}

/// Checks that a path of the body is in the example.
///
/// Called while the flow is read, so that one problem of a step does not hide another.
pub(super) fn check_use(path: &Use, example: &Value, problems: &mut Problems<'_>) {
    if path.path.root != Root::Body || walk(example, &path.path.rest).is_some() {
        return;
    }
    let rest = &path.path.rest;
    let there = (0..rest.len())
        .rev()
        .find_map(|len| Some((len, walk(example, &rest[..len])?)));
    let (len, value) = there.unwrap_or((0, example));
    let place = if len == 0 {
        "the body".to_owned()
    } else {
        format!("`{}`", shown(&rest[..len]))
    };
    let mend = match (value, rest.get(len)) {
        (Value::Object(members), Some(Segment::Field(name))) => {
            let has = mean_or_list(name, "names", members.keys().map(String::as_str));
            format!("{has} ({place} in the example has {})", listed(members.keys()))
        }
        (Value::Array(items), _) => format!("{place} in the example is a list of {}", items.len()),
        _ => format!("{place} in the example has nothing below it"),
    };
    problems.error(path.at, format!("`{}` is not in the example", path.text), mend);
}

/// Warns where the engine would take a number for a text: only whole numbers enter it as numbers.
pub(super) fn check_expression(expression: &Expression, example: &Value, problems: &mut Problems<'_>) {
    for path in expression
        .uses
        .iter()
        .filter(|path| path.path.root == Root::Body && !path.filtered && !path.soft)
    {
        let Some(Value::Number(number)) = walk(example, &path.path.rest) else {
            continue;
        };
        if number.as_i128().is_none() && number.as_u128().is_none() {
            let what = format!(
                "`{}` has a fraction or exponent in the example, and inside an expression such a number is text",
                path.text
            );
            problems.warning(
                path.at,
                what,
                format!("write `{} | float` to compute with it", path.text),
            );
        }
    }
}

fn listed<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).take(20).collect();
    if names.is_empty() {
        "no names".to_owned()
    } else {
        names.join(", ")
    }
}

fn shown(rest: &[Segment]) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Field(name) => format!(".{name}"),
        Segment::Index(index) => format!("[{index}]"),
    };
    format!("body{}", rest.iter().map(segment).collect::<String>())
}
