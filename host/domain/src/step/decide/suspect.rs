//! A step that may have been sent by a ledger that has forgotten it (restored, cloned, failed over to a copy that lagged).

use super::settle::{self, Pace};
use crate::doubt::{Blocked, Circumstances, Effect, Terms, Unsettled};
use crate::retry::{Policy, RetryAfter};
use crate::step::apply::absorb_suspicion;
use crate::step::{Event, Next, Review, State, Step, Suspicion};

/// What follows for an unfinished step whose ledger may have forgotten that it was sent; `None`: nothing, for it cannot have
/// been, or only reads, or was put in doubt for this before. Asked before anything else happens to it.
///
/// From then on it goes the way of every doubt (DESIGN section 5), as if an intent had been written at `from_ms` whose exchange
/// was over at `over_ms`: it is looked up before it is sent, or sent under its key while the window that began then is open;
/// its first request from here is the one resend of its life. `terms`: `None` where nothing is approved any more, so that
/// nobody can ask.
pub fn suspect(
    step: &Step,
    suspicion: &Suspicion,
    terms: Option<&Terms>,
    policy: &Policy,
    now: &Circumstances,
) -> Option<Event> {
    if !can_be_suspected(step) || step.is_suspected_since(suspicion.found_ms) {
        return None;
    }
    let suspicion = *suspicion;
    let Some(terms) = terms else {
        let next = Next::Review(Review::Doubt(Unsettled::Blocked(Blocked::PlaceChanged)));
        return Some(Event::Suspect { suspicion, next });
    };
    match terms.effect {
        Effect::Read => return None,
        Effect::Write => {}
    }
    let after = absorb_suspicion(step, &suspicion);
    let doubt = after.doubt.as_ref()?;
    let next = settle::in_doubt(&after, doubt, &Pace::at_once(), terms, policy, now);
    Some(Event::Suspect { suspicion, next })
}

/// A step that was never ready cannot have been sent, as far as its predecessors are remembered: if they were done, that is
/// found first. One under way is settled first.
fn can_be_suspected(step: &Step) -> bool {
    if step.ready_ms.is_none() || step.open_intent.is_some() {
        return false;
    }
    match step.state {
        State::Pending
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::NeedsReview { .. }
        | State::Cancelling { .. } => true,
        State::Processing | State::Completed | State::Failed | State::Skipped { .. } | State::Cancelled => false,
    }
}

impl Pace {
    /// Nothing slows it down but the rules of doubt.
    fn at_once() -> Pace {
        Pace {
            own_ms: 0,
            lookup_own_ms: 0,
            told: RetryAfter::None,
            hold: None,
            rate_limited: false,
        }
    }
}
