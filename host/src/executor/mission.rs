//! One call of a connector, prepared: everything that is fixed before the guest starts.

use super::Shared;
use super::live::RunCell;
use super::signing::Signing;
use super::tape::Tape;
use crate::catalog::{Approved, RequestKind};
use crate::egress::{ExchangeLimits, Reuse};
use crate::ledger::{AttemptKind, Place, StoredIntent};
use crate::runtime::{Call, Component};
use oncegate_domain::doubt::Dedup;
use oncegate_domain::id::Id;
use oncegate_domain::retry::Policy;
use std::sync::Arc;

/// What one call is about.
pub struct Mission {
    /// The host.
    pub shared: Arc<Shared>,
    /// The run.
    pub cell: Arc<RunCell>,
    /// Which step of the run.
    pub index: usize,
    /// The step.
    pub step: Id,
    /// The step's name in the flow.
    pub name: String,
    /// What the operator approved for this action.
    pub approved: Arc<Approved>,
    /// The connector.
    pub component: Component,
    /// How patiently the step is tried.
    pub policy: Policy,
    /// The attempt's number.
    pub number: u32,
    /// Perform, resend or lookup.
    pub kind: AttemptKind,
    /// The step key.
    pub key: String,
    /// The input, as JSON text.
    pub input: String,
    /// HMAC of the natural key's fields, where the action has one.
    pub natural_key: Option<[u8; 32]>,
    /// The intent that a resend must repeat and a lookup asks for.
    pub recorded: Option<StoredIntent>,
    /// The connection's credentials, and what masks them.
    pub signing: Signing,
    /// It finds out for all others whether the destination is back; that costs the step nothing.
    pub probe: bool,
    /// Keeps the requests of a call made by hand.
    pub tape: Option<Arc<Tape>>,
    /// When it began.
    pub started_ms: i64,
}

impl Mission {
    /// What the guest is given. The same for every attempt of the step.
    pub fn call(&self) -> Call {
        Call {
            action: self.approved.action.clone(),
            input: self.input.clone(),
            key: self.key.clone(),
            settings: self.approved.settings.to_string(),
        }
    }

    /// Where this goes, as the ledger keeps it.
    pub fn place(&self, origin: &str) -> Place {
        Place {
            connector_digest: self.component.digest().to_owned(),
            connection: self.approved.connection.clone(),
            connection_revision: self.approved.connection_revision,
            origin: origin.to_owned(),
            account: self.approved.account.clone(),
        }
    }
}

impl Mission {
    /// Which connections may be used again. Where nothing could settle a doubt, only one that was in use a moment ago:
    /// it is hardly ever one that the destination is closing right now.
    pub fn reuse(&self, kind: RequestKind) -> Reuse<'_> {
        let terms = &self.approved.terms;
        let settles = terms.lookup_after_ms.is_some() || terms.dedup != Dedup::None;
        match kind {
            RequestKind::Read => Reuse::Pool(&self.approved.connection),
            RequestKind::Write if settles => Reuse::Pool(&self.approved.connection),
            RequestKind::Write => Reuse::PoolJustUsed(&self.approved.connection),
        }
    }

    /// What one exchange may cost.
    pub fn exchange_limits(&self) -> ExchangeLimits {
        ExchangeLimits {
            timeout_ms: self.approved.terms.request_timeout_ms,
            ..ExchangeLimits::default()
        }
    }
}
