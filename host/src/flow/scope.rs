//! What a template may see: views that the caller lends for one evaluation. Nothing here is kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One delivery from outside, as templates see it.
#[derive(Clone, Copy, Debug)]
pub struct EventView<'a> {
    /// The host's id of this delivery (`event.id`).
    pub id: &'a str,
    /// When it was received, Unix milliseconds (`event.received_at`, written as RFC 3339 in UTC).
    pub received_ms: i64,
    /// Where it came from (`event.source`).
    pub source: &'a str,
    /// The parsed body, from [`RawBody::parse`](super::RawBody::parse).
    pub body: &'a Value,
    /// Headers; names in lower case.
    pub headers: &'a BTreeMap<String, String>,
    /// Decoded query parameters.
    pub query: &'a BTreeMap<String, String>,
}

/// The run that a step belongs to.
#[derive(Clone, Copy, Debug)]
pub struct RunView<'a> {
    /// `run.id`
    pub id: &'a str,
    /// The event key, as text (`run.key`).
    pub key: &'a str,
    /// When the run was made, Unix milliseconds (`run.started_at`, written as RFC 3339 in UTC).
    pub started_ms: i64,
}

/// What a person is called for; seen only by `[[review.notify]]`.
#[derive(Clone, Copy, Debug)]
pub struct ReviewView<'a> {
    /// One sentence for people (`review.summary`).
    pub summary: &'a str,
    /// The run's id (`review.run`).
    pub run: &'a str,
    /// The reason as stored (`review.reason`).
    pub reason: &'a str,
}

/// Everything a step's templates may see.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The event that started the run.
    pub event: &'a EventView<'a>,
    /// Outputs by step index; `None` where a step has none (not done, skipped).
    pub outputs: &'a [Option<&'a Value>],
    /// The run.
    pub run: RunView<'a>,
    /// Only for `[[review.notify]]`.
    pub review: Option<ReviewView<'a>>,
}

/// A business word of `[context]` with its value for one event; shown and searchable everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextItem {
    /// The word.
    pub name: String,
    /// Its value, as text; empty where the event has none.
    pub value: String,
    /// Masked for viewers.
    pub personal: bool,
}
