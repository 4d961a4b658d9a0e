//! What people and late answers do to a step (DESIGN section 7).

use super::Carried;
use crate::doubt::{AbsentProof, Doubt};
use crate::step::{Decision, Retry, State, Step};

/// It counts as *found*, wherever the step stands by now: also where a lookup or a person said that it does not exist, for
/// what the destination confirms exists.
pub(super) fn confirm_late(step: &Step) -> Carried {
    if step.first_intent_ms.is_none() {
        return Err("it has never sent anything");
    }
    Ok(Step {
        state: State::Completed,
        open_intent: None,
        doubt: None,
        ..step.clone()
    })
}

pub(super) fn cancel(step: &Step, at_ms: i64) -> Carried {
    let mut after = step.clone();
    let until_ms = match step.state {
        State::Cancelling { .. } => return Err("it is being cancelled already"),
        // Something may be on the wire: what comes back settles it. Nothing new can be sent, see `intend`.
        State::Processing => {
            after.state = State::Cancelling { until_ms: at_ms };
            return Ok(after);
        }
        State::Retrying { until_ms, .. } | State::Waiting { until_ms, .. } => until_ms,
        State::Pending => at_ms,
        // Asked for by a person: the destination is asked afresh.
        State::NeedsReview { .. } => {
            after.lookups = 0;
            at_ms
        }
        State::Completed | State::Failed | State::Skipped { .. } | State::Cancelled => return Err("it is final"),
    };
    let Some(doubt) = &mut after.doubt else {
        return Ok(Step {
            state: State::Cancelled,
            ..after
        });
    };
    if doubt.absent_proof == Some(AbsentProof::Twice) {
        return Ok(Step {
            state: State::Cancelled,
            doubt: None,
            ..after
        });
    }
    // Seen once, it proves only together with the key of a resend, and there will be none.
    doubt.absent_proof = None;
    doubt.asked = false;
    doubt.blocked = None;
    Ok(Step {
        state: State::Cancelling { until_ms },
        ..after
    })
}

pub(super) fn decide(step: &Step, decision: Decision) -> Carried {
    match step.state {
        State::NeedsReview { .. } => {}
        State::Pending
        | State::Processing
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelling { .. }
        | State::Cancelled => return Err("no person was asked"),
    }
    match decision {
        Decision::Retry { at_ms, stated_absent } => Ok(retry(step, at_ms, stated_absent)),
        Decision::Resolve => Ok(Step {
            state: State::Completed,
            doubt: None,
            ..step.clone()
        }),
        // The doubt stays on record: the person said that it must not happen, not that it did not.
        Decision::Discard => Ok(Step {
            state: State::Failed,
            ..step.clone()
        }),
    }
}

/// Fresh counters and a fresh time to wait. The key stays the same, and so does its window.
fn retry(step: &Step, at_ms: i64, stated_absent: bool) -> Step {
    let doubt = step.doubt.clone().filter(|_| !stated_absent).map(|doubt| Doubt {
        asked: false,
        absent_ms: None,
        absent_proof: None,
        ask_first: true,
        blocked: None,
        ..doubt
    });
    let reason = if doubt.is_some() { Retry::Lookup } else { Retry::Backoff };
    Step {
        state: State::Retrying {
            reason,
            until_ms: at_ms,
        },
        ready_ms: Some(at_ms),
        attempts: 0,
        lookups: 0,
        refusals: 0,
        uncounted: 0,
        waiting_since_ms: None,
        doubt,
        ..step.clone()
    }
}
