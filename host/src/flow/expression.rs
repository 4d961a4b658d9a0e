//! One expression: what it names, and how it is evaluated. An expression that is only a path is resolved by the host;
//! in any other the paths are replaced by names whose values the host hands in, so the engine never sees more of the
//! data than the expression asks for.

mod analysis;

use super::convert::{Unusable, from_engine, is_true};
use super::engine::{self, Compiled, Guard, Needed};
use super::example;
use super::names::Names;
use super::path::{Path, View};
use super::problem::{Problems, TemplateError};
use super::text::Text;
use minijinja::{Error, ErrorKind};
use serde_json::Value;
use std::borrow::Cow;

/// A path as it is used in an expression.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) path: Path,
    /// As written.
    pub(super) text: String,
    /// Where it stands in the file.
    pub(super) at: usize,
    /// It is asked about or has a default, so that its absence is expected.
    pub(super) soft: bool,
    /// A filter follows.
    pub(super) filtered: bool,
    name: String,
}

/// A checked expression.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) uses: Vec<Use>,
    /// `None`: it is only a path, the one in `uses`.
    code: Option<Compiled>,
    /// Two of its paths are joined with nothing between (`a ~ b`).
    pub(super) joined: Option<usize>,
}

/// Why an expression has no value.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) path: String,
    pub(super) why: String,
    /// Nothing worse than something that is not there.
    pub(super) missing: bool,
}

impl Failure {
    pub(super) fn at(self, at: &str) -> TemplateError {
        TemplateError {
            at: at.to_owned(),
            path: self.path,
            why: self.why,
        }
    }

    fn missing(path: &str) -> Failure {
        Failure {
            path: path.to_owned(),
            why: format!("`{path}` is missing in this event"),
            missing: true,
        }
    }
}

impl Expression {
    /// The path, where the expression is nothing but one.
    pub(super) fn only_path(&self) -> Option<&Path> {
        match &self.code {
            None => self.uses.first().map(|used| &used.path),
            Some(_) => None,
        }
    }

    /// Checks and compiles `source`, which starts at byte `offset` of `text`. `None`: problems were noted.
    pub(super) fn parse(
        source: &str,
        offset: usize,
        text: &Text<'_>,
        condition: bool,
        names: &Names<'_>,
        problems: &mut Problems<'_>,
    ) -> Option<Expression> {
        let analysis = analysis::analyse(source, offset, text, names, problems)?;
        if analysis.only_path {
            return Some(Expression {
                uses: analysis.uses,
                code: None,
                joined: None,
            });
        }
        match engine::compile(analysis.rewritten, condition) {
            Ok(code) => {
                let expression = Expression {
                    uses: analysis.uses,
                    code: Some(code),
                    joined: analysis.joined,
                };
                if let Some(example) = names.example {
                    example::check_expression(&expression, example, problems);
                }
                Some(expression)
            }
            Err(error) => {
                let why = error.detail().unwrap_or("it cannot be read");
                problems.error(
                    text.place(offset),
                    format!("`{}` is no expression: {why}", source.trim()),
                    "mend the expression",
                );
                None
            }
        }
    }

    /// Its value. What is only passed on is not copied, and keeps its form.
    pub(super) fn value<'a>(&self, view: &View<'a>, bytes_left: &mut usize) -> Result<Cow<'a, Value>, Failure> {
        let Some(code) = &self.code else {
            let path = &self.uses[0];
            return path.path.resolve(view).ok_or_else(|| Failure::missing(&path.text));
        };
        let result = engine::evaluate(code, self.values(view)).map_err(|error| self.failure(&error, view))?;
        match from_engine(&result, bytes_left) {
            Ok(value) => Ok(Cow::Owned(value)),
            Err(Unusable::Missing) => Err(self.missing(view)),
            Err(Unusable::TooLarge) => Err(self.plain("its result is larger than allowed")),
            Err(Unusable::NoJson(what)) => Err(self.plain(&format!("its result is {what}"))),
        }
    }

    /// Its value as a condition: missing, empty, false and 0 are false.
    pub(super) fn condition(&self, view: &View<'_>) -> Result<bool, Failure> {
        let Some(code) = &self.code else {
            return Ok(self.uses[0].path.resolve(view).is_some_and(|value| is_true(&value)));
        };
        match engine::evaluate(code, self.values(view)) {
            Ok(result) => Ok(result.is_true()),
            Err(error) => match self.failure(&error, view) {
                failure if failure.missing => Ok(false),
                failure => Err(failure),
            },
        }
    }

    fn values<'v>(&'v self, view: &View<'v>) -> impl Iterator<Item = (&'v str, Cow<'v, Value>)> {
        self.uses
            .iter()
            .filter_map(move |path| Some((path.name.as_str(), path.path.resolve(view)?)))
    }

    fn failure(&self, error: &Error, view: &View<'_>) -> Failure {
        let guard = std::error::Error::source(error).and_then(|source| source.downcast_ref::<Guard>());
        if let Some((guard, path)) = guard.and_then(|guard| Some((guard, self.uses.get(guard.path)?))) {
            let found = path.path.resolve(view);
            return match found.as_deref() {
                None | Some(Value::Null) => Failure::missing(&path.text),
                Some(_) => Failure {
                    path: path.text.clone(),
                    why: wrong_kind(&path.text, guard.needed),
                    missing: false,
                },
            };
        }
        match error.kind() {
            ErrorKind::UndefinedError => self.missing(view),
            ErrorKind::OutOfFuel => self.plain("it costs more than an expression may"),
            kind => self.plain(&format!("{kind}: {}", error.detail().unwrap_or("no more is known"))),
        }
    }

    fn missing(&self, view: &View<'_>) -> Failure {
        let absent: Vec<&str> = self
            .uses
            .iter()
            .filter(|path| path.path.resolve(view).is_none())
            .map(|path| path.text.as_str())
            .collect();
        match absent.as_slice() {
            [] => Failure {
                missing: true,
                ..self.plain("it has no value for this event")
            },
            [one] => Failure::missing(one),
            [first, ..] => {
                let why = format!("`{}` are missing in this event", absent.join("`, `"));
                Failure {
                    path: (*first).to_owned(),
                    why,
                    missing: true,
                }
            }
        }
    }

    /// A fault of the expression as a whole. Engine messages may quote the data, so they are kept short.
    fn plain(&self, why: &str) -> Failure {
        let path = self.uses.first().map(|path| path.text.clone()).unwrap_or_default();
        let why: String = why.chars().filter(|c| !c.is_control()).take(200).collect();
        let why = if path.is_empty() {
            why
        } else {
            format!("the expression with `{path}` cannot be evaluated: {why}")
        };
        Failure {
            path,
            why,
            missing: false,
        }
    }
}

fn wrong_kind(path: &str, needed: Needed) -> String {
    match needed {
        Needed::Number | Needed::NumberIfAny => {
            format!("`{path}` is not a whole number here; write `({path} | float)` where it is to be taken as a number")
        }
        Needed::Text => {
            format!("`{path}` is not a text here; write `({path} | string)` where it is to be taken as one")
        }
        Needed::Something => format!("`{path}` has no value here"),
    }
}
