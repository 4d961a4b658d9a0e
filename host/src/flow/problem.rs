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
