//! How soon a step goes on, and as what: own backoff, what the destination said, what the connection allows, all within the
//! bounds on waiting.

use super::bounds::{self, Until};
use crate::doubt::{self, Circumstances, Doubt, Terms, Unsettled, Way};
use crate::retry::{self, Policy, RetryAfter};
use crate::step::{Next, Retry, Review, Step, Wait};

/// What slows a step down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Our own backoff before the next request that changes something.
    pub(super) own_ms: u64,
    /// Our own backoff before the next lookup.
    pub(super) lookup_own_ms: u64,
    /// What the destination or the connector said.
    pub(super) told: RetryAfter,
    /// What the connection says.
    pub(super) hold: Option<(Wait, i64)>,
    /// The destination answered that it is too much.
    pub(super) rate_limited: bool,
}

/// What follows on own and foreign pace together.
enum Paced {
    /// Try again then.
    Backoff(i64),
    /// Wait for this.
    Wait(Wait, i64),
    /// The destination asked for more than `wait_longest`.
    ToldTooLong,
}

impl Pace {
    fn from(&self, own_ms: u64, policy: &Policy, now: &Circumstances) -> Paced {
        let mut until_ms = now.now_ms.saturating_add_unsigned(own_ms);
        if let RetryAfter::Until(told_ms) = self.told {
            let wait_ms = u64::try_from(told_ms.saturating_sub(now.now_ms)).unwrap_or(0);
            if wait_ms > policy.wait_longest_ms {
                return Paced::ToldTooLong;
            }
            // As told, not longer, but not at once either: `Retry-After: 0` again and again would be a busy loop.
            let least_ms = if self.rate_limited { policy.first_ms } else { own_ms };
            let spread_ms = retry::told_spread_ms(policy, wait_ms, now.jitter);
            until_ms = told_ms
                .saturating_add_unsigned(spread_ms)
                .max(now.now_ms.saturating_add_unsigned(least_ms));
        }
        match self.hold {
            Some((wait, hold_ms)) => Paced::Wait(wait, hold_ms.max(until_ms)),
            None if self.rate_limited => Paced::Wait(Wait::RateLimited, until_ms),
            None => Paced::Backoff(until_ms),
        }
    }
}

/// Another try of a step whose effect is known not to exist.
pub(super) fn again(after: &Step, pace: &Pace, policy: &Policy, now: &Circumstances) -> Next {
    let (bounded, wait) = match pace.from(pace.own_ms, policy, now) {
        Paced::ToldTooLong => return Next::Review(Review::ToldToWaitTooLong),
        Paced::Backoff(until_ms) => (bounds::of_backoff(after, until_ms, policy, now, true), None),
        Paced::Wait(wait, until_ms) => (bounds::of_wait(after, wait, until_ms, policy, now, true), Some(wait)),
    };
    match (bounded, wait) {
        (Until::TooLong, _) => Next::Review(Review::WaitedTooLong),
        (Until::At(until_ms), None) => Next::Retry {
            reason: Retry::Backoff,
            until_ms,
        },
        (Until::At(until_ms), Some(reason)) => Next::Wait { reason, until_ms },
    }
}

/// The way of DESIGN section 5, at the pace that is allowed.
pub(super) fn in_doubt(
    after: &Step,
    doubt: &Doubt,
    pace: &Pace,
    terms: &Terms,
    policy: &Policy,
    now: &Circumstances,
) -> Next {
    let (own_ms, earliest_ms, is_send) = match doubt::way_of(after, doubt, terms, policy, now) {
        Way::Review(why) => return Next::Review(Review::Doubt(why)),
        Way::Lookup { at_ms } => (pace.lookup_own_ms, at_ms, false),
        Way::Resend { at_ms } => (pace.own_ms, at_ms, true),
    };
    let (bounded, wait) = match pace.from(own_ms, policy, now) {
        Paced::ToldTooLong => return Next::Review(Review::Doubt(Unsettled::WaitedTooLong)),
        Paced::Backoff(until_ms) => (
            bounds::of_backoff(after, until_ms.max(earliest_ms), policy, now, is_send),
            None,
        ),
        Paced::Wait(wait, until_ms) => (
            bounds::of_wait(after, wait, until_ms.max(earliest_ms), policy, now, is_send),
            Some(wait),
        ),
    };
    let until_ms = match bounded {
        Until::TooLong => return Next::Review(Review::Doubt(Unsettled::WaitedTooLong)),
        Until::At(until_ms) => until_ms,
    };
    if is_send && closes_before(after, doubt, until_ms, terms) {
        return Next::Review(Review::Doubt(Unsettled::WindowOver));
    }
    match wait {
        Some(reason) => Next::Wait { reason, until_ms },
        None => Next::Retry {
            reason: Retry::Lookup,
            until_ms,
        },
    }
}

/// A resend that leans on a window is not waited for when the window closes first. (A conclusive *absent* leans on none, or
/// can be looked up once more.)
fn closes_before(after: &Step, doubt: &Doubt, until_ms: i64, terms: &Terms) -> bool {
    doubt.absent_proof.is_none() && doubt::resend_until_ms(after, terms).is_some_and(|end_ms| until_ms >= end_ms)
}

/// A step in doubt that cannot go on: it may wait as long as any step, but never past the window that it leans on.
pub(super) fn held_in_doubt(
    step: &Step,
    doubt: &Doubt,
    (wait, until_ms): (Wait, i64),
    terms: &Terms,
    policy: &Policy,
    now: &Circumstances,
) -> Next {
    let is_send = match doubt::way_of(step, doubt, terms, policy, now) {
        Way::Review(why) => return Next::Review(Review::Doubt(why)),
        Way::Lookup { .. } => false,
        Way::Resend { .. } => true,
    };
    let until_ms = match bounds::of_wait(step, wait, until_ms, policy, now, is_send) {
        Until::TooLong => return Next::Review(Review::Doubt(Unsettled::WaitedTooLong)),
        Until::At(until_ms) => until_ms,
    };
    let closes_ms = if is_send {
        doubt::resend_until_ms(step, terms).unwrap_or(i64::MAX)
    } else {
        i64::MAX
    };
    Next::Wait {
        reason: wait,
        until_ms: until_ms.min(closes_ms),
    }
}
