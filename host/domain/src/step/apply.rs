//! The only place where a step changes. It takes no decision, but it refuses those that break an invariant, so that a
//! mistake above, a stale owner or a corrupt row is an error and not a second effect.

mod absorb;
mod person;

pub(super) use absorb::{absorb_attempt, absorb_lookup, absorb_suspicion, absorb_verdict};

use crate::doubt::{Doubt, Finding, Unsettled};
use crate::outcome::{Outcome, Proof};
use crate::step::{Event, Next, OpenIntent, Retry, Review, Skip, State, Step, Suspicion, Wait};

/// An event that cannot happen to a step that stands where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a step that is {state} cannot take `{event}`: {why}")]
pub struct IllegalTransition {
    /// Where the step stands.
    pub state: &'static str,
    /// What should have happened to it.
    pub event: &'static str,
    /// Which rule forbids it.
    pub why: &'static str,
}

/// Carries out `event`, or says why it cannot happen. Pure: recovery replays through it.
///
/// # Errors
/// [`IllegalTransition`] where the event does not fit the state, or what should follow breaks a rule of doubt.
pub fn apply(step: &Step, event: &Event) -> Result<Step, IllegalTransition> {
    carry_out(step, event).map_err(|why| IllegalTransition {
        state: step.state.as_str(),
        event: event.as_str(),
        why,
    })
}

type Carried = Result<Step, &'static str>;

fn carry_out(step: &Step, event: &Event) -> Carried {
    if step.is_final() {
        return Err("it is final");
    }
    match *event {
        Event::Ready { at_ms } => ready(step, at_ms),
        Event::Skip(reason) => skip(step, reason),
        Event::Begin => begin(step),
        Event::Intend { at_ms, over_ms } => intend(step, at_ms, over_ms),
        Event::Attempted {
            at_ms,
            outcome,
            evidence,
            counted,
            over_ms,
            next,
        } => {
            under_way(step)?;
            follow(
                absorb_attempt(step, at_ms, outcome, evidence, counted, over_ms),
                next,
                completes(outcome),
            )
        }
        Event::LookedUp {
            at_ms,
            finding,
            counted,
            absent_proof,
            next,
        } => {
            under_way(step)?;
            if step.open_intent.is_some() || step.doubt.is_none() {
                return Err("only a step in doubt is looked up, after its attempt has ended");
            }
            follow(
                absorb_lookup(step, at_ms, finding, counted, absent_proof),
                next,
                finding == Finding::Found,
            )
        }
        Event::Hold { at_ms, next } => held(step, at_ms, next),
        Event::Weighed { at_ms, counted, next } => weighed(step, at_ms, counted, next),
        Event::Suspect { suspicion, next } => suspected(step, &suspicion, next),
        Event::LateConfirmation => person::confirm_late(step),
        Event::Cancel { at_ms } => person::cancel(step, at_ms),
        Event::Decide(decision) => person::decide(step, decision),
    }
}

fn ready(step: &Step, at_ms: i64) -> Carried {
    if step.state != State::Pending || step.ready_ms.is_some() {
        return Err("it has been made ready before");
    }
    Ok(Step {
        ready_ms: Some(at_ms),
        ..step.clone()
    })
}

fn skip(step: &Step, reason: Skip) -> Carried {
    let begun = step.attempts > 0 || step.first_intent_ms.is_some();
    match step.state {
        State::Pending | State::Processing | State::Waiting { .. } | State::Retrying { .. } if !begun => Ok(Step {
            state: State::Skipped { reason },
            ..step.clone()
        }),
        State::Pending | State::Processing | State::Waiting { .. } | State::Retrying { .. } => {
            Err("it has been tried: only a step that never began is skipped")
        }
        State::NeedsReview { .. }
        | State::Cancelling { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelled => Err("a person has it in hand"),
    }
}

fn begin(step: &Step) -> Carried {
    match step.state {
        State::Pending if step.ready_ms.is_none() => Err("a step that it waits for is not done"),
        State::Pending | State::Retrying { .. } | State::Waiting { .. } => Ok(Step {
            state: State::Processing,
            ..step.clone()
        }),
        // It stays `cancelling` while it is looked up: the wish must survive a crash.
        State::Cancelling { .. } if step.doubt.is_some() && step.open_intent.is_none() => Ok(step.clone()),
        State::Cancelling { .. } => Err("its attempt has not ended"),
        State::Processing => Err("it is under way already"),
        State::NeedsReview { .. } | State::Completed | State::Failed | State::Skipped { .. } | State::Cancelled => {
            Err("only a person can start it again")
        }
    }
}

fn intend(step: &Step, at_ms: i64, over_ms: i64) -> Carried {
    if step.state != State::Processing {
        // This is how a cancel stops an attempt that has not sent yet.
        return Err("only a step under way may send");
    }
    if step.open_intent.is_some() {
        return Err("one mutating request per attempt");
    }
    let mut after = step.clone();
    if let Some(doubt) = &step.doubt {
        if step.resend_spent {
            return Err("it is in doubt and has been resent once: it is looked up, never sent again");
        }
        if doubt.ask_first {
            return Err("it is in doubt: the destination is asked before anything is sent");
        }
        if doubt.absent_proof.is_some() {
            // A conclusive *absent* ends the doubt, with the one resend that it allows. Not earlier: until the intent is
            // written the key window is tested again before every try.
            after.doubt = None;
            after.resend_spent = true;
        }
    }
    after.first_intent_ms = Some(step.first_intent_ms.unwrap_or(at_ms));
    after.last_intent_ms = Some(at_ms);
    after.open_intent = Some(OpenIntent { at_ms, over_ms });
    Ok(after)
}

fn under_way(step: &Step) -> Result<(), &'static str> {
    match step.state {
        State::Processing | State::Cancelling { .. } => Ok(()),
        State::Pending
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::NeedsReview { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelled => Err("nothing is under way"),
    }
}

/// *Accepted* is a proof that the order was taken, not that it is carried out: the step waits and asks.
fn completes(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Confirmed(Proof::Answered(_) | Proof::FoundAlreadyThere) => true,
        Outcome::Confirmed(Proof::Accepted) | Outcome::Refused(_) | Outcome::Unsent | Outcome::Unknown => false,
    }
}

fn held(step: &Step, at_ms: i64, next: Next) -> Carried {
    if step.ready_ms.is_none() {
        return Err("a step that it waits for is not done");
    }
    if step.open_intent.is_some() {
        return Err("its attempt has not ended");
    }
    match step.state {
        State::NeedsReview { .. } => return Err("a person has it in hand"),
        State::Pending
        | State::Processing
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::Cancelling { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelled => {}
    }
    let mut after = step.clone();
    if let Next::Wait { reason, .. } = next
        && reason.is_bounded()
    {
        after.waiting_since_ms = Some(step.waiting_since_ms.unwrap_or(at_ms));
    }
    follow(after, next, false)
}

fn weighed(step: &Step, at_ms: i64, counted: bool, next: Next) -> Carried {
    match step.state {
        State::Waiting {
            reason: Wait::ConnectionBlocked,
            ..
        } => follow(absorb_verdict(step, at_ms, counted), next, false),
        State::Pending
        | State::Processing
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::NeedsReview { .. }
        | State::Cancelling { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelled => Err("it does not wait to hear what its refusal was about"),
    }
}

/// Also in front of a person: what the ledger says of it there may be what it has forgotten.
fn suspected(step: &Step, suspicion: &Suspicion, next: Next) -> Carried {
    if step.ready_ms.is_none() {
        return Err("a step that it waits for is not done: it cannot have been sent");
    }
    if step.state == State::Processing || step.open_intent.is_some() {
        return Err("its attempt has not ended");
    }
    if step.is_suspected_since(suspicion.found_ms) {
        return Err("it was put in doubt for this before");
    }
    follow(absorb_suspicion(step, suspicion), next, false)
}

/// Puts a step where a decision sends it, if the rules of its standing allow that. `proven`: the effect exists.
fn follow(mut after: Step, next: Next, proven: bool) -> Carried {
    if proven != (next == Next::Complete) {
        return Err("a proof completes a step, and nothing else does");
    }
    if let Next::Review(Review::Doubt(why)) = next {
        remember_blocked(&mut after, why);
    }
    let cancelling = matches!(after.state, State::Cancelling { .. });
    after.state = match &after.doubt {
        Some(doubt) if cancelling => closing_in_doubt(doubt, next)?,
        Some(_) => in_doubt(next)?,
        None if cancelling => closing(next)?,
        None => plain(next)?,
    };
    if after.state == State::Cancelled {
        after.doubt = None;
    }
    Ok(after)
}

/// A cancelled step in doubt is settled first.
fn closing_in_doubt(doubt: &Doubt, next: Next) -> Result<State, &'static str> {
    match next {
        Next::Complete => Ok(State::Completed),
        Next::Cancel if doubt.absent_proof.is_some() => Ok(State::Cancelled),
        Next::Cancel => Err("it is in doubt: it is settled before it is closed"),
        Next::Retry {
            reason: Retry::Lookup,
            until_ms,
        }
        | Next::Wait { until_ms, .. } => Ok(State::Cancelling { until_ms }),
        Next::Review(reason @ Review::Doubt(_)) => Ok(State::NeedsReview { reason }),
        Next::Retry {
            reason: Retry::Backoff, ..
        }
        | Next::Review(_) => Err(IN_DOUBT),
    }
}

/// A cancelled step that is not in doubt can only be closed.
fn closing(next: Next) -> Result<State, &'static str> {
    match next {
        Next::Complete => Ok(State::Completed),
        Next::Cancel => Ok(State::Cancelled),
        Next::Retry { .. } | Next::Wait { .. } | Next::Review(_) => Err("it is cancelled: it is never tried again"),
    }
}

/// Invariant 6: while in doubt a step goes only the way of DESIGN section 5.
fn in_doubt(next: Next) -> Result<State, &'static str> {
    match next {
        Next::Complete => Ok(State::Completed),
        Next::Cancel => Err(NOT_CANCELLED),
        Next::Retry {
            reason: reason @ Retry::Lookup,
            until_ms,
        } => Ok(State::Retrying { reason, until_ms }),
        Next::Wait { reason, until_ms } => Ok(State::Waiting { reason, until_ms }),
        Next::Review(reason @ Review::Doubt(_)) => Ok(State::NeedsReview { reason }),
        Next::Retry {
            reason: Retry::Backoff, ..
        }
        | Next::Review(_) => Err(IN_DOUBT),
    }
}

fn plain(next: Next) -> Result<State, &'static str> {
    match next {
        Next::Complete => Ok(State::Completed),
        Next::Cancel => Err(NOT_CANCELLED),
        Next::Retry {
            reason: Retry::Lookup, ..
        }
        | Next::Review(Review::Doubt(_)) => Err("it is not in doubt"),
        Next::Retry {
            reason: reason @ Retry::Backoff,
            until_ms,
        } => Ok(State::Retrying { reason, until_ms }),
        Next::Wait { reason, until_ms } => Ok(State::Waiting { reason, until_ms }),
        Next::Review(reason) => Ok(State::NeedsReview { reason }),
    }
}

const IN_DOUBT: &str = "it is in doubt: no plain backoff, and no ending as refused";
const NOT_CANCELLED: &str = "nobody cancelled it";

fn remember_blocked(after: &mut Step, why: Unsettled) {
    let blocked = match why {
        Unsettled::Blocked(blocked) => Some(blocked),
        Unsettled::NoWayToAsk
        | Unsettled::LookupUnclear
        | Unsettled::Absent
        | Unsettled::WindowOver
        | Unsettled::AttemptsUsedUp
        | Unsettled::Overtaken
        | Unsettled::Cancelled
        | Unsettled::WaitedTooLong
        | Unsettled::Forgotten => None,
    };
    if let Some(doubt) = &mut after.doubt {
        doubt.blocked = blocked;
    }
}

impl Wait {
    /// `wait_longest` bounds it: it is a wait for the destination, not one that the flow asked for.
    pub(crate) fn is_bounded(self) -> bool {
        match self {
            Wait::RateLimited | Wait::BreakerOpen | Wait::ConnectionBlocked | Wait::Paused => true,
            Wait::Timer | Wait::Approval | Wait::InOrder => false,
        }
    }
}

impl Event {
    /// Its name, for error texts and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Event::Ready { .. } => "ready",
            Event::Skip(_) => "skip",
            Event::Begin => "begin",
            Event::Intend { .. } => "intend",
            Event::Attempted { .. } => "attempted",
            Event::LookedUp { .. } => "looked_up",
            Event::Hold { .. } => "hold",
            Event::Weighed { .. } => "weighed",
            Event::Suspect { .. } => "suspect",
            Event::LateConfirmation => "late_confirmation",
            Event::Cancel { .. } => "cancel",
            Event::Decide(_) => "decide",
        }
    }
}
