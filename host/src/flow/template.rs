//! Templates: text with `{{ expression }}` in it, and nothing else of the engine's language. What was rendered is data: it
//! is put together here and never read as a template again.

use super::convert::{bytes_of, text_of};
use super::expression::{Expression, Failure, Use};
use super::lexer;
use super::names::Names;
use super::path::View;
use super::problem::Problems;
use super::text::Text;
use oncegate_domain::limits::{INPUT_BYTES_MAX, TEMPLATE_BYTES_MAX};
use serde_json::Value;

/// A checked template.
#[derive(Debug)]
pub(super) enum Template {
    /// Exactly one expression and nothing around it: keeps the type of its value.
    Value(Expression),
    /// Text.
    Text(Vec<Piece>),
}

#[derive(Debug)]
pub(super) enum Piece {
    Literal(String),
    Expression(Expression),
}

impl Template {
    /// Checks a template. `None`: problems were noted.
    pub(super) fn parse(text: &Text<'_>, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Template> {
        if text.value.len() > TEMPLATE_BYTES_MAX {
            let what = format!("the template is longer than {TEMPLATE_BYTES_MAX} bytes");
            problems.error(text.at, what, "shorten it, or let the destination keep the long text");
            return None;
        }
        let mut pieces = Vec::new();
        let (mut rest, mut failed) = (0, false);
        while let Some(start) = text.value[rest..].find("{{").map(|found| rest + found) {
            failed |= !literal(text, rest, start, &mut pieces, problems);
            let inside = start + 2;
            let end = expression_end(text, inside, problems)?;
            let source = &text.value[inside..end];
            if source.starts_with('-') || source.ends_with('-') {
                problems.error(
                    text.place(inside),
                    "`{{-` and `-}}` do not exist here",
                    "write `{{ … }}`; put spaces around a minus",
                );
                return None;
            }
            match Expression::parse(source, inside, text, false, names, problems) {
                Some(expression) => pieces.push(Piece::Expression(expression)),
                None => failed = true,
            }
            rest = end + 2;
        }
        failed |= !literal(text, rest, text.value.len(), &mut pieces, problems);
        if failed {
            return None;
        }
        match (pieces.len(), pieces.pop()) {
            (1, Some(Piece::Expression(expression))) => Some(Template::Value(expression)),
            (_, last) => {
                pieces.extend(last);
                Some(Template::Text(pieces))
            }
        }
    }

    /// Every path it uses.
    pub(super) fn uses(&self) -> impl Iterator<Item = &Use> {
        self.expressions().flat_map(|expression| expression.uses.iter())
    }

    /// Its expressions in order.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let (one, many) = match self {
            Template::Value(expression) => (Some(expression), [].as_slice()),
            Template::Text(pieces) => (None, pieces.as_slice()),
        };
        let in_text = many.iter().filter_map(|piece| match piece {
            Piece::Expression(expression) => Some(expression),
            Piece::Literal(_) => None,
        });
        one.into_iter().chain(in_text)
    }

    /// Its text, if it contains no expression.
    pub(super) fn literal(&self) -> Option<String> {
        match self {
            Template::Value(_) => None,
            Template::Text(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Literal(text) => Some(text.as_str()),
                    Piece::Expression(_) => None,
                })
                .collect(),
        }
    }

    /// Its value: of the expression's type if it is nothing but one, else text.
    pub(super) fn value(&self, view: &View<'_>, bytes_left: &mut usize) -> Result<Value, Failure> {
        match self {
            Template::Value(expression) => {
                let value = expression.value(view, bytes_left)?;
                spend(bytes_left, bytes_of(&value))?;
                Ok(value.into_owned())
            }
            Template::Text(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    let before = text.len();
                    match piece {
                        Piece::Literal(literal) => text.push_str(literal),
                        Piece::Expression(expression) => text.push_str(&text_of(&*expression.value(view, bytes_left)?)),
                    }
                    spend(bytes_left, text.len() - before)?;
                }
                Ok(Value::String(text))
            }
        }
    }

    /// Its value as text; nothing in it may be missing, null or blank (an event key).
    pub(super) fn key_text(&self, view: &View<'_>) -> Result<String, Failure> {
        let mut bytes_left = INPUT_BYTES_MAX;
        for expression in self.expressions() {
            let value = expression.value(view, &mut bytes_left)?;
            let what = match value.as_ref() {
                Value::Array(_) | Value::Object(_) => "a list or an object",
                value if text_of(value).trim().is_empty() => "empty",
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => continue,
            };
            let path = expression
                .uses
                .first()
                .map(|path| path.text.clone())
                .unwrap_or_default();
            let why = format!("`{path}` is {what} in this event, so it cannot tell which event this is");
            return Err(Failure {
                path,
                why,
                missing: false,
            });
        }
        self.value(view, &mut INPUT_BYTES_MAX.clone())
            .map(|value| text_of(&value))
    }
}

fn spend(bytes_left: &mut usize, bytes: usize) -> Result<(), Failure> {
    *bytes_left = bytes_left.checked_sub(bytes).ok_or_else(|| Failure {
        path: String::new(),
        why: format!("the result is larger than {INPUT_BYTES_MAX} bytes"),
        missing: false,
    })?;
    Ok(())
}

/// Takes the text between two expressions; false if it is refused.
fn literal(text: &Text<'_>, from: usize, to: usize, pieces: &mut Vec<Piece>, problems: &mut Problems<'_>) -> bool {
    let literal = &text.value[from..to];
    for (mark, what) in [("{%", "statements"), ("{#", "comments")] {
        if let Some(found) = literal.find(mark) {
            let mend = format!(
                "use `{{{{ expression }}}}` and `when`; for the characters themselves write `{{{{ \"{mark}\" }}}}`"
            );
            problems.error(
                text.place(from + found),
                format!("`{mark}`: templates have no {what}"),
                mend,
            );
            return false;
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal.to_owned()));
    }
    true
}

/// Where the `}}` stands that ends the expression which begins at `start`.
fn expression_end(text: &Text<'_>, start: usize, problems: &mut Problems<'_>) -> Option<usize> {
    match lexer::tokens(&text.value[start..]) {
        Ok((_, Some(end))) => Some(start + end),
        Ok((_, None)) => {
            problems.error(
                text.place(start - 2),
                "`{{` is not closed",
                "close it with `}}`; for the characters themselves write `{{ \"{{\" }}`",
            );
            None
        }
        Err(stop) => {
            let mend =
                "mend the expression; a name with other characters than a-z, 0-9 and _ is written `body[\"the name\"]`";
            problems.error(text.place(start + stop.at), stop.what, mend);
            None
        }
    }
}
