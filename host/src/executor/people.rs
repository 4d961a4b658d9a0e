//! What people decide: about a step in review, about a conflicting event, and to cancel a run. Each names the version
//! that the person saw; on change nothing happens (DESIGN section 7).

mod anew;
mod conflict;
mod words;

use super::Shared;
use super::live::{LiveStep, RunCell};
use super::scheduler::Ready;
use super::settle::Consequences;
use crate::ledger::{
    Cancel, ConflictDecision, LedgerError, PersonAction, PersonDecision, ReviewDetail, ReviewSubject, StepWrite,
};
use anew::{anew, unreadable};
use oncegate_domain::doubt::{Terms, Unsettled};
use oncegate_domain::id::Id;
use oncegate_domain::key::Role;
use oncegate_domain::review::{RetryOffer, retry_offer};
use oncegate_domain::run;
use oncegate_domain::step::{self, Decision, Event, IllegalTransition, Review, State, Step};
use serde_json::Value;
use std::sync::Arc;
use words::{check_reason, check_words};

/// What a person decided about a review item.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The item.
    pub item: Id,
    /// The version of it that they saw.
    pub version: i64,
    /// Who.
    pub who: String,
    /// Why, in their words.
    pub why: String,
    /// What.
    pub what: Verb,
}

/// What can be done about a review item.
#[derive(Clone, Debug)]
pub enum Verb {
    /// Try again. Where the effect may exist the destination is asked first, or the person states that they checked.
    Retry {
        /// They checked: it does not exist.
        stated_absent: bool,
    },
    /// It exists.
    Resolve {
        /// Where to find it at the destination.
        reference: Option<String>,
        /// What later steps read.
        output: Option<Value>,
    },
    /// It must not happen.
    Discard,
    /// A conflicting event is the same event.
    Ignore,
    /// A conflicting event is another event: run it.
    Run,
}

/// Why a decision was not carried out. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// There is no such item or run.
    #[error("there is no {0}; list them again")]
    NotFound(String),
    /// It does not fit what the item is about.
    #[error("{0}")]
    NotPossible(String),
    /// The effect may exist, and the host cannot ask.
    #[error(
        "the effect may exist at the destination, and the host cannot ask: check there first. If it is there, resolve \
         with its reference; if it is not, retry and state that you checked, with a reason"
    )]
    NeedsStatement,
    /// A reason is missing.
    #[error("say why: it is kept with the record")]
    NeedsReason,
    /// Something that a person wrote is longer than what is kept.
    #[error("the {what} has {bytes} bytes; at most {bytes_max} are kept, so shorten it")]
    TooLong {
        /// Which of their words.
        what: &'static str,
        /// Its length, as JSON where it is any.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The step cannot take this where it stands now.
    #[error("{0}; look at it again")]
    Illegal(#[from] IllegalTransition),
    /// The ledger says no, or changed in the meantime.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
}

impl Shared {
    /// Carries out a person's decision about a review item.
    pub async fn decide(self: &Arc<Self>, decided: Decided) -> Result<(), DecisionError> {
        check_words(&decided)?;
        let detail = self.ledger.review_show(decided.item).await?;
        let detail = detail.ok_or_else(|| DecisionError::NotFound(format!("review item {}", decided.item)))?;
        match (detail.item.subject.clone(), &decided.what) {
            (ReviewSubject::Step { step, .. }, Verb::Retry { .. } | Verb::Resolve { .. } | Verb::Discard) => {
                anew(|| self.decide_step(&detail, step, decided.clone())).await
            }
            (ReviewSubject::Conflict { .. }, Verb::Ignore | Verb::Run) => self.decide_conflict(&detail, decided).await,
            (ReviewSubject::Step { .. }, Verb::Ignore | Verb::Run) => {
                let why = "this item is a step: retry, resolve or discard it";
                Err(DecisionError::NotPossible(why.to_owned()))
            }
            (ReviewSubject::Conflict { .. }, Verb::Retry { .. } | Verb::Resolve { .. } | Verb::Discard) => {
                let why = "this item is a conflicting event: ignore it (the same event) or run it (another event)";
                Err(DecisionError::NotPossible(why.to_owned()))
            }
        }
    }

    async fn decide_step(
        self: &Arc<Self>,
        detail: &ReviewDetail,
        step: Id,
        decided: Decided,
    ) -> Result<(), DecisionError> {
        let run = detail.run.run.id;
        let cell = self.cell(run).await.map_err(unreadable)?;
        let cell = cell.ok_or_else(|| DecisionError::NotFound(format!("run {run}")))?;
        let mut steps = cell.steps.lock().await;
        let index = steps.iter().position(|live| live.id == step);
        let index = index.ok_or_else(|| DecisionError::NotFound(format!("step {step}")))?;
        let at_ms = self.clock.now_ms();
        let live = &steps[index];
        self.check_nothing_was_found(live, &decided.what).await?;
        let approved = self.approved_for(live).await?;
        let terms = approved.as_ref().map(|approved| &approved.terms);
        if let Verb::Resolve { output, .. } = &decided.what {
            check_output(&cell, &steps, index, output.as_ref())?;
        }
        let (action, decision, output, reference) = what_it_means(live, &decided, terms, at_ms)?;
        let output = output.map(Arc::new);
        let after = step::apply(&live.standing, &Event::Decide(decision))?;
        let mut consequences = Consequences::of(&cell, &steps, index, &after, at_ms)?;
        let write = StepWrite {
            due_ms: after.due_ms(),
            output: output.clone(),
            reference,
            ..StepWrite::new(step, live.version, after.clone())
        };
        let owner = self
            .ledger
            .decide(PersonDecision {
                item: decided.item,
                version: decided.version,
                who: decided.who,
                why: decided.why,
                action,
                stated_absent: matches!(
                    decision,
                    Decision::Retry {
                        stated_absent: true,
                        ..
                    }
                ),
                at_ms,
                step: write,
                others: consequences.others.iter().map(|(_, write)| write.clone()).collect(),
                run_state: Some(consequences.run_state),
                run_version: cell.version(),
            })
            .await
            .inspect_err(|_| self.live.forget(&cell))?;
        for live in steps.iter_mut() {
            live.epoch = owner;
        }
        let live = &mut steps[index];
        live.standing = after;
        live.version += 1;
        live.output = output.or(live.output.take());
        let mut ready = consequences.take_over(&mut steps);
        ready.push((step, steps[index].connection.clone()));
        drop(steps);
        self.after_decision(&cell, owner, consequences.run_state, &ready);
        Ok(())
    }

    /// What proves the effect may have come a moment ago: the host is about to complete the step, and whoever says that the effect
    /// does not exist, or must not, has not seen it. Whatever comes after this look changes the item, and the decision is stale.
    async fn check_nothing_was_found(&self, live: &LiveStep, what: &Verb) -> Result<(), DecisionError> {
        let denies = matches!(what, Verb::Retry { .. } | Verb::Discard);
        if denies && self.ledger.late_found(live.id).await?.is_some() {
            let why =
                "an answer that came late proves that the effect exists; the host completes the step, look at it again";
            return Err(DecisionError::NotPossible(why.to_owned()));
        }
        Ok(())
    }

    /// A run of another host that lives goes on there.
    fn after_decision(self: &Arc<Self>, cell: &Arc<RunCell>, owner: i64, state: run::State, ready: &[Ready]) {
        match owner == self.ledger.epoch() {
            true => self.after_commit(cell, state, ready),
            false => {
                self.after_commit(cell, state, &[]);
                self.tell_work(owner);
            }
        }
    }

    async fn decide_conflict(self: &Arc<Self>, detail: &ReviewDetail, decided: Decided) -> Result<(), DecisionError> {
        let at_ms = self.clock.now_ms();
        if decided.why.trim().is_empty() {
            return Err(DecisionError::NeedsReason);
        }
        let run = match decided.what {
            Verb::Run => Some(self.conflict_run(detail).await?),
            Verb::Ignore | Verb::Retry { .. } | Verb::Resolve { .. } | Verb::Discard => None,
        };
        let decision = ConflictDecision {
            item: decided.item,
            version: decided.version,
            who: decided.who,
            why: decided.why,
            at_ms,
            run,
        };
        if let Some(run) = self.ledger.decide_conflict(decision).await? {
            let cell = self.cell(run).await.map_err(unreadable)?;
            if let Some(cell) = cell {
                let ready = |live: &LiveStep| (live.id, live.connection.clone());
                let ready: Vec<Ready> = cell.steps.lock().await.iter().map(ready).collect();
                ready.iter().for_each(|step| self.offer(&cell, step, None));
            }
        }
        Ok(())
    }

    /// Cancels what has not been sent. A step in doubt is settled first, never resent.
    pub async fn cancel(self: &Arc<Self>, run: Id, who: String, why: String) -> Result<(), DecisionError> {
        anew(|| self.cancel_once(run, who.clone(), why.clone())).await
    }

    async fn cancel_once(self: &Arc<Self>, run: Id, who: String, why: String) -> Result<(), DecisionError> {
        check_reason(&why)?;
        if why.trim().is_empty() {
            return Err(DecisionError::NeedsReason);
        }
        let nothing_left = || DecisionError::NotPossible(format!("nothing of run {run} is left to cancel"));
        let stored = self.ledger.run_result(run).await?;
        // An erased one is over, and cannot be read any more.
        if stored.is_some_and(|result| result.erased_ms.is_some()) {
            return Err(nothing_left());
        }
        let cell = self.cell(run).await.map_err(unreadable)?;
        let cell = cell.ok_or_else(|| DecisionError::NotFound(format!("run {run}")))?;
        let at_ms = self.clock.now_ms();
        let mut steps = cell.steps.lock().await;
        let cancelled = self.cancelled(&cell, &steps, at_ms).await?;
        if cancelled.is_empty() {
            return Err(nothing_left());
        }
        let consequences = Consequences::of_many(&cell, &steps, &cancelled, at_ms)?;
        let writes = cancelled.iter().map(|(index, after)| StepWrite {
            due_ms: after.due_ms(),
            ..StepWrite::new(steps[*index].id, steps[*index].version, after.clone())
        });
        let cancel = Cancel {
            run,
            who,
            why,
            at_ms,
            steps: writes.collect(),
            run_state: consequences.run_state,
            run_version: cell.version(),
        };
        let owner = self
            .ledger
            .cancel(cancel)
            .await
            .inspect_err(|_| self.live.forget(&cell))?;
        let mut ready = Vec::new();
        for (index, after) in cancelled {
            ready.extend(
                after
                    .due_ms()
                    .map(|_| (steps[index].id, steps[index].connection.clone())),
            );
            steps[index].standing = after;
            steps[index].version += 1;
        }
        for live in steps.iter_mut() {
            live.epoch = owner;
        }
        drop(steps);
        self.after_decision(&cell, owner, consequences.run_state, &ready);
        Ok(())
    }

    /// How those steps stand afterwards that can be cancelled, each with its place.
    async fn cancelled(
        &self,
        cell: &RunCell,
        steps: &[LiveStep],
        at_ms: i64,
    ) -> Result<Vec<(usize, Step)>, DecisionError> {
        let mut cancelled = Vec::new();
        for (index, live) in steps.iter().enumerate().filter(|(_, live)| !live.standing.is_final()) {
            // What may have been sent is settled first.
            let standing = match self.suspicion_about(cell, live).await? {
                Some(event) => step::apply(&live.standing, &event)?,
                None => live.standing.clone(),
            };
            let after = step::apply(&standing, &Event::Cancel { at_ms });
            cancelled.extend(after.ok().map(|after| (index, after)));
        }
        Ok(cancelled)
    }
}

/// What later steps read must be there; else they would only come to a person next. Whether it is all that the connector
/// would have given does not matter: a person says what is needed.
fn check_output(cell: &RunCell, steps: &[LiveStep], index: usize, output: Option<&Value>) -> Result<(), DecisionError> {
    let open = |place: usize| steps.get(place).is_some_and(|step| !step.standing.is_final());
    let mut plans = cell.facts.flow.flow.steps().iter().enumerate();
    let own = steps[index].role == Role::Do && output.is_none();
    match plans.find(|(place, plan)| own && open(*place) && plan.reads.contains(&index)) {
        None => Ok(()),
        Some((_, plan)) => Err(DecisionError::NotPossible(format!(
            "the step {} reads what this one gives; say it with --output, as JSON, such as '{{\"id\": \"4711\"}}'",
            plan.id
        ))),
    }
}

/// A decision about a step, taken apart.
#[allow(
    clippy::type_complexity,
    reason = "the four parts are taken apart at once by the one caller"
)]
fn what_it_means(
    live: &LiveStep,
    decided: &Decided,
    terms: Option<&Terms>,
    at_ms: i64,
) -> Result<(PersonAction, Decision, Option<Value>, Option<String>), DecisionError> {
    let reasonless = decided.why.trim().is_empty();
    let State::NeedsReview { reason } = live.standing.state else {
        let why = format!(
            "the step is {} by now: somebody else decided first, or it was settled meanwhile; nothing was done",
            live.standing.state.as_str()
        );
        return Err(DecisionError::NotPossible(why));
    };
    match &decided.what {
        Verb::Retry { .. } if reason == Review::Doubt(Unsettled::Cancelled) => {
            let why = "the run was cancelled, so the step is not sent again; resolve it where the effect exists, \
                       discard it where it does not";
            Err(DecisionError::NotPossible(why.to_owned()))
        }
        Verb::Retry { stated_absent } => {
            check_retry(live, terms, *stated_absent, &decided.why)?;
            let retry = Decision::Retry {
                at_ms,
                stated_absent: *stated_absent,
            };
            Ok((PersonAction::Retry, retry, None, None))
        }
        Verb::Resolve { .. } | Verb::Discard if reasonless => Err(DecisionError::NeedsReason),
        Verb::Resolve { reference, output } => Ok((
            PersonAction::Resolve,
            Decision::Resolve,
            output.clone(),
            reference.clone(),
        )),
        Verb::Discard => Ok((PersonAction::Discard, Decision::Discard, None, None)),
        Verb::Ignore | Verb::Run => Err(DecisionError::NotPossible("this item is a step".to_owned())),
    }
}

fn check_retry(live: &LiveStep, terms: Option<&Terms>, stated_absent: bool, why: &str) -> Result<(), DecisionError> {
    if stated_absent && why.trim().is_empty() {
        return Err(DecisionError::NeedsReason);
    }
    let offer = match terms {
        Some(terms) => retry_offer(&live.standing, terms),
        // Without the connection nobody can ask.
        None => live.standing.in_doubt().then_some(RetryOffer::NeedsStatement),
    };
    match offer {
        Some(RetryOffer::NeedsStatement) if !stated_absent => Err(DecisionError::NeedsStatement),
        Some(RetryOffer::OneClick | RetryOffer::LooksUpFirst | RetryOffer::NeedsStatement) | None => Ok(()),
    }
}
