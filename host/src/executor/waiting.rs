//! Steps that wait without burning anything (DESIGN section 4).

use super::Shared;
use super::begin::plan_of;
use super::live::{LiveStep, RunCell};
use super::scheduler::find;
use super::settle::{Abandoned, Change};
use super::signing::SigningError;
use crate::catalog::Approved;
use crate::flow::StepPlan;
use crate::ledger::{DueStep, PAGE_ITEMS_MAX};
use oncegate_domain::doubt::Circumstances;
use oncegate_domain::id::Id;
use oncegate_domain::limits;
use oncegate_domain::step::{self, Event, IllegalTransition, State, Wait};
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

    /// The operator changed something. Who waits for a connection that was paused, or found to be blocked or away, and may be
    /// looked at now, is looked at now, and not when the minute is over. Page by page, for as long as nobody finds that it is as before.
    pub(super) async fn call_back(self: Arc<Self>, connection: String) {
        let mut after = None;
        while self.gate_of(&connection).is_some_and(|gate| !gate.is_closed()) {
            match self.call_back_page(&connection, after).await {
                Ok(Some(last)) if !self.is_stopping() => after = Some(last),
                Ok(Some(_) | None) => return,
                Err(error) => {
                    // They come by themselves, up to a minute later.
                    tracing::warn!(connection, %error, "steps that wait for the connection could not be called back");
                    return;
                }
            }
        }
    }

    /// The last of the page; `None`: there is no other.
    async fn call_back_page(
        self: &Arc<Self>,
        connection: &str,
        after: Option<DueStep>,
    ) -> Result<Option<DueStep>, Abandoned> {
        let now_ms = self.clock.now_ms();
        let after = after.map(|last| last.cursor());
        let page = self.ledger.waiting_steps(connection, now_ms, after).await?;
        let mut owned = page.clone();
        self.own(&mut owned).await?;
        let runs: Vec<Id> = owned.iter().map(|due| due.run).collect();
        let cells = self.readable_cells(&runs).await?;
        for due in &owned {
            let Some(cell) = cells.get(&due.run) else {
                continue;
            };
            match self.wait_no_longer(cell, *due).await {
                // It goes on already.
                Ok(()) | Err(Abandoned::Overtaken(_) | Abandoned::Illegal(_)) => {}
                Err(error @ Abandoned::Ledger(_)) => return Err(error),
            }
        }
        self.seats.room(connection).leave(now_ms);
        Ok(page.last().copied().filter(|_| page.len() == PAGE_ITEMS_MAX as usize))
    }

    async fn wait_no_longer(self: &Arc<Self>, cell: &Arc<RunCell>, due: DueStep) -> Result<(), Abandoned> {
        let Some((index, live)) = find(cell, due.id).await else {
            return Ok(());
        };
        if self.suspect(cell, index, &live).await? {
            return Ok(());
        }
        let Some((plan, approved)) = plan_of(cell, &live).zip(self.approved_for(&live).await?) else {
            return Ok(());
        };
        let decide = |live: &LiveStep| match live.standing.state {
            State::Waiting {
                reason: reason @ (Wait::ConnectionBlocked | Wait::BreakerOpen | Wait::Paused),
                ..
            } => Ok(Change::of(self.held(
                live,
                (plan, &approved),
                reason,
                self.clock.now_ms(),
            ))),
            state => Err(IllegalTransition {
                state: state.as_str(),
                event: "hold",
                why: "it does not wait for its connection any more",
            }),
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
        // Of one that is being cancelled the ledger does not say what it waits for, and so nobody can call it back: it looks
        // by itself.
        let until_ms = match matches!(live.standing.state, State::Cancelling { .. }) {
            true => until_ms.min(now.now_ms.saturating_add_unsigned(limits::PROBE_EVERY_MS)),
            false => until_ms,
        };
        step::hold(&live.standing, reason, until_ms, &approved.terms, &plan.retry, &now)
    }
}
