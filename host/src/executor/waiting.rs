//! Steps that wait without burning anything (DESIGN section 4), and the connections that make them wait because their
//! secrets cannot be used.

use super::Shared;
use super::begin::plan_of;
use super::live::{LiveStep, RunCell};
use super::settle::{Abandoned, Change};
use super::signing::SigningError;
use crate::catalog::Approved;
use crate::flow::StepPlan;
use oncegate_domain::doubt::Circumstances;
use oncegate_domain::limits;
use oncegate_domain::step::{self, Event, Wait};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The connections that cannot be used now, by name, and why. Every step that waits for one finds that out anew each
/// minute; the operator is told once, and once when it goes on.
#[derive(Default)]
pub struct BlockedConnections(Mutex<HashMap<String, String>>);

impl BlockedConnections {
    /// `true`: that is news.
    fn block(&self, connection: &str, why: &str) -> bool {
        let mut blocked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocked.insert(connection.to_owned(), why.to_owned()).as_deref() != Some(why)
    }

    /// `true`: it was blocked until now.
    fn unblock(&self, connection: &str) -> bool {
        let mut blocked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocked.remove(connection).is_some()
    }
}

impl Shared {
    /// Lets a step wait; `false`: there is nothing that it could wait for.
    pub(super) async fn hold(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        index: usize,
        live: &LiveStep,
        reason: Wait,
        until_ms: i64,
    ) -> Result<bool, Abandoned> {
        let Some((plan, approved)) = plan_of(cell, live).zip(self.approved_for(live).await?) else {
            return Ok(false);
        };
        let event = self.held(live, (plan, &approved), reason, until_ms);
        self.settle(cell, index, Change::of(event)).await.map(|()| true)
    }

    /// Without its secrets the connection is blocked: nothing was sent, nothing is burnt, and all goes on by itself once
    /// they are there.
    pub(super) async fn hold_blocked(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        index: usize,
        terms: (&StepPlan, &Approved),
        missing: &SigningError,
    ) -> Result<(), Abandoned> {
        let (connection, why) = (&terms.1.connection, missing.to_string());
        if self.blocked.block(connection, &why) {
            tracing::error!(
                connection,
                why,
                "the connection cannot be used; its steps wait until it can"
            );
        }
        let until_ms = self.clock.now_ms().saturating_add_unsigned(limits::PROBE_EVERY_MS);
        let decide = |live: &LiveStep| {
            let event = self.held(live, terms, Wait::ConnectionBlocked, until_ms);
            Ok(Change::of(event).with_error(why))
        };
        self.settle_by(cell, index, decide).await
    }

    /// The connection's secrets are there.
    pub(super) fn usable(&self, connection: &str) {
        if self.blocked.unblock(connection) {
            tracing::info!(connection, "the connection can be used again; its steps go on");
        }
    }

    fn held(&self, live: &LiveStep, (plan, approved): (&StepPlan, &Approved), reason: Wait, until_ms: i64) -> Event {
        let now = Circumstances {
            now_ms: self.clock.now_ms(),
            overtaken: false,
            blocked: None,
            jitter: self.jitter(),
        };
        step::hold(&live.standing, reason, until_ms, &approved.terms, &plan.retry, &now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_connection_is_news_once_for_each_reason_and_once_when_it_is_usable() {
        let blocked = BlockedConnections::default();
        assert!(!blocked.unblock("crm"), "it was usable all the time");
        let steps = ["no secret", "no secret", "too short", "too short"].map(|why| blocked.block("crm", why));
        assert_eq!(steps, [true, false, true, false]);
        assert!(blocked.block("mail", "no secret"), "another connection");
        assert_eq!([blocked.unblock("crm"), blocked.unblock("crm")], [true, false]);
        assert!(blocked.block("crm", "no secret"));
    }
}
