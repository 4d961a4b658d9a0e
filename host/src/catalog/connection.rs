//! What an operator writes about an account at a destination: `connections/NAME.toml`.
//!
//! Everything that safety rests on is said here, or approved here by approving a connector's digest. The file is read
//! by itself first (`ConnectionSpec`); what it must fit (the connector) is `approved`'s business.

mod read;
mod trust;

use super::document::{self, Marks, Problem};
use super::manifest::{Auth, Dedup, Example, Probe, RequestRule};
pub use crate::credentials::SecretSource;
use crate::egress::Origin;
use oncegate_domain::limits::REQUEST_TIMEOUT_MS_DEFAULT;
use serde_json::Value;
use std::collections::BTreeMap;

/// Largest connection file.
pub const CONNECTION_BYTES_MAX: usize = 256 * 1024;

/// A connection as its file says it, checked by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionSpec {
    /// Its name, by which flows use it.
    pub name: String,
    /// Name of the connector.
    pub connector: String,
    /// Which account at the destination: another account is another place.
    pub account: String,
    /// The approved bytes, `sha256:…`; `None`: whatever the first apply finds is pinned.
    pub digest: Option<String>,
    /// Which flows may use it: names with `*`.
    pub flows: Vec<FlowPattern>,
    /// Origins by endpoint.
    pub endpoints: BTreeMap<String, Origin>,
    /// `http://` is allowed.
    pub plain_http: bool,
    /// Address ranges that are reached although they are closed by default, such as `127.0.0.1/32`.
    pub allow_addresses: Vec<String>,
    /// How to sign, where the connector leaves it open.
    pub auth: Option<Auth>,
    /// The read that tells whether the credentials work, in place of the manifest's.
    pub probe: Option<Probe>,
    /// Where secrets are, by name.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Limits of use.
    pub limits: Limits,
    /// JSON given to every call.
    pub settings: Value,
    /// For all actions.
    pub trust: TrustSpec,
    /// For one action; what is said here goes before.
    pub actions: BTreeMap<String, ActionTrust>,
    /// What the drill plays for an action, in place of the manifest's example.
    pub examples: BTreeMap<String, Example>,
    marks: Marks,
}

/// A flow name with `*` for any run of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPattern(pub String);

/// How hard a connection may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Attempts at the same time.
    pub concurrency: u32,
    /// Requests per time; `None`: as fast as it goes.
    pub rate: Option<Rate>,
    /// One exchange, in milliseconds.
    pub timeout_ms: u64,
}

/// So many requests per time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub requests: u32,
    /// In how many milliseconds.
    pub per_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            concurrency: 8,
            rate: None,
            timeout_ms: REQUEST_TIMEOUT_MS_DEFAULT,
        }
    }
}

/// `[trust]`: what is approved about the destination's answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustSpec {
    /// Statuses that are given only before anything was done.
    pub refused_before_effect: Option<Vec<u16>>,
    /// Statuses beside 2xx that prove the effect when the connector says ok.
    pub confirms: Option<Vec<u16>>,
    /// Statuses of a lookup that mean *absent*.
    pub absent_on: Option<Vec<u16>>,
    /// *Absent* goes to a person and not to a resend.
    pub absent_to_review: Option<bool>,
    /// An error inside a 2xx means that nothing was done.
    pub errors_in_2xx_refused: Option<bool>,
    /// The connector may report an effect that it found before sending.
    pub may_find: Option<bool>,
    /// Longest time after which a request can no longer take effect and is visible, in milliseconds.
    pub lookup_after_ms: Option<u64>,
    /// How long after the first intent a natural repeat is allowed, in milliseconds.
    pub repeat_within_ms: Option<u64>,
}

/// `[trust.actions.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionTrust {
    /// As for all actions.
    pub trust: TrustSpec,
    /// What the destination can do about duplicates.
    pub dedup: Option<Dedup>,
    /// The request list, in place of the manifest's.
    pub requests: Option<Vec<RequestRule>>,
}

impl FlowPattern {
    /// Whether a flow of this name is meant.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let parts: Vec<&str> = parts.collect();
        let Some((last, middle)) = parts.split_last() else {
            return rest.is_empty();
        };
        for part in middle {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl ConnectionSpec {
    /// Reads a connection file. On errors every one of them.
    pub fn parse(source: &str) -> Result<ConnectionSpec, Vec<Problem>> {
        let (node, mut problems) = document::read_toml(source, CONNECTION_BYTES_MAX)?;
        match read::read_connection(&node, &mut problems) {
            Some(spec) if problems.count() == 0 => Ok(spec),
            _ => Err(problems.into_list()),
        }
    }

    /// A problem with what stands at `path` (such as `secrets.token`), or at the nearest table around it.
    pub(crate) fn problem(&self, path: &str, what: impl Into<String>, mend: impl Into<String>) -> Problem {
        let (line, column) = self.marks.of(path);
        Problem {
            line,
            column,
            what: what.into(),
            mend: mend.into(),
        }
    }

    /// Whether a flow may use it.
    pub fn grants(&self, flow: &str) -> bool {
        self.flows.iter().any(|pattern| pattern.matches(flow))
    }
}

#[cfg(test)]
mod tests;
