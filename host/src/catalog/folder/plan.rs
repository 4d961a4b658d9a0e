//! A plan: what applying a folder would change, in words, and all that it takes to do it.

use super::FileProblem;
use super::planner::Version;
use crate::catalog::Approved;
use crate::catalog::connection::ConnectionSpec;
use crate::catalog::section::Description;
use crate::ledger::{CatalogRows, InstallationChange, NewConnection, NewConnector, NewFlow};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What would change, and all that it takes to do it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In words, connectors first.
    pub changes: Vec<Change>,
    /// Doubtful, not wrong.
    pub warnings: Vec<FileProblem>,
    /// Connections for which another version of their connector is there. It is not used before somebody approves it.
    pub waiting: Vec<Waiting>,
    pub(super) connectors: Vec<PlannedConnector>,
    pub(super) seen: Vec<String>,
    pub(super) connections: Vec<PlannedConnection>,
    pub(super) flows: Vec<PlannedFlow>,
    pub(super) gone: Vec<(Subject, String)>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What happens.
    pub verb: Verb,
    /// To what kind of thing.
    pub subject: Subject,
    /// To which.
    pub name: String,
    /// More about it, a sentence a line.
    pub lines: Vec<String>,
}

/// A connection that stays with its approved version although another one is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The connection.
    pub connection: String,
    /// Both versions, and the difference in rights, a sentence a line.
    pub lines: Vec<String>,
}

/// What happens to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It is new.
    Add,
    /// It gets a new revision.
    Change,
    /// It is not used any more; its records stay.
    Deactivate,
}

/// Kinds of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A connector.
    Connector,
    /// A connection.
    Connection,
    /// A flow.
    Flow,
}

#[derive(Clone, Debug)]
pub(super) struct PlannedConnector {
    pub(super) file: String,
    pub(super) bytes: Arc<[u8]>,
    pub(super) digest: String,
    pub(super) description: Arc<Description>,
}

#[derive(Clone, Debug)]
pub(super) struct PlannedConnection {
    pub(super) file: String,
    pub(super) source: String,
    pub(super) spec: ConnectionSpec,
    pub(super) digest: String,
    pub(super) actions: BTreeMap<String, Arc<Approved>>,
    /// A version that nobody has approved for it yet.
    pub(super) waiting: Option<Version>,
}

#[derive(Clone, Debug)]
pub(super) struct PlannedFlow {
    pub(super) name: String,
    pub(super) renamed_from: Option<String>,
    pub(super) source: String,
    pub(super) examples: BTreeMap<String, String>,
}

/// `sha256:` and the lower-case hexadecimal digest.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(bytes)))
}

/// What a plan rests on, to be compared before it is carried out.
pub(super) fn seen(rows: &CatalogRows) -> Vec<String> {
    let flows = rows
        .flows
        .iter()
        .map(|row| format!("flow {} {} {}", row.name, row.revision, row.active));
    let connections = rows.connections.iter();
    let connections = connections.map(|row| format!("connection {} {} {}", row.name, row.revision, row.active));
    let mut seen: Vec<String> = flows.chain(connections).collect();
    seen.sort();
    seen
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// All of it, for the ledger to store at once.
    pub(super) fn into_change(self, who: &str, at_ms: i64) -> InstallationChange {
        let who = || who.to_owned();
        let connectors = self.connectors.into_iter().map(|connector| {
            let manifest = &connector.description.manifest;
            NewConnector {
                digest: connector.digest,
                name: manifest.name.clone(),
                version: manifest.version.clone(),
                bytes: connector.bytes.to_vec(),
                manifest: connector.description.json.clone(),
                at_ms,
                who: who(),
            }
        });
        let connections = self.connections.into_iter().map(|planned| NewConnection {
            flows: planned.spec.flows.iter().map(|pattern| pattern.0.clone()).collect(),
            name: planned.spec.name,
            source: planned.source,
            digest: planned.digest,
            at_ms,
            who: who(),
        });
        let flows = self.flows.into_iter().map(|flow| NewFlow {
            name: flow.name,
            renamed_from: flow.renamed_from,
            source: flow.source,
            examples: flow.examples,
            at_ms,
            who: who(),
        });
        let gone = |wanted: Subject| {
            let names = self.gone.iter().filter(move |(subject, _)| *subject == wanted);
            names.map(|(_, name)| name.clone()).collect()
        };
        InstallationChange {
            connectors: connectors.collect(),
            connections: connections.collect(),
            flows: flows.collect(),
            gone_flows: gone(Subject::Flow),
            gone_connections: gone(Subject::Connection),
            who: who(),
            at_ms,
        }
    }
}
