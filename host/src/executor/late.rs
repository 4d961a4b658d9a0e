//! What comes back after this host had lost its lease: another owner has the step, and nothing changes by it; but what was seen
//! is appended, and where it proves the effect, whoever has the step completes it instead of asking.

use super::Shared;
use super::attempt::{Verdict, reference};
use super::live::{LiveStep, RunCell};
use super::mission::Mission;
use super::outbound::Sight;
use super::scheduler::find;
use super::settle::{Abandoned, Change};
use crate::ledger::{AttemptId, LateEvidence, LedgerError};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::id::Id;
use oncegate_domain::step::{Event, State};
use std::sync::Arc;

/// Appends what an attempt saw whose end could not be stored any more. Only what was recorded before can have an end.
pub(super) async fn append(mission: &Mission, sight: &Sight, verdict: &Verdict, error: &Abandoned) {
    let live = mission.cell.steps.lock().await[mission.index].clone();
    let is_late = matches!(error, Abandoned::Overtaken(LedgerError::LeaseLost { .. }));
    let has_intent = live.last_number == mission.number;
    if !is_late || !has_intent || sight.write == Evidence::None {
        return;
    }
    let late = LateEvidence {
        run: mission.cell.facts.id,
        attempt: AttemptId {
            step: mission.step,
            number: mission.number,
        },
        epoch: live.epoch,
        evidence: verdict.evidence,
        status: sight.status(),
        outcome: Some(verdict.outcome),
        output: verdict.output.as_deref().cloned(),
        reference: reference(mission, verdict.output.as_deref()),
        at_ms: mission.shared.clock.now_ms(),
    };
    let (step, saw) = (mission.step, verdict.evidence.to_string());
    match mission.shared.ledger.late_evidence(late).await {
        Ok(settled_by) => {
            tracing::info!(%step, saw, "an attempt ended after this host had lost its lease; what it saw is appended");
            if let Some(owner) = settled_by {
                mission.shared.let_look(owner).await;
            }
        }
        Err(error) => tracing::warn!(%step, saw, %error, "what a late attempt saw could not be appended"),
    }
}

impl Shared {
    /// Completes a step that late evidence settles while a person is asked about it; `true`: that was so. Whoever else finds a
    /// step due asks when it begins.
    pub(super) async fn is_settled_in_review(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        step: Id,
    ) -> Result<bool, Abandoned> {
        match find(cell, step).await {
            Some((index, live)) if matches!(live.standing.state, State::NeedsReview { .. }) => {
                self.is_found_late(cell, index, &live).await
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Completes a step of which late evidence proves that the effect exists; `true`: it did. Asked about every step that may
    /// ever have sent something: a person may have said in the meantime that the effect does not exist.
    pub(super) async fn is_found_late(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        index: usize,
        live: &LiveStep,
    ) -> Result<bool, Abandoned> {
        if live.standing.first_intent_ms.is_none() {
            return Ok(false);
        }
        let Some(found) = self.ledger.late_found(live.id).await? else {
            return Ok(false);
        };
        let change = Change {
            output: found.output.map(Arc::new),
            reference: found.reference,
            ..Change::of(Event::LateConfirmation)
        };
        self.settle(cell, index, change).await?;
        tracing::info!(step = %live.id, "what an attempt saw that ended late settles the step: the effect exists");
        Ok(true)
    }
}
