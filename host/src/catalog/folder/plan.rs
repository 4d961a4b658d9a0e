//! A plan: what applying a folder would change, in words, and all that it takes to do it.

use super::FileProblem;
use super::planner::Version;
use crate::catalog::Approved;
use crate::catalog::connection::ConnectionSpec;
use crate::catalog::section::Description;
use crate::ledger::{CatalogRows, Ledger, LedgerError, NewConnection, NewConnector, NewFlow};
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

    pub(super) async fn store(self, ledger: &Ledger, who: &str, at_ms: i64) -> Result<(), LedgerError> {
        let who = || who.to_owned();
        for connector in self.connectors {
            let manifest = &connector.description.manifest;
            let (name, version) = (manifest.name.clone(), manifest.version.clone());
            let (bytes, json) = (connector.bytes.to_vec(), connector.description.json.clone());
            let new = NewConnector {
                digest: connector.digest,
                name,
                version,
                bytes,
                manifest: json,
                at_ms,
                who: who(),
            };
            ledger.save_connector(new).await?;
        }
        for planned in self.connections {
            let flows = planned.spec.flows.iter().map(|pattern| pattern.0.clone()).collect();
            let (name, source, digest) = (planned.spec.name, planned.source, planned.digest);
            ledger
                .save_connection(NewConnection {
                    name,
                    source,
                    digest,
                    flows,
                    at_ms,
                    who: who(),
                })
                .await?;
        }
        for flow in self.flows {
            let PlannedFlow {
                name,
                renamed_from,
                source,
                examples,
            } = flow;
            ledger
                .save_flow(NewFlow {
                    name,
                    renamed_from,
                    source,
                    examples,
                    at_ms,
                    who: who(),
                })
                .await?;
        }
        for (subject, name) in self.gone {
            match subject {
                Subject::Flow => ledger.deactivate_flow(&name, &who(), at_ms).await?,
                Subject::Connection => ledger.deactivate_connection(&name, &who(), at_ms).await?,
                Subject::Connector => {}
            }
        }
        Ok(())
    }
}
