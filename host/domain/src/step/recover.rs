//! Where a step stands whose owner died. The ledger is read as evidence is: an intent without evidence is `maybe_sent`, no
//! intent is `none`.

use crate::evidence::Evidence;
use crate::outcome::Outcome;
use crate::step::{Event, Next, Retry, State, Step};

/// What happens to a step that was found under way when its owner is gone; `None`: nothing was under way.
///
/// An intent without evidence puts the step in doubt, with the last moment of its exchange as stored: whoever takes over
/// waits past it. Without an intent nothing was sent, and it is simply tried (or looked up) again, at once.
pub fn recover(step: &Step, at_ms: i64) -> Option<Event> {
    let cancelling = match step.state {
        State::Processing => false,
        State::Cancelling { .. } => true,
        State::Pending
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::Completed
        | State::Failed
        | State::NeedsReview { .. }
        | State::Skipped { .. }
        | State::Cancelled => return None,
    };
    if let Some(intent) = step.open_intent {
        return Some(Event::Attempted {
            at_ms,
            outcome: Outcome::Unknown,
            evidence: Evidence::MaybeSent,
            counted: true,
            over_ms: intent.over_ms,
            next: Next::Retry {
                reason: Retry::Lookup,
                until_ms: intent.over_ms.max(at_ms),
            },
        });
    }
    let next = match (step.doubt.is_some(), cancelling) {
        // A lookup of a cancelled step: it stands where it stood.
        (true, true) => return None,
        (true, false) => Next::Retry {
            reason: Retry::Lookup,
            until_ms: at_ms,
        },
        (false, true) => Next::Cancel,
        (false, false) => Next::Retry {
            reason: Retry::Backoff,
            until_ms: at_ms,
        },
    };
    Some(Event::Hold { at_ms, next })
}
