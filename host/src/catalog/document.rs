//! One reader for what people and builds write: TOML files and the manifest inside a component (JSON).
//!
//! It turns either into the same tree, remembers where every value stands, and collects *all* problems, each with what
//! is wrong and how to mend it. It knows no manifest and no connection: what fields mean is said by its callers.

mod fields;
mod node;
mod source;
mod words;

pub(crate) use fields::Fields;
pub(crate) use words::{duration, is_name, is_plain_text, nearest, said_duration, said_list};

use oncegate_domain::limits::JSON_DEPTH_MAX;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use toml::de::DeTable;

/// One thing that is wrong in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 where the document has no lines (the manifest inside a component).
    pub line: u32,
    /// Column in characters, from 1; 0 without lines.
    pub column: u32,
    /// What is wrong, on what.
    pub what: String,
    /// What to do about it; empty where `what` says it already.
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        f.write_str(&self.what)?;
        match self.mend.as_str() {
            "" => Ok(()),
            mend => write!(f, "; {mend}"),
        }
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

/// Reads TOML. A document that is no TOML gives its first syntax error only: one broken array gives a dozen more.
pub(crate) fn read_toml<'s>(text: &'s str, bytes_max: usize) -> Result<(Node, Problems<'s>), Vec<Problem>> {
    let mut problems = Problems {
        places: Places::Toml(text),
        list: Vec::new(),
    };
    if text.len() > bytes_max {
        problems.add(
            At(0),
            format!("the file has {} bytes, at most {bytes_max} are read", text.len()),
            "shorten it",
        );
        return Err(problems.list);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    // Not in the order of the text.
    if let Some(first) = errors
        .iter()
        .min_by_key(|error| error.span().map_or(usize::MAX, |span| span.start))
    {
        let at = At(first.span().map_or(0, |span| span.start));
        problems.add(
            at,
            format!("not TOML: {}", first.message().replace('\n', ", ")),
            "mend the syntax here",
        );
        return Err(problems.list);
    }
    let mut too_deep = None;
    let node = Node {
        at: At(0),
        content: source::from_toml_table(table.get_ref(), 0, &mut too_deep),
    };
    problems.add_too_deep(too_deep);
    Ok((node, problems))
}

/// Reads a JSON value that was parsed already.
pub(crate) fn read_json(value: &Value, name: &str) -> (Node, Problems<'static>) {
    let (mut paths, mut too_deep) = (Vec::new(), None);
    let node = source::from_json(value, name.to_owned(), &mut paths, 0, &mut too_deep);
    let mut problems = Problems {
        places: Places::Json(paths),
        list: Vec::new(),
    };
    problems.add_too_deep(too_deep);
    (node, problems)
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

    /// Notes where the document nests too deeply, if it does: what lies there is not in the tree.
    fn add_too_deep(&mut self, at: Option<At>) {
        if let Some(at) = at {
            let what = format!("this lies deeper than {JSON_DEPTH_MAX} lists and tables within each other");
            self.add(at, what, "bring it further up");
        }
    }

    /// Notes what another room said is wrong; its sentences say how to mend it after a semicolon.
    pub(crate) fn add_error(&mut self, at: At, error: &dyn std::error::Error) {
        let text = error.to_string();
        let (what, mend) = text.split_once("; ").unwrap_or((&text, ""));
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
