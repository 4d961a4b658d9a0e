//! What follows for a step: decisions only, carried out by [`apply`](crate::step::apply).

mod bounds;
mod settle;
mod suspect;

pub use suspect::suspect;

pub(crate) use bounds::sent_by_ms;

use crate::doubt::{self, AbsentProof, Blocked, Circumstances, Dedup, Doubt, Finding, Terms, Unsettled, Way};
use crate::evidence::Evidence;
use crate::outcome::{Outcome, Refusal};
use crate::retry::{self, Policy, RetryAfter};
use crate::step::apply::{absorb_attempt, absorb_lookup, absorb_verdict};
use crate::step::{Event, Next, Review, State, Step, Wait};
use bounds::Until;
use settle::Pace;

/// How an attempt ended, as the executor hands it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptEnd {
    /// When it ended.
    pub at_ms: i64,
    /// Judged by [`of_write`](crate::outcome::of_write) or [`of_read`](crate::outcome::of_read).
    pub outcome: Outcome,
    /// What the host saw.
    pub evidence: Evidence,
    /// When the exchange was known to be over (aborted, and that is stored).
    pub over_ms: i64,
    /// It tried to connect or to send.
    pub tried: bool,
    /// It was let through an open breaker to find out whether the destination is back.
    pub probe: bool,
    /// What the destination (or, for its own step, the connector) said about waiting.
    pub retry_after: RetryAfter,
    /// The connection cannot be used before this moment: breaker, block, pause, rate.
    pub hold: Option<(Wait, i64)>,
    /// The resend was denied because it is not the recorded request, or not the place of the intent.
    pub blocked: Option<Blocked>,
    /// The credentials were refused, and the connection's probe shows that they work: it is about what this step asks.
    pub about_step: bool,
}

/// How a lookup ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookupEnd {
    /// When it began to ask: *absent* is judged from here.
    pub asked_ms: i64,
    /// When it ended.
    pub at_ms: i64,
    /// Judged by [`judge_lookup`](crate::doubt::judge_lookup).
    pub finding: Finding,
    /// It tried to connect or to send, and was not told to wait (429).
    pub counted: bool,
    /// What the destination said about waiting.
    pub retry_after: RetryAfter,
    /// The connection cannot be used before this moment.
    pub hold: Option<(Wait, i64)>,
}

/// What to do with a step now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Call the connector's `perform`; the effect is known not to exist.
    Perform,
    /// Call the connector's `lookup`.
    Lookup,
    /// Call `perform` again with the recorded request, at the place of the intent.
    Resend,
    /// Nothing before this moment; ask again then.
    WaitUntil(i64),
    /// A person decides: apply `Hold` with this.
    Review(Review),
    /// Nothing: it is not ready, under way, in front of a person or final.
    Nothing,
}

/// What follows an attempt of `step` (which stands in `processing` or `cancelling`, with its intent if there was one).
pub fn after_attempt(step: &Step, end: &AttemptEnd, terms: &Terms, policy: &Policy, now: &Circumstances) -> Event {
    let counted = counts(end);
    let after = absorb_attempt(step, end.at_ms, end.outcome, end.evidence, counted, end.over_ms);
    Event::Attempted {
        at_ms: end.at_ms,
        outcome: end.outcome,
        evidence: end.evidence,
        counted,
        over_ms: end.over_ms,
        next: next_after(&after, end, counted, terms, policy, now),
    }
}

/// What follows for `step`, which was kept waiting after a 401, once it is known that this was no matter of the connection.
/// `end` is how its attempt ended, as of now and without a hold.
pub fn after_weighing(step: &Step, end: &AttemptEnd, terms: &Terms, policy: &Policy, now: &Circumstances) -> Event {
    let counted = counts(end);
    let after = absorb_verdict(step, end.at_ms, counted);
    Event::Weighed {
        at_ms: end.at_ms,
        counted,
        next: next_after(&after, end, counted, terms, policy, now),
    }
}

fn next_after(
    after: &Step,
    end: &AttemptEnd,
    counted: bool,
    terms: &Terms,
    policy: &Policy,
    now: &Circumstances,
) -> Next {
    let pace = Pace {
        own_ms: own_delay_ms(after, counted, after.attempts, end.hold, policy, now),
        lookup_own_ms: 0,
        told: end.retry_after,
        hold: end.hold,
        rate_limited: end.outcome == Outcome::Refused(Refusal::RateLimited),
    };
    match (&after.doubt, end.blocked) {
        (Some(_), Some(blocked)) => Next::Review(Review::Doubt(Unsettled::Blocked(blocked))),
        (Some(doubt), None) => settle::in_doubt(after, doubt, &pace, terms, policy, now),
        (None, Some(_) | None) => without_doubt(after, end, &pace, policy, now),
    }
}

/// An attempt counts when it tried to connect or send. Being told to wait costs nothing, nor does a 401 while the
/// connection is blocked for it, nor finding out on behalf of all others whether the destination is back.
fn counts(end: &AttemptEnd) -> bool {
    let tried = !end.probe
        && match end.evidence {
            Evidence::MaybeSent | Evidence::Answered(_) => true,
            Evidence::None | Evidence::NothingSent => end.tried,
        };
    match end.outcome {
        Outcome::Refused(Refusal::RateLimited) => false,
        Outcome::Refused(Refusal::Unauthorized) => tried && end.hold.is_none(),
        Outcome::Refused(Refusal::Temporary | Refusal::Permanent(_))
        | Outcome::Confirmed(_)
        | Outcome::Unsent
        | Outcome::Unknown => tried,
    }
}

/// Our own backoff: by the number of counted tries, or, after one that did not count, of those in a row. A hold that
/// cost nothing needs none beside it.
fn own_delay_ms(
    after: &Step,
    counted: bool,
    tries: u32,
    hold: Option<(Wait, i64)>,
    policy: &Policy,
    now: &Circumstances,
) -> u64 {
    if counted {
        return retry::delay_ms(policy, tries, now.jitter);
    }
    if hold.is_some() {
        return 0;
    }
    retry::delay_ms(policy, after.uncounted, now.jitter)
}

/// DESIGN section 3, *from outcome to step*, for a step that is in no doubt.
fn without_doubt(after: &Step, end: &AttemptEnd, pace: &Pace, policy: &Policy, now: &Circumstances) -> Next {
    if let Outcome::Confirmed(_) = end.outcome {
        return Next::Complete;
    }
    if matches!(after.state, State::Cancelling { .. }) {
        return Next::Cancel;
    }
    match end.outcome {
        Outcome::Refused(Refusal::Permanent(why)) if after.refusals >= policy.refusals => {
            Next::Review(Review::Refused(why))
        }
        Outcome::Refused(Refusal::Permanent(why)) if after.attempts >= policy.attempts => {
            Next::Review(Review::Refused(why))
        }
        Outcome::Refused(Refusal::RateLimited) => settle::again(after, pace, policy, now),
        Outcome::Refused(Refusal::Unauthorized) if end.about_step => Next::Review(Review::Unauthorized),
        Outcome::Refused(Refusal::Permanent(_) | Refusal::Temporary | Refusal::Unauthorized) | Outcome::Unsent => {
            if after.attempts >= policy.attempts {
                return Next::Review(Review::AttemptsUsedUp);
            }
            settle::again(after, pace, policy, now)
        }
        // Cannot be: both are handled before. The most cautious answer, should it ever be.
        Outcome::Confirmed(_) | Outcome::Unknown => Next::Review(Review::Doubt(Unsettled::NoWayToAsk)),
    }
}

/// What follows a lookup of `step`.
pub fn after_lookup(step: &Step, end: &LookupEnd, terms: &Terms, policy: &Policy, now: &Circumstances) -> Event {
    let (finding, absent_proof) = weigh(step, end, terms, now);
    let counted = end.counted || finding != Finding::Unsure;
    let after = absorb_lookup(step, end.at_ms, finding, counted, absent_proof);
    let own_ms = own_delay_ms(&after, counted, after.lookups, end.hold, policy, now);
    let pace = Pace {
        own_ms: if counted { 0 } else { own_ms },
        // After *absent* the next lookup has its own time, `lookup_after` later; backoff is for unclear answers.
        lookup_own_ms: if finding == Finding::Absent { 0 } else { own_ms },
        told: end.retry_after,
        hold: end.hold,
        rate_limited: !counted && end.retry_after != RetryAfter::None,
    };
    let next = match &after.doubt {
        None => Next::Complete,
        Some(doubt) if matches!(after.state, State::Cancelling { .. }) && doubt.absent_proof.is_some() => Next::Cancel,
        Some(doubt) => settle::in_doubt(&after, doubt, &pace, terms, policy, now),
    };
    Event::LookedUp {
        at_ms: end.at_ms,
        finding,
        counted,
        absent_proof,
        next,
    }
}

/// What a finding proves. *Absent* counts only when the destination was asked late enough for the effect to be visible. It
/// is conclusive when seen twice, `lookup_after` apart; once, where the destination also honours the key of the resend and
/// its window is open. A cancelled step is not resent, so nothing protects it from a single mistaken *absent*.
fn weigh(step: &Step, end: &LookupEnd, terms: &Terms, now: &Circumstances) -> (Finding, Option<AbsentProof>) {
    match end.finding {
        Finding::Found => return (Finding::Found, None),
        Finding::Unsure => return (Finding::Unsure, None),
        Finding::Absent => {}
    }
    let (Some(doubt), Some(after_ms)) = (&step.doubt, doubt::lookup_after_ms(terms)) else {
        return (Finding::Unsure, None);
    };
    if end.asked_ms < doubt.over_ms.saturating_add_unsigned(after_ms) {
        return (Finding::Unsure, None);
    }
    let seen_twice = doubt
        .absent_ms
        .is_some_and(|first_ms| end.asked_ms >= first_ms.saturating_add_unsigned(after_ms));
    let proof = match terms.dedup {
        // By content: an entry that looks otherwise proves nothing about our request.
        Dedup::Natural { .. } if !step.resend_spent => None,
        Dedup::Natural { .. } | Dedup::None | Dedup::Key { .. } if seen_twice => Some(AbsentProof::Twice),
        Dedup::Key { .. }
            if doubt::window_open(step, terms, now.now_ms) && doubt.is_under_our_key() && !is_cancelling(step) =>
        {
            Some(AbsentProof::WithKey)
        }
        Dedup::Natural { .. } | Dedup::None | Dedup::Key { .. } => None,
    };
    (Finding::Absent, proof)
}

fn is_cancelling(step: &Step) -> bool {
    matches!(step.state, State::Cancelling { .. })
}

/// What to do with `step` now. Asked right before every attempt and lookup, for windows close while a step waits.
pub fn next_move(step: &Step, terms: &Terms, policy: &Policy, now: &Circumstances) -> Move {
    let due_ms = match step.state {
        State::Pending => match step.ready_ms {
            Some(ready_ms) => ready_ms,
            None => return Move::Nothing,
        },
        State::Retrying { until_ms, .. } => until_ms,
        // Only a person ends it, not the clock.
        State::Waiting {
            reason: Wait::Approval, ..
        } => return Move::Nothing,
        State::Waiting { until_ms, .. } => until_ms,
        // Its attempt is still under way: what comes back decides.
        State::Cancelling { .. } if step.open_intent.is_some() || step.doubt.is_none() => return Move::Nothing,
        State::Cancelling { until_ms } => until_ms,
        State::Processing
        | State::NeedsReview { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelled => return Move::Nothing,
    };
    if now.now_ms < due_ms {
        return Move::WaitUntil(due_ms);
    }
    match &step.doubt {
        Some(doubt) => move_in_doubt(step, doubt, terms, policy, now),
        None if step.attempts >= policy.attempts => Move::Review(Review::AttemptsUsedUp),
        None if now.now_ms > sent_by_ms(step, policy) => Move::Review(Review::WaitedTooLong),
        None => Move::Perform,
    }
}

fn move_in_doubt(step: &Step, doubt: &Doubt, terms: &Terms, policy: &Policy, now: &Circumstances) -> Move {
    match doubt::way_of(step, doubt, terms, policy, now) {
        Way::Lookup { at_ms } if now.now_ms < at_ms => Move::WaitUntil(at_ms),
        Way::Lookup { .. } => Move::Lookup,
        Way::Resend { at_ms } if now.now_ms < at_ms => Move::WaitUntil(at_ms),
        Way::Resend { .. } => Move::Resend,
        Way::Review(why) => Move::Review(Review::Doubt(why)),
    }
}

/// The step cannot go on before `until_ms` for a reason that burns nothing: waits, within the bounds on waiting, or goes to
/// a person.
pub fn hold(step: &Step, wait: Wait, until_ms: i64, terms: &Terms, policy: &Policy, now: &Circumstances) -> Event {
    let until_ms = match wait {
        // Whoever heard of it is told like the one that was answered.
        Wait::RateLimited => {
            let wait_ms = u64::try_from(until_ms.saturating_sub(now.now_ms)).unwrap_or(0);
            until_ms.saturating_add_unsigned(retry::told_spread_ms(policy, wait_ms, now.jitter))
        }
        Wait::BreakerOpen | Wait::ConnectionBlocked | Wait::Paused | Wait::Timer | Wait::Approval | Wait::InOrder => {
            until_ms
        }
    };
    let next = match &step.doubt {
        Some(doubt) => settle::held_in_doubt(step, doubt, (wait, until_ms), terms, policy, now),
        None if is_cancelling(step) => Next::Cancel,
        None => match bounds::of_wait(step, wait, until_ms, policy, now, true) {
            Until::At(until_ms) => Next::Wait { reason: wait, until_ms },
            Until::TooLong => Next::Review(Review::WaitedTooLong),
        },
    };
    Event::Hold {
        at_ms: now.now_ms,
        next,
    }
}
