//! The end of a change: the step's new standing and all that follows from it, in one commit.

use super::live::{LiveStep, RunCell, outputs};
use super::scheduler::Ready;
use super::{Shared, journal, succession};
use crate::flow::ReviewView;
use crate::ledger::{self, Finish, LedgerError, NewStep, StepWrite};
use oncegate_domain::key::Role;
use oncegate_domain::run;
use oncegate_domain::step::{self, Event, IllegalTransition, State, Step};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::MutexGuard;

/// What changes about a step.
#[derive(Clone)]
pub struct Change {
    /// What happens to it, in order.
    pub events: Vec<Event>,
    /// The attempt that ended with it.
    pub attempt: Option<ledger::AttemptEnd>,
    /// What went wrong, for people.
    pub last_error: Option<String>,
    /// What later steps read.
    pub output: Option<Arc<Value>>,
    /// What a person would search for at the destination.
    pub reference: Option<String>,
    /// The input, once rendered.
    pub input: Option<String>,
}

impl Change {
    /// A change without an attempt.
    pub fn of(event: Event) -> Self {
        Self {
            events: vec![event],
            attempt: None,
            last_error: None,
            output: None,
            reference: None,
            input: None,
        }
    }

    /// With what went wrong, for people.
    pub fn with_error(self, why: String) -> Self {
        Self {
            last_error: Some(why),
            ..self
        }
    }
}

/// Why work on a step was given up. Nothing is lost: the ledger knows where the step stands.
#[derive(Debug, thiserror::Error)]
pub enum Abandoned {
    /// Somebody else changed the step first (a person, a cancel, another owner). Harmless.
    #[error("{0}")]
    Overtaken(LedgerError),
    /// What should have happened to the step cannot happen where it stands. Harmless after a cancel.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The ledger does not answer.
    #[error("{0}")]
    Ledger(LedgerError),
}

impl Abandoned {
    /// That somebody else has a run is no error of whoever goes through many.
    pub(super) fn unless_overtaken(self) -> Result<(), Abandoned> {
        match self {
            Abandoned::Overtaken(_) => Ok(()),
            Abandoned::Illegal(_) | Abandoned::Ledger(_) => Err(self),
        }
    }
}

impl From<LedgerError> for Abandoned {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::LeaseLost { .. } | LedgerError::Stale { .. } | LedgerError::NotFound { .. } => {
                Self::Overtaken(error)
            }
            error => Self::Ledger(error),
        }
    }
}

/// How often a change is decided about a step that others keep changing.
pub(super) const DECIDED_ANEW_MAX: u32 = 5;
/// How long to wait before an outcome that could not be stored is offered to the ledger again.
const STORE_AGAIN_MS: i64 = 500;

impl Shared {
    /// Applies a change to step `index` of a run, with everything that follows from it, in one commit.
    pub async fn settle(self: &Arc<Self>, cell: &Arc<RunCell>, index: usize, change: Change) -> Result<(), Abandoned> {
        self.settle_by(cell, index, |_| Ok(change.clone())).await
    }

    /// The same, where the change depends on the step as it stands: decided under the lock, so that a cancel which comes
    /// in between cannot make a decision illegal and an outcome homeless. A person may have changed it at another host: then
    /// it is decided anew.
    pub async fn settle_by(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        index: usize,
        decide: impl Fn(&LiveStep) -> Result<Change, IllegalTransition>,
    ) -> Result<(), Abandoned> {
        let mut steps = cell.steps.lock().await;
        for _ in 1..DECIDED_ANEW_MAX {
            match self.try_settle(cell, &mut steps, index, &decide).await {
                Err(Abandoned::Overtaken(LedgerError::Stale { .. })) => self.read_anew(cell, &mut steps).await?,
                settled => return self.settled(cell, steps, settled?),
            }
        }
        let settled = self.try_settle(cell, &mut steps, index, &decide).await?;
        self.settled(cell, steps, settled)
    }

    fn settled(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        steps: MutexGuard<'_, Vec<LiveStep>>,
        Settled { run_state, ready }: Settled,
    ) -> Result<(), Abandoned> {
        drop(steps);
        journal::run(cell, run_state);
        self.after_commit(cell, run_state, &ready);
        Ok(())
    }

    async fn try_settle(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        steps: &mut Vec<LiveStep>,
        index: usize,
        decide: &impl Fn(&LiveStep) -> Result<Change, IllegalTransition>,
    ) -> Result<Settled, Abandoned> {
        let change = decide(&steps[index])?;
        let mut after = steps[index].standing.clone();
        for event in &change.events {
            after = step::apply(&after, event)?;
        }
        let at_ms = self.clock.now_ms();
        let mut consequences = Consequences::of(cell, steps, index, &after, at_ms)?;
        let finish = Arc::new(Finish {
            run: cell.facts.id,
            run_state: Some(consequences.run_state),
            run_version: cell.version(),
            epoch: steps[index].epoch,
            at_ms,
            step: StepWrite {
                due_ms: after.due_ms(),
                last_error: change.last_error.clone(),
                output: change.output.clone(),
                reference: change.reference,
                input: change.input.clone(),
                ..StepWrite::new(steps[index].id, steps[index].version, after.clone())
            },
            attempt: change.attempt.clone(),
            others: consequences.others.iter().map(|(_, write)| write.clone()).collect(),
            notify: self.notices(cell, steps, index, &after, change.last_error.as_deref()),
        });
        let finished = self.store(cell, &finish).await?;
        cell.is_at(finish.run_version + 1);

        let live = &mut steps[index];
        live.standing = after;
        live.version += 1;
        live.last_number = change.attempt.map_or(live.last_number, |attempt| attempt.number);
        live.input = change.input.or(live.input.take());
        live.output = change.output.or(live.output.take());
        live.last_error = change.last_error.or(live.last_error.take());
        let mut ready = consequences.take_over(steps);
        for (id, new) in finished.notify.into_iter().zip(&finish.notify) {
            ready.push((id, new.connection.clone()));
            steps.push(LiveStep::from_new(id, finish.epoch, new.clone()));
        }
        Ok(Settled {
            run_state: consequences.run_state,
            ready,
        })
    }

    /// Stores an outcome, however long that takes: the effect may have happened, and only what is stored is remembered.
    /// Should the host end before it is, the intent says *may have been sent*, and recovery asks.
    async fn store(&self, cell: &RunCell, finish: &Arc<Finish>) -> Result<ledger::Finished, Abandoned> {
        loop {
            match self.ledger.finish(Arc::clone(finish)).await {
                Ok(finished) => return Ok(finished),
                Err(error) if error.is_passing() && !self.is_stopping() => {
                    tracing::error!(run = %cell.facts.id, %error, "an outcome waits to be stored");
                    self.clock.sleep_until(self.clock.now_ms() + STORE_AGAIN_MS).await;
                }
                // Whoever offered it reads the step anew, and decides again.
                Err(error @ LedgerError::Stale { .. }) => return Err(error.into()),
                Err(error) => {
                    self.live.forget(cell);
                    return Err(error.into());
                }
            }
        }
    }

    /// The steps that tell people about a review that opens now. A notice that fails raises no other.
    fn notices(
        &self,
        cell: &RunCell,
        steps: &[LiveStep],
        index: usize,
        after: &Step,
        last_error: Option<&str>,
    ) -> Vec<NewStep> {
        let live = &steps[index];
        let flow = &cell.facts.flow.flow;
        let State::NeedsReview { reason } = after.state else {
            return Vec::new();
        };
        if live.role == Role::Notify || matches!(live.standing.state, State::NeedsReview { .. }) {
            return Vec::new();
        }
        let run = cell.facts.id.to_string();
        let why = reason.to_string();
        let summary = journal::review_summary(cell, live, &why, last_error);
        let review = ReviewView {
            summary: &summary,
            run: &run,
            reason: &why,
        };
        let outputs = outputs(steps, flow.steps().len());
        let opened = steps
            .iter()
            .filter(|other| other.role == Role::Notify && other.item.starts_with(&live.name))
            .count();
        let item = format!("{}#{}", live.name, opened / flow.notify().len().max(1) + 1);
        let at_ms = self.clock.now_ms();
        let mut notices = Vec::new();
        for (place, plan) in flow.notify().iter().enumerate() {
            let input = cell
                .facts
                .with_scope(&outputs, |scope| flow.render_review_notify(place, scope, &review));
            match (input, step::apply(&Step::new(), &Event::Ready { at_ms })) {
                (Ok(input), Ok(state)) => notices.push(NewStep {
                    ordinal: u32::try_from(steps.len() + notices.len()).unwrap_or(u32::MAX),
                    step_id: plan.id.clone(),
                    role: Role::Notify,
                    item: item.clone(),
                    connection: plan.connection.clone(),
                    action: plan.action.clone(),
                    due_ms: state.due_ms(),
                    state,
                    input: Some(input.to_string()),
                }),
                (Err(error), _) => tracing::warn!(flow = flow.name(), %error, "a review notice could not be written"),
                (Ok(_), Err(error)) => tracing::error!(%error, "a review notice could not be begun"),
            }
        }
        notices
    }
}

/// What a change that is stored has led to.
struct Settled {
    run_state: run::State,
    ready: Vec<Ready>,
}

/// What a new standing of one step means for the steps behind it and for the run.
pub(super) struct Consequences {
    /// Steps that become ready or are skipped, by their place.
    pub others: Vec<(usize, StepWrite)>,
    /// The run's state.
    pub run_state: run::State,
}

impl Consequences {
    pub(super) fn of(
        cell: &RunCell,
        steps: &[LiveStep],
        index: usize,
        after: &Step,
        at_ms: i64,
    ) -> Result<Self, IllegalTransition> {
        Self::of_many(cell, steps, &[(index, after.clone())], at_ms)
    }

    pub(super) fn of_many(
        cell: &RunCell,
        steps: &[LiveStep],
        changed: &[(usize, Step)],
        at_ms: i64,
    ) -> Result<Self, IllegalTransition> {
        let mut standings: Vec<Step> = steps.iter().map(|live| live.standing.clone()).collect();
        for (index, after) in changed {
            standings[*index] = after.clone();
        }
        let plans = cell.facts.flow.flow.steps();
        let own = plans.len().min(steps.len());
        let after: Vec<Vec<usize>> = plans.iter().take(own).map(|plan| plan.after.clone()).collect();
        let states: Vec<State> = standings.iter().map(|standing| standing.state).collect();
        let begun: Vec<bool> = standings.iter().map(|standing| standing.ready_ms.is_some()).collect();
        let mut others = Vec::new();
        for (place, event) in succession::follow(&states[..own], &begun[..own], &after, at_ms) {
            standings[place] = step::apply(&standings[place], &event)?;
            let (live, standing) = (&steps[place], standings[place].clone());
            let write = StepWrite {
                due_ms: standing.due_ms(),
                ..StepWrite::new(live.id, live.version, standing)
            };
            others.push((place, write));
        }
        let states: Vec<State> = standings.iter().map(|standing| standing.state).collect();
        Ok(Self {
            others,
            run_state: run::state(&states),
        })
    }

    /// Carries the changes of the other steps into memory, once they are stored; the steps that are ready now.
    pub(super) fn take_over(&mut self, steps: &mut [LiveStep]) -> Vec<Ready> {
        let mut ready = Vec::new();
        for (place, write) in self.others.drain(..) {
            let live = &mut steps[place];
            if write.due_ms.is_some() {
                ready.push((live.id, live.connection.clone()));
            }
            live.standing = write.after;
            live.version += 1;
        }
        ready
    }
}

/// Whether a person or a finished run should hear of this state at once.
pub(super) fn is_news(state: run::State) -> bool {
    match state {
        run::State::Completed | run::State::Failed | run::State::NeedsReview | run::State::Cancelled => true,
        run::State::Pending
        | run::State::Processing
        | run::State::Retrying
        | run::State::Waiting
        | run::State::Cancelling => false,
    }
}
