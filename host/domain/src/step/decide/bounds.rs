//! The bounds on waiting (DESIGN section 4): `wait_longest` for time that burns nothing, `sent_within` from ready to sent.

use crate::doubt::Circumstances;
use crate::retry::Policy;
use crate::step::{Step, Wait};

/// When a step may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Then.
    At(i64),
    /// Later than any bound allows: a person decides.
    TooLong,
}

/// The last moment at which a step may still be sent: `sent_within` from ready.
pub(crate) fn sent_by_ms(step: &Step, policy: &Policy) -> i64 {
    step.ready_ms.map_or(i64::MAX, |ready_ms| {
        ready_ms.saturating_add_unsigned(policy.sent_within_ms)
    })
}

/// The last moment of a wait that began at `waiting_since_ms`, or now.
fn waited_by_ms(step: &Step, policy: &Policy, now: &Circumstances) -> i64 {
    step.waiting_since_ms
        .unwrap_or(now.now_ms)
        .saturating_add_unsigned(policy.wait_longest_ms)
}

/// Bounds a wait. A condition that may end sooner (a breaker, a pause) is looked at again at the bound; `is_send` says that
/// a request to change something follows, and not a lookup.
pub(super) fn of_wait(
    step: &Step,
    wait: Wait,
    until_ms: i64,
    policy: &Policy,
    now: &Circumstances,
    is_send: bool,
) -> Until {
    if !wait.is_bounded() {
        return Until::At(until_ms);
    }
    let sent_by_ms = if is_send { sent_by_ms(step, policy) } else { i64::MAX };
    let bound_ms = waited_by_ms(step, policy, now).min(sent_by_ms);
    if until_ms <= bound_ms {
        Until::At(until_ms)
    } else if now.now_ms < bound_ms && wait != Wait::RateLimited {
        Until::At(bound_ms)
    } else {
        Until::TooLong
    }
}

/// Bounds a backoff: nothing may happen sooner, so that a moment beyond a bound needs no waiting for.
pub(super) fn of_backoff(step: &Step, until_ms: i64, policy: &Policy, now: &Circumstances, is_send: bool) -> Until {
    let sent_by_ms = if is_send { sent_by_ms(step, policy) } else { i64::MAX };
    let waited_by_ms = match step.waiting_since_ms {
        Some(_) => waited_by_ms(step, policy, now),
        None => i64::MAX,
    };
    if until_ms <= sent_by_ms.min(waited_by_ms) {
        Until::At(until_ms)
    } else {
        Until::TooLong
    }
}
