//! Which version of its connector a connection is for: the one that was approved, until somebody approves another.

use super::super::FileProblem;
use super::super::plan::PlannedConnector;
use super::Planner;
use crate::catalog::connection::ConnectionSpec;
use crate::catalog::section::{self, Description};
use crate::ledger::StoredConnection;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// One version of a connector.
#[derive(Clone, Debug)]
pub(in super::super) struct Version {
    pub(in super::super) digest: String,
    pub(in super::super) description: Arc<Description>,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let manifest = &self.description.manifest;
        write!(f, "{} {} ({})", manifest.name, manifest.version, self.digest)
    }
}

impl From<&PlannedConnector> for Version {
    fn from(connector: &PlannedConnector) -> Self {
        Version {
            digest: connector.digest.clone(),
            description: Arc::clone(&connector.description),
        }
    }
}

/// What a connection is for.
pub(super) struct Chosen {
    /// The approved version.
    pub(super) version: Version,
    /// Another one that is there and that nobody has approved.
    pub(super) waiting: Option<Version>,
}

impl Planner<'_> {
    /// What the file names; else what was approved before, unless another version is approved now; else, the first time,
    /// what is there.
    pub(super) fn choose(
        &mut self,
        file: &str,
        spec: &ConnectionSpec,
        before: Option<&StoredConnection>,
        available: &BTreeMap<String, PlannedConnector>,
        approve_names: &[String],
    ) -> Option<Chosen> {
        let found = available.get(&spec.connector);
        let only = |version| Chosen { version, waiting: None };
        match (&spec.digest, before, found) {
            // A digest that is written in the file is an approval of its own.
            (Some(digest), ..) => self.version(file, spec, digest, available).map(only),
            (None, Some(before), Some(found)) => {
                if before.digest == found.digest || approve_names.contains(&spec.name) {
                    return Some(only(found.into()));
                }
                let version = self.version(file, spec, &before.digest, available)?;
                Some(Chosen {
                    version,
                    waiting: Some(found.into()),
                })
            }
            (None, Some(before), None) => self.version(file, spec, &before.digest, available).map(only),
            (None, None, Some(found)) => Some(only(found.into())),
            // Its own file is not right: that is reported there.
            (None, None, None) if self.is_wrong("connectors") => None,
            (None, None, None) => {
                let known: Vec<_> = available.keys().map(String::as_str).collect();
                let known = if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                };
                let mend = format!("put its .wasm into connectors/; there are: {known}");
                let what = format!("there is no connector {:?}", spec.connector);
                self.wrong(file, vec![spec.problem("connector", what, mend)]);
                None
            }
        }
    }

    /// The version with these bytes, from the folder, the host or the ledger.
    fn version(
        &mut self,
        file: &str,
        spec: &ConnectionSpec,
        digest: &str,
        available: &BTreeMap<String, PlannedConnector>,
    ) -> Option<Version> {
        if let Some(found) = available.values().find(|connector| connector.digest == digest) {
            return Some(found.into());
        }
        match self.stored_version(digest) {
            Some(Ok(version)) => Some(version),
            Some(Err(why)) => {
                self.problems.push(FileProblem::said(file, &why));
                None
            }
            None => {
                let has = available
                    .get(&spec.connector)
                    .map_or("nobody has those bytes".to_owned(), |found| {
                        format!("{} is {}", found.file, found.digest)
                    });
                let what = format!("the approved bytes are {digest}, and {has}");
                let mend = "read what the connector may do, then write its digest here, or leave `digest` out";
                self.wrong(file, vec![spec.problem("digest", what, mend)]);
                None
            }
        }
    }

    /// A version that the ledger keeps; an error says why it cannot be read any more.
    pub(super) fn stored_version(&self, digest: &str) -> Option<Result<Version, String>> {
        let stored = self.rows.connectors.iter().find(|row| row.digest == digest)?;
        Some(match section::describe(&stored.manifest) {
            Ok(description) => Ok(Version {
                digest: digest.to_owned(),
                description: Arc::new(description),
            }),
            Err(error) => Err(error.to_string()),
        })
    }
}
