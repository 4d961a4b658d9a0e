//! What follows for a step: decisions only, carried out by [`apply`](crate::step::apply).

use crate::doubt::{Blocked, Circumstances, Finding, Terms};
use crate::evidence::Evidence;
use crate::outcome::Outcome;
use crate::retry::{Policy, RetryAfter};
use crate::step::{Event, Next, Review, Step, Wait};

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
    /// What the destination (or, for its own step, the connector) said about waiting.
    pub retry_after: RetryAfter,
    /// The connection cannot be used before this moment: breaker, block, pause, rate.
    pub hold: Option<(Wait, i64)>,
    /// The resend was denied because it is not the recorded request, or not the place of the intent.
    pub blocked: Option<Blocked>,
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
pub fn after_attempt(_step: &Step, end: &AttemptEnd, _terms: &Terms, _policy: &Policy, _now: &Circumstances) -> Event {
    Event::Hold {
        at_ms: end.at_ms,
        next: Next::Complete,
    }
}

/// What follows a lookup of `step`.
pub fn after_lookup(_step: &Step, end: &LookupEnd, _terms: &Terms, _policy: &Policy, _now: &Circumstances) -> Event {
    Event::Hold {
        at_ms: end.at_ms,
        next: Next::Complete,
    }
}

/// What to do with `step` now. Asked right before every attempt and lookup, for windows close while a step waits.
pub fn next_move(_step: &Step, _terms: &Terms, _policy: &Policy, _now: &Circumstances) -> Move {
    Move::Nothing
}

/// The step cannot go on before `until_ms` for a reason that burns nothing: waits, within the bounds on waiting, or goes to
/// a person.
pub fn hold(_step: &Step, wait: Wait, until_ms: i64, _terms: &Terms, _policy: &Policy, now: &Circumstances) -> Event {
    Event::Hold {
        at_ms: now.now_ms,
        next: Next::Wait { reason: wait, until_ms },
    }
}
