//! Lines for the operator's log. They are bounded by the host and never decide anything.

use crate::host;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the connector's author.
    Debug,
    /// Worth knowing in operation.
    Info,
    /// Something to look at.
    Warn,
    /// Something went wrong.
    Error,
}

/// Writes one line: plain words, and names and values beside them.
pub fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    host::log(level, message, fields);
}

/// A line for the author.
pub fn debug(message: &str) {
    write(Level::Debug, message, &[]);
}

/// A line worth knowing in operation.
pub fn info(message: &str) {
    write(Level::Info, message, &[]);
}

/// A line about something to look at.
pub fn warn(message: &str) {
    write(Level::Warn, message, &[]);
}

/// A line about something that went wrong.
pub fn error(message: &str) {
    write(Level::Error, message, &[]);
}
