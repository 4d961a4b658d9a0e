//! Flows, connectors and connections: what is in force, and how it comes to be.
//!
//! A connector's author claims (`manifest`), an operator grants (`connection`); the executor works with the intersection
//! (`approved`) and asks it about every request (`requests`). `folder` makes the host match a folder. This room must not
//! call connectors, send requests or know runs.

pub mod approved;
mod builtin;
pub mod connection;
mod document;
mod earlier;
pub mod folder;
pub(crate) mod json;
pub mod manifest;
pub mod requests;
pub mod rights;
pub mod schema;
pub mod section;
mod snapshot;

pub use approved::{Approved, Auth, KeyPlace};
pub use builtin::{BUILTIN, Builtin};
pub use connection::{ConnectionSpec, Limits, Rate};
pub use document::Problem;
pub(crate) use document::is_name as is_connector_name;
pub(crate) use folder::digest_of;
pub use manifest::{Manifest, RequestKind};
pub use requests::{Denied, Purpose};
pub use snapshot::{ActiveFlow, Connection, Connector, Counterpart, NotApproved, Snapshot};

use crate::ledger::{Ledger, LedgerError};
use crate::runtime::{Component, LoadError, Runtime};
use earlier::Earlier;
use oncegate_domain::id::Id;
use std::sync::{Arc, PoisonError, RwLock};

/// What is in force. A handle, cheap to clone.
#[derive(Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

struct Inner {
    ledger: Ledger,
    runtime: Runtime,
    earlier: Earlier,
    snapshot: RwLock<Arc<Snapshot>>,
    /// What was read earlier must not come into force later.
    reloading: tokio::sync::Mutex<()>,
}

/// Why something of the catalog cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The ledger did not give it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// It is not there.
    #[error("there is no {what} {name:?} in the ledger")]
    Missing {
        /// Of what kind.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// It is there and cannot be used (any more).
    #[error("the {what} {name:?} cannot be used: {why}")]
    Broken {
        /// Of what kind.
        what: &'static str,
        /// Its name.
        name: String,
        /// Why, in words.
        why: String,
    },
    /// The runtime refused a connector.
    #[error("the connector {digest} cannot be loaded: {why}")]
    Load {
        /// Its digest.
        digest: String,
        /// Why.
        why: LoadError,
    },
}

impl Catalog {
    /// Reads everything from the ledger and compiles what is in use. What cannot be used (any more) is logged and stands
    /// in [`Snapshot::broken`]; the rest works.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn load(ledger: &Ledger, runtime: &Runtime) -> Result<Catalog, CatalogError> {
        let snapshot = snapshot::load(ledger, runtime, None).await?;
        let inner = Inner {
            ledger: ledger.clone(),
            runtime: runtime.clone(),
            earlier: Earlier::default(),
            snapshot: RwLock::new(Arc::new(snapshot)),
            reloading: tokio::sync::Mutex::default(),
        };
        Ok(Catalog { inner: Arc::new(inner) })
    }

    /// What is in force now. It does not change under whoever holds it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner
            .snapshot
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads everything again, after something was stored.
    ///
    /// # Errors
    /// The ledger cannot be read; what was in force stays.
    pub async fn reload(&self) -> Result<(), CatalogError> {
        let _turn = self.inner.reloading.lock().await;
        let before = self.snapshot();
        let fresh = snapshot::load(&self.inner.ledger, &self.inner.runtime, Some(&before)).await?;
        *self.inner.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
        Ok(())
    }

    /// The active flow behind a webhook path.
    pub fn flow_by_path(&self, path: &str) -> Option<Arc<ActiveFlow>> {
        self.snapshot().flow_by_path(path)
    }

    /// A flow at a revision: a run stays on its own.
    ///
    /// # Errors
    /// It is not in the ledger, or cannot be read any more.
    pub async fn flow_at(&self, id: Id, revision: u32) -> Result<Arc<ActiveFlow>, CatalogError> {
        if let Some(flow) = self.snapshot().flow(id).filter(|flow| flow.revision == revision) {
            return Ok(flow);
        }
        let missing = || CatalogError::Missing {
            what: "flow",
            name: format!("{id}, revision {revision}"),
        };
        let stored = self
            .inner
            .ledger
            .flow_revision(id, revision)
            .await?
            .ok_or_else(missing)?;
        Ok(Arc::new(snapshot::read_flow(stored)?))
    }

    /// What a flow may do by an action of a connection.
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn approve(&self, flow: &str, connection: &str, action: &str) -> Result<Arc<Approved>, NotApproved> {
        self.snapshot().approve(flow, connection, action)
    }

    /// What a step in doubt may do by an action whose intent was written at this revision of the connection; `now` is what
    /// the connection approves by now (see [`Snapshot::counterpart`]). The connector and the settings are those of the
    /// intent, the operator's word on the destination is that of now.
    ///
    /// # Errors
    /// The revision or its connector is not there or cannot be used any more.
    pub async fn approved_as_recorded(
        &self,
        now: &Counterpart,
        revision: u32,
        action: &str,
    ) -> Result<Arc<Approved>, CatalogError> {
        let spec = &now.connection.spec;
        if now.connection.revision == revision
            && let Some(approved) = now.connection.actions.get(action)
        {
            return Ok(Arc::clone(approved));
        }
        let missing = || CatalogError::Missing {
            what: "action",
            name: format!("{}.{action}", spec.name),
        };
        let then = self.stored_connection(&spec.name, revision).await?;
        let approved = then.actions.get(action).ok_or_else(missing)?;
        let connector = self.connector(&approved.connector_digest).await?;
        let claim = connector.description.manifest.actions.get(action).ok_or_else(missing)?;
        Ok(Arc::new(approved::as_recorded(approved, claim, &now.approved, spec)))
    }

    async fn stored_connection(&self, name: &str, revision: u32) -> Result<Arc<Connection>, CatalogError> {
        let missing = || CatalogError::Missing {
            what: "connection",
            name: format!("{name}, revision {revision}"),
        };
        let stored = self
            .inner
            .ledger
            .connection_revision(name, revision)
            .await?
            .ok_or_else(missing)?;
        let connector = self.connector(&stored.digest).await?;
        Ok(Arc::new(snapshot::read_connection(stored, &connector)?))
    }

    /// A compiled connector by its digest, also one that no connection uses any more.
    ///
    /// # Errors
    /// It is not in the ledger, or cannot be used any more.
    pub async fn component(&self, digest: &str) -> Result<Component, CatalogError> {
        Ok(self.connector(digest).await?.component.clone())
    }

    /// A connector by its digest.
    ///
    /// # Errors
    /// It is not in the ledger, or cannot be used any more.
    pub async fn connector(&self, digest: &str) -> Result<Arc<Connector>, CatalogError> {
        if let Some(connector) = self.snapshot().connector(digest) {
            return Ok(connector);
        }
        if let Some(connector) = self.inner.earlier.get(digest) {
            return Ok(connector);
        }
        let connector = snapshot::find_connector(&self.inner.ledger, &self.inner.runtime, digest).await?;
        self.inner.earlier.keep(&connector);
        Ok(connector)
    }
}
