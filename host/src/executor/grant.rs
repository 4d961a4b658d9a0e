//! What a step may do, and with which code.

use super::Shared;
use super::live::{LiveStep, RunCell};
use crate::catalog::{Approved, CatalogError, NotApproved};
use crate::ledger::{LedgerError, StoredIntent};
use crate::runtime::Component;
use std::sync::Arc;

/// An approved action and the connector that carries it out.
pub struct Granted {
    /// What is approved.
    pub approved: Arc<Approved>,
    /// The code.
    pub component: Component,
}

/// Why a step may not go on. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is not approved.
    #[error(transparent)]
    NotApproved(#[from] NotApproved),
    /// What it needs is not there.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Shared {
    /// As of now, for a step that is not in doubt.
    pub(super) async fn granted(&self, cell: &RunCell, live: &LiveStep) -> Result<Granted, Refused> {
        let approved = self
            .catalog
            .approve(cell.facts.flow.flow.name(), &live.connection, &live.action)?;
        let component = self.catalog.component(&approved.connector_digest).await?;
        Ok(Granted { approved, component })
    }

    /// For a step in doubt: the connector and the settings of its intent, so that it builds the same request again; but
    /// the place, the credentials, the limits and the operator's word on the destination are those of now.
    pub(super) async fn granted_as_recorded(&self, live: &LiveStep, intent: &StoredIntent) -> Result<Granted, Refused> {
        let approved = self.approved_as_recorded(live, intent).await?;
        let component = self.catalog.component(&approved.connector_digest).await?;
        Ok(Granted { approved, component })
    }

    async fn approved_as_recorded(&self, live: &LiveStep, intent: &StoredIntent) -> Result<Arc<Approved>, Refused> {
        let now = self.catalog.snapshot().counterpart(&live.connection, &live.action)?;
        let revision = intent.place.connection_revision;
        Ok(self.catalog.approved_as_recorded(&now, revision, &live.action).await?)
    }

    /// What decisions about a step rest on, whichever flow asks: as of now, or, in doubt, as of its intent. `None`: nothing
    /// is approved any more, and an attempt would find out why.
    pub(super) async fn approved_for(&self, live: &LiveStep) -> Result<Option<Arc<Approved>>, LedgerError> {
        if live.standing.doubts_known_request()
            && let Some(intent) = self.ledger.last_intent(live.id).await?
        {
            return Ok(self.approved_as_recorded(live, &intent).await.ok());
        }
        let snapshot = self.catalog.snapshot();
        let connection = snapshot.connection(&live.connection);
        Ok(connection
            .and_then(|connection| connection.actions.get(&live.action))
            .cloned())
    }
}
