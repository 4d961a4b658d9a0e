//! While the ledger may have forgotten, what is not finished begins in doubt (DESIGN section 8): the rules are the domain's.

use super::Shared;
use super::begin::plan_of;
use super::live::{LiveStep, RunCell};
use super::settle::{Abandoned, Change};
use crate::ledger::{LedgerError, Window};
use oncegate_domain::doubt::{Blocked, Circumstances, Terms};
use oncegate_domain::limits;
use oncegate_domain::retry::Policy;
use oncegate_domain::step::{self, Event, Suspicion};
use std::sync::Arc;

/// What people read at a step that was put in doubt.
const WHY: &str = "the ledger may have forgotten what was done about this step, so it begins in doubt";

impl Shared {
    /// Waits while nobody has said whether the ledger was moved or copied; `false`: the host is going down, begin nothing.
    pub(super) async fn may_begin(&self) -> bool {
        if self.ledger.begins_nothing() {
            let mut news = self.ledger.memory_news();
            tokio::select! {
                // An error: the ledger is gone, and whoever goes on finds out.
                _ = news.wait_for(|memory| !memory.begins_nothing()) => {}
                () = self.stop.cancelled() => {}
            }
        }
        !self.is_stopping()
    }

    /// Puts a step in doubt that may have been sent by a ledger which has forgotten it; `true`: it has changed.
    pub(super) async fn suspect(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        index: usize,
        live: &LiveStep,
    ) -> Result<bool, Abandoned> {
        let Some(event) = self.suspicion_about(cell, live).await? else {
            return Ok(false);
        };
        let change = Change::of(event).with_error(WHY.to_owned());
        self.settle(cell, index, change).await.map(|()| true)
    }

    /// What happens to such a step first; `None`: nothing.
    pub(super) async fn suspicion_about(&self, cell: &RunCell, live: &LiveStep) -> Result<Option<Event>, LedgerError> {
        let Some(window) = self.ledger.reconciles() else {
            return Ok(None);
        };
        if live.standing.is_final() || live.standing.is_suspected_since(window.found_ms) {
            return Ok(None);
        }
        let approved = self.approved_for(live).await?;
        let terms = approved.as_deref().map(|approved| &approved.terms);
        let (connection, flow) = (&live.connection, cell.facts.flow.id);
        let since = self.ledger.saved_since(connection, flow, window.found_ms).await?;
        // The request that is known says itself where it went.
        let place_changed = since.connection && !live.standing.doubts_known_request();
        let now = Circumstances {
            now_ms: self.clock.now_ms(),
            overtaken: false,
            blocked: place_changed.then_some(Blocked::PlaceChanged),
            jitter: self.jitter(),
        };
        let policy = plan_of(cell, live).map_or_else(Policy::default, |plan| plan.retry);
        let suspicion = suspicion(window, terms, !since.flow);
        Ok(step::suspect(&live.standing, &suspicion, terms, &policy, &now))
    }

    /// A forgotten request may have gone elsewhere than the connection leads now; nobody knows.
    pub(super) async fn may_have_gone_elsewhere(&self, cell: &RunCell, live: &LiveStep) -> Result<bool, LedgerError> {
        let standing = &live.standing;
        let Some(found_ms) = standing
            .suspected_ms
            .filter(|_| standing.in_doubt() && !standing.doubts_known_request())
        else {
            return Ok(false);
        };
        let since = self.ledger.saved_since(&live.connection, cell.facts.flow.id, found_ms);
        Ok(since.await?.connection)
    }
}

fn suspicion(window: Window, terms: Option<&Terms>, same_key: bool) -> Suspicion {
    let timeout_ms = terms.map_or(0, |terms| terms.request_timeout_ms);
    Suspicion {
        found_ms: window.found_ms,
        from_ms: window.from_ms,
        over_ms: window
            .until_ms
            .saturating_add_unsigned(limits::SEND_BY_MS_MAX)
            .saturating_add_unsigned(timeout_ms),
        same_key,
    }
}
