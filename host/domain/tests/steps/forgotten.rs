//! A ledger that may have forgotten (DESIGN section 8): what had not been sent as far as it knows begins in doubt.

use crate::play::*;
use oncegate_domain::doubt::{Blocked, Dedup, Effect, Finding, Terms};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::retry::Policy;
use oncegate_domain::review::{RetryOffer, resend_safe_until_ms, retry_offer};
use oncegate_domain::step::{self, Event, Move, Next, Step, Suspicion, Wait};

const MINUTE_MS: i64 = 60_000;

/// The ledger remembers all until `from_ms`, and was found to have forgotten at 10 min.
fn forgotten_from(from_ms: i64) -> Suspicion {
    Suspicion {
        found_ms: 10 * MINUTE_MS,
        from_ms,
        over_ms: 10 * MINUTE_MS + 15_000,
        same_key: true,
    }
}

fn suspect(play: &mut Play, suspicion: Suspicion) -> &mut Play {
    play.now_ms = play.now_ms.max(suspicion.found_ms);
    let now = play.circumstances();
    let event = step::suspect(&play.step, &suspicion, Some(&play.terms), &play.policy, &now);
    play.apply(event.unwrap());
    play.step = stored(&play.step);
    play
}

fn restored(terms: Terms, suspicion: Suspicion) -> Play {
    let mut play = Play::new(terms);
    suspect(&mut play, suspicion);
    play
}

#[test]
fn what_was_never_sent_as_far_as_is_known_begins_in_doubt_and_goes_its_way() {
    let line = |terms| restored(terms, forgotten_from(5 * MINUTE_MS)).line();
    // Nobody asks before a forgotten exchange is over and its effect can be seen.
    assert_eq!(line(asking()), "retrying lookup 45, in doubt");
    assert_eq!(line(keyed_asking()), "retrying lookup 45, in doubt");
    assert_eq!(line(keyed()), "retrying lookup 0, in doubt");
    assert_eq!(line(silent()), "needs_review Forgotten, in doubt");
    // A newer value of the same thing may be forgotten as well.
    assert_eq!(line(natural()), "needs_review Forgotten, in doubt");
}

#[test]
fn found_completes_and_absent_must_be_proven_before_the_one_request_that_is_left() {
    let mut play = restored(asking(), forgotten_from(0));
    assert_eq!(play.wake(), Move::Lookup);
    assert_eq!(play.clone().lookup(Finding::Found).line(), "completed");
    play.lookup(Finding::Absent);
    assert_eq!(play.wake(), Move::Lookup, "once is not enough without a key");
    play.lookup(Finding::Absent);
    assert_eq!(play.wake(), Move::Resend);
    play.attempt(Outcome::Unknown);
    while play.wake() == Move::Lookup {
        play.lookup(Finding::Absent);
    }
    assert_eq!(
        play.line(),
        "needs_review Absent, in doubt",
        "its first request from here was the one of its life"
    );
}

#[test]
fn a_key_window_began_when_the_step_may_first_have_been_sent() {
    let day_ms = 24 * HOUR_MS as i64;
    let found = |found_ms: i64, from_ms: i64| Suspicion {
        found_ms,
        from_ms,
        over_ms: found_ms + 15_000,
        same_key: true,
    };
    let open = restored(keyed(), found(day_ms, day_ms - 20 * HOUR_MS as i64));
    assert_eq!(open.next(), Move::Resend);
    assert_eq!(
        resend_safe_until_ms(&open.step, &open.terms),
        Some(day_ms - 20 * HOUR_MS as i64 + day_ms / 10 * 9 - TIMEOUT_MS as i64)
    );
    let closed = restored(keyed(), found(day_ms, day_ms - 22 * HOUR_MS as i64));
    assert_eq!(closed.line(), "needs_review WindowOver, in doubt");
    // What is known of an earlier intent counts as well.
    let mut earlier = Play::new(keyed());
    earlier.attempt(TEMPORARY);
    suspect(&mut earlier, found(23 * HOUR_MS as i64, 20 * HOUR_MS as i64));
    assert_eq!(earlier.line(), "needs_review WindowOver, in doubt");
}

#[test]
fn where_the_key_may_have_been_another_no_key_is_leant_on() {
    let other = Suspicion {
        same_key: false,
        ..forgotten_from(5 * MINUTE_MS)
    };
    let play = restored(keyed(), other);
    assert_eq!(play.line(), "needs_review Forgotten, in doubt");
    assert_eq!(resend_safe_until_ms(&play.step, &play.terms), None);
    let mut play = restored(keyed_asking(), other);
    play.wake();
    play.lookup(Finding::Absent);
    assert_eq!(
        play.wake(),
        Move::Lookup,
        "seen once it proves only together with the key"
    );
}

#[test]
fn a_doubt_that_is_known_stays_and_what_lookups_said_before_proves_nothing() {
    let mut play = Play::new(asking());
    play.attempt(Outcome::Unknown);
    play.wake();
    play.lookup(Finding::Absent);
    assert!(play.step.doubts_known_request());
    suspect(&mut play, forgotten_from(5 * MINUTE_MS));
    assert!(
        play.step.doubts_known_request(),
        "a resend must equal the recorded request"
    );
    assert_eq!(play.step.in_doubt_since_ms(), Some(0));
    let doubt = play.step.doubt.clone().unwrap();
    assert_eq!(
        (doubt.absent_ms, doubt.asked, doubt.over_ms),
        (None, false, 10 * MINUTE_MS + 15_000)
    );
    assert_eq!(play.line(), "retrying lookup 45, in doubt");
}

#[test]
fn a_step_without_a_known_request_has_none_until_it_sends_one() {
    let mut play = restored(keyed(), forgotten_from(5 * MINUTE_MS));
    assert!(!play.step.doubts_known_request());
    play.wake();
    play.attempt(Outcome::Unknown);
    assert!(play.step.doubts_known_request());
}

#[test]
fn it_is_put_in_doubt_once_for_each_time_that_the_ledger_forgot() {
    let mut play = restored(silent(), forgotten_from(0));
    assert_eq!(retry_offer(&play.step, &play.terms), Some(RetryOffer::NeedsStatement));
    // A person has looked: it goes like any other from now on.
    play.retry(true);
    let again = |play: &Play, suspicion| {
        let now = play.circumstances();
        step::suspect(&play.step, &suspicion, Some(&play.terms), &play.policy, &now)
    };
    assert_eq!(again(&play, forgotten_from(0)), None);
    assert_eq!(play.wake(), Move::Perform);
    let later = Suspicion {
        found_ms: 11 * MINUTE_MS,
        ..forgotten_from(0)
    };
    assert!(again(&play, later).is_some());
}

#[test]
fn what_cannot_have_been_sent_is_left_alone() {
    let suspicion = forgotten_from(0);
    let policy = Policy::default();
    let now = Play::new(silent()).circumstances();
    let of = |step: &Step, terms: &Terms| step::suspect(step, &suspicion, Some(terms), &policy, &now);
    let reads = Terms {
        effect: Effect::Read,
        ..silent()
    };
    assert_eq!(of(&Play::new(silent()).step, &reads), None);
    assert_eq!(of(&Step::new(), &silent()), None, "it waits for another step");
    let mut done = Play::new(silent());
    done.attempt(CONFIRMED);
    assert_eq!(of(&done.step, &silent()), None);
    let mut under_way = Play::new(silent());
    under_way.begin().intend();
    assert_eq!(of(&under_way.step, &silent()), None, "its attempt ends first");
    let next = Next::Complete;
    for step in [&Step::new(), &done.step, &under_way.step] {
        assert!(step::apply(step, &Event::Suspect { suspicion, next }).is_err());
    }
    let mut suspected = restored(silent(), suspicion);
    assert!(suspected.tried(Event::Suspect { suspicion, next }).is_err());
    assert_eq!(suspected.crash().line(), "needs_review Forgotten, in doubt");
}

#[test]
fn where_the_place_may_be_another_or_nothing_is_approved_any_more_a_person_decides() {
    let mut play = Play::new(keyed_asking());
    play.blocked = Some(Blocked::PlaceChanged);
    suspect(&mut play, forgotten_from(0));
    assert_eq!(play.line(), "needs_review Blocked(PlaceChanged), in doubt");
    let mut play = Play::new(keyed_asking());
    let now = play.circumstances();
    let event = step::suspect(&play.step, &forgotten_from(0), None, &play.policy, &now);
    assert_eq!(
        play.apply(event.unwrap()).line(),
        "needs_review Blocked(PlaceChanged), in doubt"
    );
}

#[test]
fn refused_waiting_or_cancelled_it_is_settled_before_anything_else() {
    let suspicion = forgotten_from(0);
    let mut refused = Play::new(asking());
    refused.attempt(TEMPORARY);
    assert_eq!(suspect(&mut refused, suspicion).line(), "retrying lookup 45, in doubt");
    let mut waiting = Play::new(asking());
    waiting.hold(Wait::Paused, MINUTE_MS);
    assert_eq!(suspect(&mut waiting, suspicion).line(), "retrying lookup 45, in doubt");
    let mut cancelled = Play::new(asking());
    cancelled.begin().intend();
    let end = cancelled.end(Outcome::Unknown, Evidence::MaybeSent);
    cancelled.ended(end);
    cancelled.apply(Event::Cancel { at_ms: 0 });
    assert_eq!(suspect(&mut cancelled, suspicion).line(), "cancelling 45, in doubt");
    // In front of a person as "does not exist", and then cancelled: it is looked up all the same.
    let mut rejected = Play::new(asking());
    rejected.attempt(REJECTED);
    suspect(&mut rejected, suspicion).apply(Event::Cancel { at_ms: 10 * MINUTE_MS });
    assert_eq!(rejected.line(), "cancelling 45, in doubt");
}

#[test]
fn a_natural_step_is_asked_about_and_then_goes_to_a_person() {
    let terms = terms(
        Dedup::Natural {
            repeat_within_ms: 600_000,
        },
        Some(30_000),
    );
    let mut play = restored(terms, forgotten_from(9 * MINUTE_MS));
    assert_eq!(play.wake(), Move::Lookup);
    assert_eq!(play.clone().lookup(Finding::Found).line(), "completed");
    assert_eq!(play.lookup(Finding::Absent).line(), "needs_review Forgotten, in doubt");
}
