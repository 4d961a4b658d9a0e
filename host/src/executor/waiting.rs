//! Steps that wait without burning anything (DESIGN section 4).

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
use std::sync::Arc;

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
        let change = Change::of(self.held(live, (plan, &approved), reason, until_ms));
        let why = match reason {
            Wait::ConnectionBlocked => self
                .gate(&approved)
                .credentials(|credentials| credentials.news().map(str::to_owned)),
            Wait::RateLimited | Wait::BreakerOpen | Wait::Paused | Wait::Timer | Wait::Approval | Wait::InOrder => None,
        };
        let change = match why {
            Some(why) => change.with_error(why),
            None => change,
        };
        self.settle(cell, index, change).await.map(|()| true)
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
        let gate = self.gate(terms.1);
        self.block_for(&gate, &terms.1.connection, missing);
        let until_ms = self.clock.now_ms().saturating_add_unsigned(limits::PROBE_EVERY_MS);
        let decide = |live: &LiveStep| {
            let event = self.held(live, terms, Wait::ConnectionBlocked, until_ms);
            Ok(Change::of(event).with_error(missing.to_string()))
        };
        self.settle_by(cell, index, decide).await
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
