//! What an author says about a connector: `connector.toml`, or the same as JSON inside a built component.
//!
//! Everything in it is a claim of the author's. It becomes a right only where a connection grants it (`approved`), so
//! this module must know no connection. Each problem says where, what and how to mend it; all are reported at once.

mod action;
mod dedup;
mod example;
mod head;
mod headers;
mod rules;

pub(crate) use action::{LOOKUP_AFTER_MS_MAX, broken_rules, shared_path};
pub(crate) use dedup::read_dedup;
pub(crate) use example::read_example;
pub use example::{Example, ExampleAnswer, KEY_MARK, Reply, Says};
pub(crate) use head::{read_auth, read_probe};
pub(crate) use headers::{forbidden_header, is_header_name};
pub use rules::{RequestKind, RequestRule, Segment};
pub(crate) use rules::{Statuses, read_rules, read_statuses};

use super::document::{self, Problem, Problems};
use crate::egress::Origin;
use oncegate_domain::doubt::Effect;
use oncegate_domain::key::KeyFormat;
pub use oncegate_domain::limits::MANIFEST_BYTES_MAX;
use serde_json::Value;
use std::collections::BTreeMap;

/// Most actions of one connector.
pub const ACTIONS_MAX: usize = 64;
/// Most requests that one action may list.
pub const REQUESTS_MAX: usize = 64;

/// A checked manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Name of the connector, `[a-z][a-z0-9-]{1,39}`.
    pub name: String,
    /// The author's version, `MAJOR.MINOR.PATCH`.
    pub version: String,
    /// What people read.
    pub title: String,
    /// Endpoints by name, with the origin that the author proposes.
    pub endpoints: BTreeMap<String, Option<Origin>>,
    /// How the host signs requests.
    pub auth: Auth,
    /// A read that tells whether the credentials work.
    pub probe: Option<Probe>,
    /// Statuses that the author says the provider gives only before anything was done. A proposal: it counts only where
    /// the connection repeats it.
    pub refused_before_effect: Option<Proposal>,
    /// What it offers, by name.
    pub actions: BTreeMap<String, Action>,
    json: Value,
}

/// How the host signs. The connector never sees a secret; the names here are those of the connection's `[secrets]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Not at all.
    None,
    /// `Authorization: Bearer …`
    Bearer {
        /// Name of the secret.
        secret: String,
    },
    /// `Authorization: Basic …`
    Basic {
        /// Name of the secret that holds the user.
        user: String,
        /// Name of the secret that holds the password.
        secret: String,
    },
    /// A header of the provider's own.
    Header {
        /// Name of the header, as written.
        name: String,
        /// Name of the secret that is its whole value.
        secret: String,
    },
    /// A query parameter.
    Query {
        /// Name of the parameter.
        name: String,
        /// Name of the secret that is its value.
        secret: String,
    },
    /// The connection says (connectors such as `http`, that know no provider).
    Connection,
}

impl Auth {
    /// Names of the secrets that it needs.
    pub fn secrets(&self) -> Vec<&str> {
        match self {
            Auth::None | Auth::Connection => Vec::new(),
            Auth::Bearer { secret } | Auth::Header { secret, .. } | Auth::Query { secret, .. } => vec![secret],
            Auth::Basic { user, secret } => vec![user, secret],
        }
    }
}

/// A GET that tells whether the credentials work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name of the endpoint.
    pub endpoint: String,
    /// Exact path.
    pub path: String,
}

/// Something the author proposes about the provider, and the page that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The statuses.
    pub statuses: Vec<u16>,
    /// Page of the provider's documentation.
    pub page: String,
}

/// One operation of a connector.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Name, `[a-z][a-z0-9-]{1,39}`.
    pub name: String,
    /// Whether it changes the destination.
    pub effect: Effect,
    /// What it does, in a sentence for people.
    pub says: String,
    /// What the destination can do about duplicates, as the author says.
    pub dedup: Dedup,
    /// Proposed `lookup_after` in milliseconds; there is a lookup only where there is one.
    pub lookup_after_ms: Option<u64>,
    /// JSON pointer into the output: what a person would search for at the destination.
    pub reference: Option<String>,
    /// Everything it may send.
    pub requests: Requests,
    /// What the drill plays.
    pub example: Option<Example>,
}

/// Where the list of an action's requests is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requests {
    /// In the manifest.
    Listed(Vec<RequestRule>),
    /// In the connection alone (`requests = "connection"`): the connector knows no destination.
    Connection,
}

/// What the destination can do about duplicates, and where the key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dedup {
    /// Nothing; no key is sent.
    None,
    /// The key goes into a header.
    Header {
        /// Name of the header.
        name: String,
        /// How long the key is honoured, in milliseconds; `None`: unknown, which protects nothing.
        window_ms: Option<u64>,
        /// How the key is written.
        format: KeyFormat,
    },
    /// The key goes into a field of the JSON body. The connector puts it there, the host checks.
    Field {
        /// JSON pointer into the body.
        pointer: String,
        /// As above.
        window_ms: Option<u64>,
        /// As above.
        format: KeyFormat,
    },
    /// Repeating the same request leaves the same state.
    Natural {
        /// JSON pointers into the input that name the thing that is changed.
        key: Vec<String>,
    },
}

impl Manifest {
    /// Reads `connector.toml`. On errors every one of them.
    pub fn parse(source: &str) -> Result<Manifest, Vec<Problem>> {
        let (node, problems) = document::read_toml(source, MANIFEST_BYTES_MAX)?;
        Manifest::read(&node, problems)
    }

    /// Reads the manifest of a built component; the same rules, places said as paths.
    pub fn from_json(value: &Value) -> Result<Manifest, Vec<Problem>> {
        let (node, problems) = document::read_json(value, "manifest");
        Manifest::read(&node, problems)
    }

    /// The manifest as it goes into a component.
    pub fn to_json(&self) -> &Value {
        &self.json
    }

    fn read(node: &document::Node, mut problems: Problems<'_>) -> Result<Manifest, Vec<Problem>> {
        let manifest = head::read_manifest(node, &mut problems);
        match manifest {
            Some(manifest) if problems.count() == 0 => Ok(manifest),
            _ => Err(problems.into_list()),
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::GOOD;
