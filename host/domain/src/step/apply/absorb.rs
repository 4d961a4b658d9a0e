//! What the end of an attempt or a lookup changes in a step, whatever follows: the doubt and the counters.

use crate::doubt::{AbsentProof, Doubt, Finding, Forgotten};
use crate::evidence::Evidence;
use crate::outcome::{Outcome, Proof, Refusal};
use crate::step::{OpenIntent, Step, Suspicion};

/// What an attempt's end changes, whatever follows. Evidence settles the doubt of *this* attempt's intent; a doubt that
/// another attempt left stays, unless the effect is confirmed (invariant 6).
pub(in crate::step) fn absorb_attempt(
    step: &Step,
    at_ms: i64,
    outcome: Outcome,
    evidence: Evidence,
    counted: bool,
    over_ms: i64,
) -> Step {
    let mut after = step.clone();
    let intent = after.open_intent.take();
    count(&mut after, at_ms, counted);
    match outcome {
        Outcome::Confirmed(Proof::Answered(_) | Proof::FoundAlreadyThere) => after.doubt = None,
        Outcome::Confirmed(Proof::Accepted) => {
            after.doubt = Some(left_doubt(&after, intent, at_ms, evidence, over_ms));
            after.resend_spent = true;
        }
        Outcome::Unknown => after.doubt = Some(left_doubt(&after, intent, at_ms, evidence, over_ms)),
        Outcome::Refused(Refusal::Permanent(_)) => after.refusals = after.refusals.saturating_add(1),
        // It was its turn, and the destination asked for a new wait.
        Outcome::Refused(Refusal::RateLimited) => after.waiting_since_ms = Some(at_ms),
        Outcome::Refused(Refusal::Temporary | Refusal::Unauthorized) | Outcome::Unsent => {}
    }
    after
}

/// What it changes that a refusal was no matter of the connection. Its end was absorbed when it came, as one that counts
/// nothing.
pub(in crate::step) fn absorb_verdict(step: &Step, at_ms: i64, counted: bool) -> Step {
    let mut after = step.clone();
    if counted {
        count(&mut after, at_ms, true);
    }
    after
}

fn count(after: &mut Step, at_ms: i64, counted: bool) {
    burn(after, at_ms, counted);
    if counted {
        after.attempts = after.attempts.saturating_add(1);
    }
}

/// A new doubt takes the place of an old one, but keeps its beginning; what lookups said before it proves nothing now.
fn left_doubt(step: &Step, intent: Option<OpenIntent>, at_ms: i64, evidence: Evidence, over_ms: i64) -> Doubt {
    let sent_ms = intent.map_or(at_ms, |intent| intent.at_ms);
    let (since_ms, over_ms) = step
        .doubt
        .as_ref()
        .map_or((sent_ms, over_ms), |old| (old.since_ms, old.over_ms.max(over_ms)));
    let status = match evidence {
        Evidence::Answered(status) => Some(status),
        Evidence::None | Evidence::NothingSent | Evidence::MaybeSent => None,
    };
    Doubt {
        since_ms,
        over_ms,
        status,
        asked: false,
        absent_ms: None,
        absent_proof: None,
        ask_first: false,
        blocked: None,
        // From here on there is a request that the ledger knows.
        forgotten: step
            .doubt
            .as_ref()
            .and_then(|old| old.forgotten)
            .map(|forgotten| Forgotten {
                beside_known: true,
                ..forgotten
            }),
    }
}

/// What it changes that the step may have been sent and the ledger has forgotten it. The doubt that was there stays, but what
/// lookups said before proves nothing about a request that came after them.
pub(in crate::step) fn absorb_suspicion(step: &Step, suspicion: &Suspicion) -> Step {
    let old = step.doubt.as_ref();
    let earliest = |known_ms: i64| known_ms.min(suspicion.from_ms);
    let doubt = Doubt {
        since_ms: old.map_or(suspicion.from_ms, |old| earliest(old.since_ms)),
        over_ms: old.map_or(suspicion.over_ms, |old| old.over_ms.max(suspicion.over_ms)),
        status: old.and_then(|old| old.status),
        asked: false,
        absent_ms: None,
        absent_proof: None,
        ask_first: old.is_some_and(|old| old.ask_first),
        blocked: old.and_then(|old| old.blocked),
        forgotten: Some(Forgotten {
            same_key: suspicion.same_key && old.is_none_or(Doubt::is_under_our_key),
            beside_known: step.doubts_known_request(),
        }),
    };
    Step {
        first_intent_ms: Some(step.first_intent_ms.map_or(suspicion.from_ms, earliest)),
        suspected_ms: Some(suspicion.found_ms),
        doubt: Some(doubt),
        ..step.clone()
    }
}

/// What a lookup's end changes, whatever follows.
pub(in crate::step) fn absorb_lookup(
    step: &Step,
    at_ms: i64,
    finding: Finding,
    counted: bool,
    absent_proof: Option<AbsentProof>,
) -> Step {
    let mut after = step.clone();
    burn(&mut after, at_ms, counted);
    if counted {
        after.lookups = after.lookups.saturating_add(1);
    }
    if let Some(doubt) = &mut after.doubt {
        doubt.asked |= counted;
        doubt.ask_first &= !counted;
        match finding {
            Finding::Found => after.doubt = None,
            Finding::Absent => {
                doubt.absent_ms = Some(doubt.absent_ms.unwrap_or(at_ms));
                doubt.absent_proof = absent_proof;
            }
            Finding::Unsure => {}
        }
    }
    after
}

/// A try that counts ends the waiting; one that does not is waiting.
fn burn(after: &mut Step, at_ms: i64, counted: bool) {
    if counted {
        after.uncounted = 0;
        after.waiting_since_ms = None;
    } else {
        after.uncounted = after.uncounted.saturating_add(1);
        after.waiting_since_ms = Some(after.waiting_since_ms.unwrap_or(at_ms));
    }
}
