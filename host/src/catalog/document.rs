//! One reader for what people and builds write: TOML files and the manifest inside a component (JSON).
//!
//! It turns either into the same tree, remembers where every value stands, and collects *all* problems, each with what
//! is wrong and how to mend it. It knows no manifest and no connection: what fields mean is said by its callers.

mod fields;
mod words;

pub(crate) use fields::Fields;
pub(crate) use words::{duration, is_name, is_plain_text, nearest, said_duration, said_list};

use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use toml::de::{DeTable, DeValue};

/// One thing that is wrong in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 where the document has no lines (the manifest inside a component).
    pub line: u32,
    /// Column in characters, from 1; 0 without lines.
    pub column: u32,
    /// What is wrong, on what.
    pub what: String,
    /// What to do about it.
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        write!(f, "{}; {}", self.what, self.mend)
    }
}

impl From<crate::flow::Problem> for Problem {
    fn from(problem: crate::flow::Problem) -> Problem {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let crate::flow::Problem {
            line,
            column,
            what,
            mend,
        } = problem;
        Problem {
            line: number(line),
            column: number(column),
            what,
            mend,
        }
    }
}

/// Where a value stands: a byte offset (TOML) or the number of a path (JSON).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct At(usize);

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) content: Content,
}

/// What a value is. Numbers keep their text.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(String),
    Number(String),
    Flag(bool),
    Null,
    Date(String),
    List(Vec<Node>),
    Table(BTreeMap<String, (At, Node)>),
}

impl Content {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Content::Text(_) => "a text",
            Content::Number(_) => "a number",
            Content::Flag(_) => "true or false",
            Content::Null => "null",
            Content::Date(_) => "a date",
            Content::List(_) => "a list",
            Content::Table(_) => "a table",
        }
    }
}

/// Where every value of a document stands, by its dotted path; kept for checks that come after reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(BTreeMap<String, (u32, u32)>);

impl Marks {
    /// Notes every field of a document.
    pub(crate) fn of_document(node: &Node, problems: &Problems<'_>) -> Marks {
        let mut marks = Marks::default();
        marks.walk(node, "", problems);
        marks
    }

    fn walk(&mut self, node: &Node, path: &str, problems: &Problems<'_>) {
        let Content::Table(entries) = &node.content else { return };
        for (name, (at, value)) in entries {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            self.walk(value, &path, problems);
            if let Places::Toml(source) = &problems.places {
                self.0.insert(path, line_column(source, at.0));
            }
        }
    }

    /// Line and column of a path, or of the nearest table around it.
    pub(crate) fn of(&self, path: &str) -> (u32, u32) {
        let mut path = path;
        loop {
            if let Some(place) = self.0.get(path) {
                return *place;
            }
            match path.rsplit_once('.') {
                Some((outer, _)) => path = outer,
                None => return (1, 1),
            }
        }
    }
}

/// Collects what is wrong, and knows how to say where.
pub(crate) struct Problems<'s> {
    places: Places<'s>,
    list: Vec<Problem>,
}

enum Places<'s> {
    Toml(&'s str),
    Json(Vec<String>),
}

/// No document nests deeper: the tree is walked by recursion.
const DEPTH_MAX: usize = 64;

/// Reads TOML. A document that is no TOML gives its first syntax error only: one broken array gives a dozen more.
pub(crate) fn read_toml<'s>(source: &'s str, bytes_max: usize) -> Result<(Node, Problems<'s>), Vec<Problem>> {
    let mut problems = Problems {
        places: Places::Toml(source),
        list: Vec::new(),
    };
    if source.len() > bytes_max {
        problems.add(
            At(0),
            format!("the file has {} bytes, at most {bytes_max} are read", source.len()),
            "shorten it",
        );
        return Err(problems.list);
    }
    let (table, errors) = DeTable::parse_recoverable(source);
    if let Some(first) = errors.first() {
        let at = At(first.span().map_or(0, |span| span.start));
        problems.add(
            at,
            format!("not TOML: {}", first.message().replace('\n', ", ")),
            "mend the syntax here",
        );
        return Err(problems.list);
    }
    let start = table.span().start;
    let mut node = Node {
        at: At(start),
        content: from_toml_table(table.get_ref(), 0),
    };
    node.at = At(0);
    Ok((node, problems))
}

/// Reads a JSON value that was parsed already.
pub(crate) fn read_json(value: &Value, name: &str) -> (Node, Problems<'static>) {
    let mut paths = Vec::new();
    let node = from_json(value, name.to_owned(), &mut paths, 0);
    (
        node,
        Problems {
            places: Places::Json(paths),
            list: Vec::new(),
        },
    )
}

impl Problems<'_> {
    /// Notes a problem.
    pub(crate) fn add(&mut self, at: At, what: impl Into<String>, mend: impl Into<String>) {
        let (what, mend) = (what.into(), mend.into());
        let problem = match &self.places {
            Places::Toml(source) => {
                let (line, column) = line_column(source, at.0);
                Problem {
                    line,
                    column,
                    what,
                    mend,
                }
            }
            Places::Json(paths) => {
                let path = paths.get(at.0).map_or("", String::as_str);
                Problem {
                    line: 0,
                    column: 0,
                    what: format!("{path}: {what}"),
                    mend,
                }
            }
        };
        if !self.list.contains(&problem) {
            self.list.push(problem);
        }
    }

    /// Notes what another room said is wrong; its sentences say how to mend it after a semicolon.
    pub(crate) fn add_error(&mut self, at: At, error: &dyn std::error::Error) {
        let text = error.to_string();
        let (what, mend) = text.split_once("; ").unwrap_or((&text, "mend it as it says"));
        self.add(at, what, mend);
    }

    /// Line and column of a place; 0 without lines.
    pub(crate) fn place(&self, at: At) -> (u32, u32) {
        match &self.places {
            Places::Toml(source) => line_column(source, at.0),
            Places::Json(_) => (0, 0),
        }
    }

    /// How many there are so far.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// All of them, in the order of the document.
    pub(crate) fn into_list(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|problem| (problem.line, problem.column));
        self.list
    }
}

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

/// Line and column (characters) of a byte offset, both from 1.
fn line_column(source: &str, offset: usize) -> (u32, u32) {
    let offset = offset.min(source.len());
    let before = &source.as_bytes()[..offset];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (
        u32::try_from(line).unwrap_or(u32::MAX),
        u32::try_from(column).unwrap_or(u32::MAX),
    )
}

fn from_toml_table(table: &DeTable<'_>, depth: usize) -> Content {
    if depth > DEPTH_MAX {
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
        DeValue::Array(items) if depth < DEPTH_MAX => Content::List(
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

fn from_json(value: &Value, path: String, paths: &mut Vec<String>, depth: usize) -> Node {
    let at = At(paths.len());
    paths.push(path.clone());
    let content = match value {
        Value::String(text) => Content::Text(text.clone()),
        Value::Number(number) => Content::Number(number.to_string()),
        Value::Bool(flag) => Content::Flag(*flag),
        Value::Null => Content::Null,
        Value::Array(_) | Value::Object(_) if depth > DEPTH_MAX => Content::Null,
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
