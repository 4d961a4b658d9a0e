//! What a step may do, and with which code.

use super::Shared;
use super::live::{LiveStep, RunCell};
use crate::catalog::{Approved, CatalogError, Limits, NotApproved};
use crate::ledger::StoredIntent;
use crate::runtime::Component;
use oncegate_domain::doubt::Dedup;
use std::sync::Arc;

/// An approved action and the connector that carries it out.
pub struct Granted {
    /// What is approved.
    pub approved: Arc<Approved>,
    /// The code.
    pub component: Component,
}

/// What the destination can do about a repeat of the *recorded* request. The operator's word of now is about requests that
/// are built now; the recorded one carries its key where the connection of then put it, or none at all, and a resend that
/// rested on a key which does not travel would be a second effect.
fn honoured(now: &Approved, then: &Approved, intent: &StoredIntent) -> Dedup {
    match now.terms.dedup {
        Dedup::None => Dedup::None,
        dedup @ Dedup::Key { .. } if now.key.is_where(&then.key) => dedup,
        dedup @ Dedup::Natural { .. } if intent.natural_key.is_some() && now.natural == then.natural => dedup,
        Dedup::Key { .. } | Dedup::Natural { .. } => Dedup::None,
    }
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
    /// the place, the credentials, the limits and the operator's word on the destination are those of now, as far as that word
    /// is about the recorded request (see [`honoured`]).
    pub(super) async fn granted_as_recorded(&self, live: &LiveStep, intent: &StoredIntent) -> Result<Granted, Refused> {
        let now = self
            .approved_now(live)
            .ok_or_else(|| NotApproved::NoConnection(live.connection.clone()))?;
        let place = &intent.place;
        if now.connection_revision == place.connection_revision {
            let component = self.catalog.component(&now.connector_digest).await?;
            return Ok(Granted {
                approved: now,
                component,
            });
        }
        let then = self
            .catalog
            .approved_at(&live.connection, place.connection_revision, &live.action)
            .await?;
        let component = self.catalog.component(&then.connector_digest).await?;
        let mut approved = Approved::clone(&then);
        approved.account.clone_from(&now.account);
        approved.terms = now.terms.clone();
        approved.terms.dedup = honoured(&now, &then, intent);
        approved.places.clone_from(&now.places);
        approved.auth = now.auth.clone();
        approved.secrets.clone_from(&now.secrets);
        approved.limits = now.limits;
        Ok(Granted {
            approved: Arc::new(approved),
            component,
        })
    }

    /// What the connection approves as of now, whichever flow asks: a grant that was taken away since must not keep a
    /// doubt from being settled.
    pub(super) fn approved_now(&self, live: &LiveStep) -> Option<Arc<Approved>> {
        self.catalog
            .snapshot()
            .connection(&live.connection)?
            .actions
            .get(&live.action)
            .cloned()
    }

    /// How hard a connection may be used; `None`: there is none of this name.
    pub(super) fn limits(&self, connection: &str) -> Option<Limits> {
        self.catalog
            .snapshot()
            .connection(connection)
            .map(|connection| connection.spec.limits)
    }
}
