//! What is in force at one moment, and how it is read from the ledger.

use super::approved::approve;
use super::section::{self, Description};
use super::{Approved, CatalogError, ConnectionSpec};
use crate::flow::Flow;
use crate::ledger::{Ledger, StoredConnection, StoredFlow};
use crate::runtime::{Component, Runtime};
use oncegate_domain::id::Id;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Flows, connections and connectors at one moment.
#[derive(Default)]
pub struct Snapshot {
    flows: HashMap<Id, Arc<ActiveFlow>>,
    by_path: HashMap<String, Id>,
    connections: BTreeMap<String, Arc<Connection>>,
    connectors: BTreeMap<String, Arc<Connector>>,
    broken: Vec<String>,
}

/// A flow at one revision.
#[derive(Debug)]
pub struct ActiveFlow {
    /// Its id, which survives renaming.
    pub id: Id,
    /// Its revision.
    pub revision: u32,
    /// The checked definition.
    pub flow: Flow,
}

/// A connection at one revision.
#[derive(Debug)]
pub struct Connection {
    /// Its revision.
    pub revision: u32,
    /// As its file says it.
    pub spec: ConnectionSpec,
    /// What it approves, by action.
    pub actions: BTreeMap<String, Arc<Approved>>,
    /// Which flows may use it.
    pub flows: Vec<super::connection::FlowPattern>,
}

/// A connector, compiled.
#[derive(Debug)]
pub struct Connector {
    /// `sha256:…`
    pub digest: String,
    /// What it says about itself.
    pub description: Description,
    /// Ready to be called.
    pub component: Component,
}

/// Why a flow may not do something. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApproved {
    /// No such connection in force.
    #[error("there is no connection {0:?} (any more); apply one with this name, or change the flow")]
    NoConnection(String),
    /// It is not granted to this flow.
    #[error(
        "the connection {connection:?} is not granted to the flow {flow:?}; add the flow to `flows` of the connection"
    )]
    NotGranted {
        /// The connection.
        connection: String,
        /// The flow.
        flow: String,
    },
    /// The action is not approved there.
    #[error("the connection {connection:?} approves no action {action:?}; it approves: {known}")]
    NoAction {
        /// The connection.
        connection: String,
        /// The action.
        action: String,
        /// What there is.
        known: String,
    },
}

impl Snapshot {
    /// The flow with this id, if it is active.
    pub fn flow(&self, id: Id) -> Option<Arc<ActiveFlow>> {
        self.flows.get(&id).cloned()
    }

    /// The active flow behind a webhook path.
    pub fn flow_by_path(&self, path: &str) -> Option<Arc<ActiveFlow>> {
        self.by_path.get(path).and_then(|id| self.flow(*id))
    }

    /// Every active flow.
    pub fn flows(&self) -> impl Iterator<Item = &Arc<ActiveFlow>> {
        self.flows.values()
    }

    /// A connection in force.
    pub fn connection(&self, name: &str) -> Option<&Arc<Connection>> {
        self.connections.get(name)
    }

    /// Every connection in force, by name.
    pub fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.connections.values()
    }

    /// A connector that a connection in force uses.
    pub fn connector(&self, digest: &str) -> Option<Arc<Connector>> {
        self.connectors.get(digest).cloned()
    }

    /// What is stored as active and cannot be used, and why.
    pub fn broken(&self) -> &[String] {
        &self.broken
    }

    /// What a flow may do by an action of a connection.
    ///
    /// # Errors
    /// Why not.
    pub fn approve(&self, flow: &str, connection: &str, action: &str) -> Result<Arc<Approved>, NotApproved> {
        let found = self
            .connections
            .get(connection)
            .ok_or_else(|| NotApproved::NoConnection(connection.to_owned()))?;
        found.approve(flow, action)
    }
}

/// What stands for an action of an earlier revision by now.
pub struct Counterpart {
    /// The connection in force.
    pub connection: Arc<Connection>,
    /// The same action; where the version in force has none of this name, another one: place, credentials and limits are
    /// those of the connection and the same for all.
    pub approved: Arc<Approved>,
}

impl Snapshot {
    /// What the connection approves by now in place of an action that a step in doubt was sent by, whichever flow asks: a
    /// grant to a flow that was taken away since must not keep a doubt from being settled.
    ///
    /// # Errors
    /// The connection is gone, or its operator has taken the action out.
    pub fn counterpart(&self, connection: &str, action: &str) -> Result<Counterpart, NotApproved> {
        let found = self
            .connections
            .get(connection)
            .ok_or_else(|| NotApproved::NoConnection(connection.to_owned()))?;
        let offered = found.actions.values().any(|approved| {
            self.connectors
                .get(&approved.connector_digest)
                .is_some_and(|connector| connector.description.manifest.actions.contains_key(action))
        });
        let other = || found.actions.values().next().filter(|_| !offered);
        let approved = found.actions.get(action).or_else(other);
        Ok(Counterpart {
            connection: Arc::clone(found),
            approved: Arc::clone(approved.ok_or_else(|| found.no_action(action))?),
        })
    }
}

impl Connection {
    fn no_action(&self, action: &str) -> NotApproved {
        NotApproved::NoAction {
            connection: self.spec.name.clone(),
            action: action.to_owned(),
            known: self.actions.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        }
    }

    /// What a flow may do by an action.
    ///
    /// # Errors
    /// Why not.
    pub fn approve(&self, flow: &str, action: &str) -> Result<Arc<Approved>, NotApproved> {
        if !self.flows.iter().any(|pattern| pattern.matches(flow)) {
            return Err(NotApproved::NotGranted {
                connection: self.spec.name.clone(),
                flow: flow.to_owned(),
            });
        }
        self.actions.get(action).cloned().ok_or_else(|| self.no_action(action))
    }
}

/// Reads what is in force. What `before` compiled is not compiled again.
pub(super) async fn load(
    ledger: &Ledger,
    runtime: &Runtime,
    before: Option<&Snapshot>,
) -> Result<Snapshot, CatalogError> {
    let rows = ledger.catalog_all().await?;
    let mut snapshot = Snapshot::default();
    for stored in rows.connections.into_iter().filter(|stored| stored.active) {
        let digest = stored.digest.clone();
        if !snapshot.connectors.contains_key(&digest) {
            let connector = match before.and_then(|before| before.connector(&digest)) {
                Some(known) => Ok(known),
                None => find_connector(ledger, runtime, &digest).await,
            };
            match connector {
                Ok(connector) => drop(snapshot.connectors.insert(digest.clone(), connector)),
                Err(error) => snapshot.note(&error),
            }
        }
        let Some(connector) = snapshot.connectors.get(&digest) else {
            continue;
        };
        match read_connection(stored, connector) {
            Ok(connection) => drop(
                snapshot
                    .connections
                    .insert(connection.spec.name.clone(), Arc::new(connection)),
            ),
            Err(error) => snapshot.note(&error),
        }
    }
    for stored in rows.flows.into_iter().filter(|stored| stored.active) {
        match read_flow(stored) {
            Ok(flow) => snapshot.add_flow(flow),
            Err(error) => snapshot.note(&error),
        }
    }
    Ok(snapshot)
}

impl Snapshot {
    fn add_flow(&mut self, flow: ActiveFlow) {
        if let Some(webhook) = flow.flow.webhook() {
            self.by_path.insert(webhook.path.clone(), flow.id);
        }
        self.flows.insert(flow.id, Arc::new(flow));
    }

    fn note(&mut self, error: &CatalogError) {
        tracing::error!(%error, "stored as active and not usable");
        self.broken.push(error.to_string());
    }
}

fn broken(what: &'static str, name: &str, why: impl ToString) -> CatalogError {
    CatalogError::Broken {
        what,
        name: name.to_owned(),
        why: why.to_string(),
    }
}

fn said(problems: &[impl std::fmt::Display]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}

/// Reads a stored flow again.
pub(super) fn read_flow(stored: StoredFlow) -> Result<ActiveFlow, CatalogError> {
    let examples = |name: &str| stored.examples.get(name).cloned();
    let (flow, _) =
        Flow::parse(&stored.source, &examples).map_err(|problems| broken("flow", &stored.name, said(&problems)))?;
    Ok(ActiveFlow {
        id: stored.id,
        revision: stored.revision,
        flow,
    })
}

/// Reads a stored connector again and compiles it.
pub(super) async fn find_connector(
    ledger: &Ledger,
    runtime: &Runtime,
    digest: &str,
) -> Result<Arc<Connector>, CatalogError> {
    let missing = || CatalogError::Missing {
        what: "connector",
        name: digest.to_owned(),
    };
    let stored = ledger.connector(digest).await?.ok_or_else(missing)?;
    let description = section::read(&stored.bytes).map_err(|error| broken("connector", &stored.name, error))?;
    let component = runtime.load(&stored.bytes).await;
    let component = component.map_err(|why| CatalogError::Load {
        digest: stored.digest.clone(),
        why,
    })?;
    Ok(Arc::new(Connector {
        digest: stored.digest,
        description,
        component,
    }))
}

/// Reads a stored connection again.
pub(super) fn read_connection(stored: StoredConnection, connector: &Connector) -> Result<Connection, CatalogError> {
    let wrong = |problems: Vec<super::Problem>| broken("connection", &stored.name, said(&problems));
    let spec = ConnectionSpec::parse(&stored.source).map_err(wrong)?;
    let actions = approve(&connector.description, &stored.digest, &spec, stored.revision).map_err(wrong)?;
    let flows = stored.flows.into_iter().map(super::connection::FlowPattern).collect();
    Ok(Connection {
        revision: stored.revision,
        spec,
        actions,
        flows,
    })
}
