//! What is wrong with a definition, where, and how to mend it.

use std::fmt;

/// One thing that is wrong (or doubtful) in a definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// How to mend it.
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.line, self.column, self.what, self.mend)
    }
}

/// Problems as lines for a terminal or an answer: `FILE:LINE:COLUMN: WORD: what; mend`.
pub fn report(file: &str, word: &str, problems: &[Problem]) -> String {
    let line = |p: &Problem| format!("{file}:{}:{}: {word}: {}; {}\n", p.line, p.column, p.what, p.mend);
    problems.iter().map(line).collect()
}

/// A template could not be evaluated; nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}")]
pub struct TemplateError {
    /// The place in the flow (`steps.welcome.with.subject`).
    pub at: String,
    /// The path in the data that is at fault (`body.nickname`); empty where no single path is.
    pub path: String,
    /// Why, for people; names the path.
    pub why: String,
}

/// Collects what a check finds, by byte offset, and gives it out by line and column.
#[derive(Debug)]
pub(super) struct Problems<'s> {
    source: &'s str,
    errors: Vec<(usize, String, String)>,
    warnings: Vec<(usize, String, String)>,
}

impl<'s> Problems<'s> {
    pub(super) fn new(source: &'s str) -> Problems<'s> {
        Problems {
            source,
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn source(&self) -> &'s str {
        self.source
    }

    /// The flow cannot be used like this.
    pub(super) fn error(&mut self, at: usize, what: impl Into<String>, mend: impl Into<String>) {
        self.errors.push((at, what.into(), mend.into()));
    }

    /// The flow can be used, but probably means something else.
    pub(super) fn warning(&mut self, at: usize, what: impl Into<String>, mend: impl Into<String>) {
        self.warnings.push((at, what.into(), mend.into()));
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    pub(super) fn into_errors(self) -> Vec<Problem> {
        located(self.source, self.errors)
    }

    pub(super) fn into_warnings(self) -> Vec<Problem> {
        located(self.source, self.warnings)
    }
}

/// Nobody reads more at once, and finding the line of each costs time.
const PROBLEMS_MAX: usize = 200;

fn located(source: &str, mut found: Vec<(usize, String, String)>) -> Vec<Problem> {
    found.sort_by_key(|(at, _, _)| *at);
    found.dedup();
    if found.len() > PROBLEMS_MAX {
        let more = format!("there are {} more problems", found.len() - PROBLEMS_MAX);
        found.truncate(PROBLEMS_MAX);
        let at = found.last().map_or(0, |(at, _, _)| *at);
        found.push((at, more, "mend these first".to_owned()));
    }
    let place = |(at, what, mend): (usize, String, String)| {
        let (line, column) = line_and_column(source, at);
        Problem {
            line,
            column,
            what,
            mend,
        }
    };
    found.into_iter().map(place).collect()
}

fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let at = (0..=at.min(source.len()))
        .rev()
        .find(|&i| source.is_char_boundary(i))
        .unwrap_or(0);
    let before = &source[..at];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

/// The known name that is probably meant, as an ending for a sentence; empty when nothing is near.
pub(super) fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let near = |name: &&str| distance(word, name) <= 1 + name.len() / 4 || name.eq_ignore_ascii_case(word);
    match known.into_iter().filter(near).min_by_key(|name| distance(word, name)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => String::new(),
    }
}

/// `did you mean …?` or else the list of what is known.
pub(super) fn mean_or_list<'k>(word: &str, what: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    let guess = did_you_mean(word, known.clone());
    let all: Vec<&str> = known.into_iter().take(40).collect();
    match (guess.is_empty(), all.is_empty()) {
        (false, _) => guess,
        (true, true) => format!("there are no {what} here"),
        (true, false) => format!("{what} here: {}", all.join(", ")),
    }
}

/// Edits between two words (Levenshtein); long words are not compared, for that would cost their product.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX / 2;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
