//! The way out of a doubt, computed anew before every request: time goes by, windows close, places change.

use crate::doubt::{AbsentProof, Blocked, Circumstances, Dedup, Doubt, Terms, Unsettled, Way};
use crate::limits;
use crate::retry::Policy;
use crate::step::{State, Step, sent_by_ms};

/// The way out of the doubt that `step` is in, as of now; `None` when it is in none that has lasted (an attempt under way
/// ends first, or is recovered).
pub fn way(step: &Step, terms: &Terms, policy: &Policy, now: &Circumstances) -> Option<Way> {
    if step.is_final() {
        return None;
    }
    let not_before_ms = match step.state {
        State::Retrying { until_ms, .. } | State::Waiting { until_ms, .. } | State::Cancelling { until_ms } => until_ms,
        State::Pending
        | State::Processing
        | State::NeedsReview { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelled => i64::MIN,
    };
    let doubt = step.doubt.as_ref()?;
    Some(match way_of(step, doubt, terms, policy, now) {
        Way::Lookup { at_ms } => Way::Lookup {
            at_ms: at_ms.max(not_before_ms),
        },
        Way::Resend { at_ms } => Way::Resend {
            at_ms: at_ms.max(not_before_ms),
        },
        Way::Review(why) => Way::Review(why),
    })
}

/// The way by the rules alone: without the backoff that the step's state holds.
pub(crate) fn way_of(step: &Step, doubt: &Doubt, terms: &Terms, policy: &Policy, now: &Circumstances) -> Way {
    match doubt.blocked.or(now.blocked) {
        // Another account or origin has never seen the request: asking there would prove the wrong thing, sending there
        // would be a second effect.
        Some(why @ (Blocked::PlaceChanged | Blocked::RequestChanged)) => return Way::Review(Unsettled::Blocked(why)),
        // Asking is still allowed; `resend` looks at it again.
        Some(Blocked::OtherHost) | None => {}
    }
    match terms.dedup {
        Dedup::Natural { .. } if !step.resend_spent => natural_way(step, doubt, terms, policy, now),
        Dedup::Natural { .. } | Dedup::None | Dedup::Key { .. } => asking_way(step, doubt, terms, policy, now),
    }
}

/// Rule 3. A lookup by content, where there is one, comes first: *found* completes, anything else allows the repeat, for
/// what it found may be older than our request (an entry with the same e-mail address and another phone number).
fn natural_way(step: &Step, doubt: &Doubt, terms: &Terms, policy: &Policy, now: &Circumstances) -> Way {
    if !doubt.asked
        && step.lookups < policy.attempts
        && let Some(after_ms) = lookup_after_ms(terms)
    {
        return Way::Lookup {
            at_ms: later(doubt.over_ms, after_ms),
        };
    }
    if is_cancelling(step) {
        return Way::Review(Unsettled::Cancelled);
    }
    if doubt.ask_first {
        return Way::Review(Unsettled::NoWayToAsk);
    }
    // A later change of the same thing may be forgotten as well, and it must not be undone.
    if doubt.forgotten.is_some() {
        return Way::Review(Unsettled::Forgotten);
    }
    if now.overtaken {
        return Way::Review(Unsettled::Overtaken);
    }
    if !window_open(step, terms, now.now_ms) {
        return Way::Review(Unsettled::WindowOver);
    }
    resend(step, terms, policy, now)
}

/// Rules 1, 2 and 4: ask where the destination can be asked; else, or when asking led nowhere, lean on its keys; else a
/// person.
fn asking_way(step: &Step, doubt: &Doubt, terms: &Terms, policy: &Policy, now: &Circumstances) -> Way {
    let absent = match doubt.absent_proof {
        Some(AbsentProof::Twice) => true,
        // Seen once: it proves only together with the key, and the key only while its window is open.
        Some(AbsentProof::WithKey) => window_open(step, terms, now.now_ms),
        None => false,
    };
    if absent {
        return absent_way(step, terms, policy, now);
    }
    let lookup = lookup_after_ms(terms);
    if let Some(after_ms) = lookup
        && step.lookups < policy.attempts
    {
        let from_ms = doubt
            .absent_ms
            .map_or(doubt.over_ms, |absent_ms| absent_ms.max(doubt.over_ms));
        return Way::Lookup {
            at_ms: later(from_ms, after_ms),
        };
    }
    let asked_in_vain = match (lookup, doubt.forgotten) {
        (Some(_), _) => Unsettled::LookupUnclear,
        (None, Some(_)) => Unsettled::Forgotten,
        (None, None) => Unsettled::NoWayToAsk,
    };
    if is_cancelling(step) {
        return Way::Review(Unsettled::Cancelled);
    }
    match terms.dedup {
        Dedup::Key { .. } if !step.resend_spent && !doubt.ask_first && doubt.is_under_our_key() => {
            if window_open(step, terms, now.now_ms) {
                resend(step, terms, policy, now)
            } else {
                Way::Review(Unsettled::WindowOver)
            }
        }
        Dedup::Key { .. } | Dedup::None | Dedup::Natural { .. } => Way::Review(asked_in_vain),
    }
}

/// A conclusive *absent*: one resend in the life of the step, or a person where the connection says so.
fn absent_way(step: &Step, terms: &Terms, policy: &Policy, now: &Circumstances) -> Way {
    if is_cancelling(step) {
        return Way::Review(Unsettled::Cancelled);
    }
    if step.resend_spent || terms.absent_to_review {
        return Way::Review(Unsettled::Absent);
    }
    resend(step, terms, policy, now)
}

/// What holds for every resend, whatever allows it.
fn resend(step: &Step, terms: &Terms, policy: &Policy, now: &Circumstances) -> Way {
    let honours_keys = match terms.dedup {
        Dedup::Key { .. } => true,
        Dedup::None | Dedup::Natural { .. } => false,
    };
    // The other host may only be stopped, not dead: without keys two hosts could both send.
    if now.blocked == Some(Blocked::OtherHost) && !honours_keys {
        return Way::Review(Unsettled::Blocked(Blocked::OtherHost));
    }
    if step.attempts >= policy.attempts {
        return Way::Review(Unsettled::AttemptsUsedUp);
    }
    if now.now_ms > sent_by_ms(step, policy) {
        return Way::Review(Unsettled::WaitedTooLong);
    }
    Way::Resend { at_ms: now.now_ms }
}

fn is_cancelling(step: &Step) -> bool {
    matches!(step.state, State::Cancelling { .. })
}

/// How long after the end of the exchange a lookup proves something: what the operator stated, never less than the request
/// timeout. `None`: the destination cannot be asked.
pub(crate) fn lookup_after_ms(terms: &Terms) -> Option<u64> {
    terms
        .lookup_after_ms
        .map(|after_ms| after_ms.max(terms.request_timeout_ms))
}

/// When the window in which the destination recognises (key) or tolerates (natural) a repeat is over, on the ledger's
/// clock: 0.9 × window, or `repeat_within`, after the first intent. `None`: no window, or no intent yet.
pub fn key_window_end_ms(step: &Step, terms: &Terms) -> Option<i64> {
    let first_ms = step.first_intent_ms?;
    match terms.dedup {
        Dedup::Key { window_ms } => {
            let used = u128::from(window_ms) * u128::from(limits::KEY_WINDOW_USED_PERCENT) / 100;
            Some(later(first_ms, u64::try_from(used).unwrap_or(u64::MAX)))
        }
        Dedup::Natural { repeat_within_ms } => Some(later(first_ms, repeat_within_ms)),
        Dedup::None => None,
    }
}

/// A resend may begin before this moment and not at it: with a key it must be over while the window is open. `None`: no
/// window, or no intent yet.
pub fn resend_until_ms(step: &Step, terms: &Terms) -> Option<i64> {
    let end_ms = key_window_end_ms(step, terms)?;
    match terms.dedup {
        Dedup::Key { .. } => Some(end_ms.saturating_sub_unsigned(terms.request_timeout_ms)),
        Dedup::Natural { .. } | Dedup::None => Some(end_ms),
    }
}

/// `now + request timeout < first intent + 0.9 × window` (key), `now < first intent + repeat_within` (natural).
pub(crate) fn window_open(step: &Step, terms: &Terms, now_ms: i64) -> bool {
    resend_until_ms(step, terms).is_some_and(|until_ms| now_ms < until_ms)
}

fn later(from_ms: i64, by_ms: u64) -> i64 {
    from_ms.saturating_add_unsigned(by_ms)
}
