//! Settling a doubt (DESIGN section 5), row by row.

use crate::play::*;
use oncegate_domain::doubt::{Dedup, Finding, key_window_end_ms};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::{Outcome, Proof};
use oncegate_domain::retry::RetryAfter;
use oncegate_domain::step::{LookupEnd, Move, Wait};

fn in_doubt(terms: oncegate_domain::doubt::Terms) -> Play {
    let mut play = Play::new(terms);
    play.attempt(Outcome::Unknown);
    play
}

#[test]
fn without_key_and_lookup_a_person_is_called_at_once() {
    assert_eq!(in_doubt(silent()).line(), "needs_review NoWayToAsk, in doubt");
}

#[test]
fn found_completes_without_a_second_request() {
    let mut play = in_doubt(asking());
    assert_eq!(play.line(), "retrying lookup 30, in doubt");
    assert_eq!(play.wake(), Move::Lookup);
    assert_eq!(play.lookup(Finding::Found).line(), "completed");
}

#[test]
fn no_lookup_before_the_effect_can_be_visible() {
    let mut play = in_doubt(asking());
    play.now_ms = 29_999;
    assert_eq!(play.next(), Move::WaitUntil(30_000));
    // A stale decision that asks too early proves nothing by *absent*.
    play.lookup(Finding::Absent);
    assert_eq!(play.step.doubt.as_ref().unwrap().absent_ms, None);
    // Never sooner than the request timeout, whatever was stated.
    let mut play = in_doubt(terms(Dedup::None, Some(1)));
    play.wake();
    assert_eq!(play.now_ms, TIMEOUT_MS as i64);
}

#[test]
fn after_a_crash_the_exchange_is_over_when_the_stored_intent_says() {
    let mut play = Play::new(asking());
    play.begin().intend();
    assert!(play.step.in_doubt());
    assert_eq!(play.step.due_ms(), Some(15_000));
    assert_eq!(play.crash().line(), "retrying lookup 15, in doubt");
    assert_eq!(
        (play.wake(), play.now_ms, play.step.attempts),
        (Move::Lookup, 45_000, 1)
    );
    assert_eq!(play.lookup(Finding::Found).line(), "completed");
}

#[test]
fn absent_is_conclusive_when_seen_twice_lookup_after_apart_and_allows_one_resend() {
    let mut play = in_doubt(asking());
    play.wake();
    assert_eq!(play.lookup(Finding::Absent).line(), "retrying lookup 30, in doubt");
    assert_eq!(play.wake(), Move::Lookup);
    assert_eq!(play.lookup(Finding::Absent).line(), "retrying lookup 0, in doubt");
    assert_eq!(play.wake(), Move::Resend);
    assert_eq!(play.attempt(CONFIRMED).line(), "completed");
}

#[test]
fn two_absents_too_close_together_are_one() {
    let mut play = in_doubt(asking());
    play.wake();
    play.lookup(Finding::Absent);
    play.now_ms += 29_999;
    assert_eq!(play.lookup(Finding::Absent).line(), "retrying lookup 0, in doubt");
    play.now_ms += 1;
    assert_eq!(play.next(), Move::Lookup);
}

#[test]
fn an_unclear_lookup_between_two_absents_does_not_matter() {
    let mut play = in_doubt(asking());
    for finding in [Finding::Absent, Finding::Unsure, Finding::Absent] {
        assert_eq!(play.wake(), Move::Lookup);
        play.lookup(finding);
    }
    assert_eq!(play.wake(), Move::Resend);
}

#[test]
fn a_second_doubt_is_looked_up_again_but_never_resent() {
    for terms in [asking(), keyed_asking()] {
        let mut play = in_doubt(terms);
        while play.wake() == Move::Lookup {
            play.lookup(Finding::Absent);
        }
        assert_eq!(play.wake(), Move::Resend);
        assert_eq!(play.attempt(Outcome::Unknown).line(), "retrying lookup 30, in doubt");
        while play.wake() == Move::Lookup {
            play.lookup(Finding::Absent);
        }
        assert_eq!(play.line(), "needs_review Absent, in doubt");
        // Not by the key either.
        let mut unclear = in_doubt(play.terms.clone());
        while unclear.wake() == Move::Lookup {
            unclear.lookup(Finding::Absent);
        }
        unclear.attempt(Outcome::Unknown);
        while unclear.wake() == Move::Lookup {
            unclear.lookup(Finding::Unsure);
        }
        assert_eq!(unclear.line(), "needs_review LookupUnclear, in doubt");
    }
}

#[test]
fn a_conclusive_absent_ends_the_doubt_with_the_intent_of_the_resend() {
    let mut play = in_doubt(asking());
    for _ in 0..2 {
        play.wake();
        play.lookup(Finding::Absent);
    }
    play.wake();
    play.begin().intend();
    let refused = play.end(REJECTED, Evidence::Answered(422));
    assert_eq!(play.ended(refused).line(), "needs_review Refused(Rejected)");
}

#[test]
fn a_resend_after_absent_that_could_not_connect_is_still_the_one_resend() {
    let mut play = in_doubt(asking());
    for _ in 0..2 {
        play.wake();
        play.lookup(Finding::Absent);
    }
    play.wake();
    play.begin();
    let unsent = play.end(Outcome::Unsent, Evidence::NothingSent);
    assert_eq!(play.ended(unsent).line(), "retrying lookup 4, in doubt");
    assert_eq!(play.wake(), Move::Resend);
}

#[test]
fn where_the_connection_says_so_an_absent_goes_to_a_person() {
    let mut terms = asking();
    terms.absent_to_review = true;
    let mut play = in_doubt(terms);
    play.wake();
    play.lookup(Finding::Absent).wake();
    assert_eq!(play.lookup(Finding::Absent).line(), "needs_review Absent, in doubt");
}

#[test]
fn one_absent_is_enough_while_the_key_protects_the_resend() {
    let mut play = in_doubt(keyed_asking());
    play.wake();
    assert_eq!(play.lookup(Finding::Absent).line(), "retrying lookup 0, in doubt");
    assert_eq!(play.next(), Move::Resend);
    // Held back until the window is over, it is one absent and nothing more.
    play.now_ms = 24 * HOUR_MS as i64;
    assert_eq!(play.next(), Move::Lookup);
    play.lookup(Finding::Absent);
    assert_eq!(play.next(), Move::Resend);
}

#[test]
fn unclear_lookups_are_repeated_with_backoff_within_the_policy_and_then_a_person_is_called() {
    let mut play = in_doubt(asking());
    let mut gaps = vec![];
    while play.wake() == Move::Lookup {
        let before_ms = play.now_ms;
        play.lookup(Finding::Unsure).wake();
        gaps.push((play.now_ms - before_ms) / 1000);
    }
    assert_eq!(gaps, [2, 4, 8, 16, 32, 64, 128, 0]);
    assert_eq!(
        (play.line().as_str(), play.step.lookups),
        ("needs_review LookupUnclear, in doubt", 8)
    );
}

#[test]
fn unclear_lookups_give_way_to_the_key_where_there_is_one() {
    let mut play = in_doubt(keyed_asking());
    while play.wake() == Move::Lookup {
        play.lookup(Finding::Unsure);
    }
    assert_eq!(play.next(), Move::Resend);
    assert_eq!(play.attempt(CONFIRMED).line(), "completed");
}

#[test]
fn a_lookup_that_could_not_ask_burns_nothing() {
    let mut play = in_doubt(asking());
    for (retry_after, hold, line) in [
        (RetryAfter::Until(150_000), None, "waiting rate_limited 120, in doubt"),
        (
            RetryAfter::None,
            Some((Wait::BreakerOpen, 180_000)),
            "waiting breaker_open 30, in doubt",
        ),
    ] {
        assert_eq!(play.wake(), Move::Lookup);
        play.begin();
        let (asked_ms, at_ms) = (play.now_ms, play.now_ms);
        play.looked_up(LookupEnd {
            asked_ms,
            at_ms,
            finding: Finding::Unsure,
            counted: false,
            retry_after,
            hold,
        });
        assert_eq!((play.line().as_str(), play.step.lookups), (line, 0));
    }
}

#[test]
fn with_a_key_it_is_resent_with_backoff_within_the_policy() {
    let mut play = in_doubt(keyed());
    assert_eq!(play.line(), "retrying lookup 2, in doubt");
    play.attempts(7, Outcome::Unknown);
    assert_eq!(
        (play.line().as_str(), play.step.attempts),
        ("needs_review AttemptsUsedUp, in doubt", 8)
    );
}

#[test]
fn a_resend_by_key_must_be_over_while_nine_tenths_of_the_window_last() {
    let mut play = in_doubt(terms(Dedup::Key { window_ms: 100_000 }, None));
    assert_eq!(key_window_end_ms(&play.step, &play.terms), Some(90_000));
    play.now_ms = 79_999;
    assert_eq!(play.next(), Move::Resend);
    play.now_ms = 80_000;
    assert_eq!(play.review().line(), "needs_review WindowOver, in doubt");
}

#[test]
fn a_resend_that_the_window_does_not_wait_for_is_not_waited_for() {
    let mut play = Play::new(terms(Dedup::Key { window_ms: 100_000 }, None));
    play.policy.first_ms = 80_000;
    assert_eq!(
        play.attempt(Outcome::Unknown).line(),
        "needs_review WindowOver, in doubt"
    );
    let mut play = in_doubt(terms(Dedup::Key { window_ms: 100_000 }, None));
    // Behind a breaker it waits for the window's end at most, and is looked at again then.
    assert_eq!(
        play.hold(Wait::BreakerOpen, 999_000).line(),
        "waiting breaker_open 80, in doubt"
    );
    assert!(matches!(play.wake(), Move::Review(_)));
}

#[test]
fn the_window_counts_from_the_first_intent_even_where_it_was_refused() {
    let mut play = Play::new(terms(Dedup::Key { window_ms: 100_000 }, None));
    play.attempt(UNAUTHORIZED);
    play.now_ms = 79_000;
    play.attempt(Outcome::Unknown);
    assert_eq!(play.line(), "needs_review WindowOver, in doubt");
}

#[test]
fn a_natural_repeat_is_sent_within_its_time_and_only_while_nothing_newer_was_sent() {
    let mut play = in_doubt(natural());
    assert_eq!(play.wake(), Move::Resend);
    play.now_ms = 599_999;
    assert_eq!(play.next(), Move::Resend);
    play.now_ms = 600_000;
    assert_eq!(play.review().line(), "needs_review WindowOver, in doubt");
    let mut play = in_doubt(natural());
    play.overtaken = true;
    play.wake();
    assert_eq!(play.review().line(), "needs_review Overtaken, in doubt");
}

/// C21: a contact with that address existed before, with another phone number.
#[test]
fn a_natural_lookup_comes_first_and_anything_but_found_allows_the_repeat() {
    let terms = terms(
        Dedup::Natural {
            repeat_within_ms: 600_000,
        },
        Some(30_000),
    );
    for (finding, line) in [
        (Finding::Found, "completed"),
        (Finding::Absent, "retrying lookup 0, in doubt"),
        (Finding::Unsure, "retrying lookup 0, in doubt"),
    ] {
        let mut play = in_doubt(terms.clone());
        assert_eq!(play.wake(), Move::Lookup);
        assert_eq!(play.lookup(finding).line(), line);
        if finding != Finding::Found {
            assert_eq!(play.next(), Move::Resend);
            // The absent of a content lookup proves nothing about our request: refused now, it is still in doubt.
            assert!(play.attempt(REJECTED).step.in_doubt());
            let mut again = in_doubt(terms.clone());
            again.wake();
            again.lookup(finding).attempt(Outcome::Unknown);
            assert_eq!(again.wake(), Move::Lookup, "each doubt is looked up first");
        }
    }
}

#[test]
fn an_accepted_order_is_asked_for_and_never_resent() {
    for terms in [asking(), keyed_asking(), keyed(), natural()] {
        let mut play = Play::new(terms.clone());
        play.attempt(Outcome::Confirmed(Proof::Accepted));
        while play.wake() == Move::Lookup {
            assert_eq!(terms.lookup_after_ms, Some(30_000));
            play.lookup(Finding::Unsure);
        }
        assert_eq!(play.step.state.as_str(), "needs_review");
    }
    let mut play = Play::new(asking());
    play.attempt(Outcome::Confirmed(Proof::Accepted)).wake();
    assert_eq!(play.lookup(Finding::Found).line(), "completed");
}

#[test]
fn a_resend_is_sent_within_72_hours_of_ready_however_long_the_window_is() {
    let mut play = in_doubt(terms(
        Dedup::Key {
            window_ms: 999 * HOUR_MS,
        },
        None,
    ));
    play.now_ms = 72 * HOUR_MS as i64;
    assert_eq!(play.next(), Move::Resend);
    play.now_ms += 1;
    assert_eq!(play.review().line(), "needs_review WaitedTooLong, in doubt");
}
