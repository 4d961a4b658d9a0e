//! Doubt sticks to the step (invariant 6), through later attempts, crashes, other hosts and other places.

use crate::play::*;
use oncegate_domain::doubt::{Blocked, Dedup, Finding, Way, way};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::retry::RetryAfter;
use oncegate_domain::step::{AttemptEnd, Event, Move, Next, Retry, Wait};

fn in_doubt(terms: oncegate_domain::doubt::Terms) -> Play {
    let mut play = Play::new(terms);
    play.attempt(Outcome::Unknown);
    play
}

/// C16: attempt 1 unknown, attempt 2 connection refused, 401, 422, denied or a trap before sending: still in doubt.
#[test]
fn doubt_sticks_to_the_step_whatever_a_later_attempt_brings() {
    for (outcome, evidence) in [
        (Outcome::Unsent, Evidence::NothingSent),
        (UNAUTHORIZED, Evidence::Answered(401)),
        (REJECTED, Evidence::Answered(422)),
        (FAULT, Evidence::None),
        (DENIED, Evidence::None),
        (RATE_LIMITED, Evidence::Answered(429)),
        (TEMPORARY, Evidence::Answered(503)),
        (Outcome::Unknown, Evidence::MaybeSent),
    ] {
        for crash in [false, true] {
            let mut play = in_doubt(keyed());
            assert_eq!(play.wake(), Move::Resend);
            play.begin();
            if evidence != Evidence::None {
                play.intend();
            }
            if crash {
                play.crash();
            } else {
                let end = play.end(outcome, evidence);
                play.ended(end);
            }
            assert!(play.step.in_doubt(), "{outcome:?}");
            assert_eq!(play.wake(), Move::Resend, "{outcome:?}: {}", play.line());
            play.now_ms = 22 * HOUR_MS as i64;
            assert_eq!(play.review().line(), "needs_review WindowOver, in doubt");
            assert!(oncegate_domain::review::effect_may_exist(&play.step));
        }
    }
}

#[test]
fn a_refused_first_attempt_leaves_no_doubt() {
    let mut play = Play::new(keyed());
    play.begin().intend();
    assert!(play.step.in_doubt(), "until evidence says otherwise");
    let end = play.end(TEMPORARY, Evidence::Answered(503));
    assert_eq!(play.ended(end).line(), "retrying backoff 2");
}

/// C23.
#[test]
fn at_another_place_nothing_is_asked_and_nothing_is_sent() {
    for terms in [asking(), keyed(), natural(), keyed_asking()] {
        let mut play = in_doubt(terms);
        play.wake();
        play.blocked = Some(Blocked::PlaceChanged);
        assert_eq!(play.review().line(), "needs_review Blocked(PlaceChanged), in doubt");
        // Put right again and asked to go on, it goes on.
        play.blocked = None;
        play.retry(false);
        assert!(!matches!(play.next(), Move::Perform));
    }
}

#[test]
fn a_request_that_is_not_the_recorded_one_goes_to_a_person_in_doubt() {
    let mut play = in_doubt(keyed());
    play.wake();
    play.begin();
    let denied = play.end(DENIED, Evidence::None);
    play.ended(AttemptEnd {
        blocked: Some(Blocked::RequestChanged),
        ..denied
    });
    assert_eq!(play.line(), "needs_review Blocked(RequestChanged), in doubt");
}

#[test]
fn the_intent_of_another_host_is_resent_only_under_a_key() {
    let mut play = in_doubt(keyed());
    play.blocked = Some(Blocked::OtherHost);
    assert_eq!(play.wake(), Move::Resend);
    let mut play = in_doubt(natural());
    play.blocked = Some(Blocked::OtherHost);
    play.wake();
    assert_eq!(play.review().line(), "needs_review Blocked(OtherHost), in doubt");
    // Asking is allowed; a conclusive absent is not a licence to send.
    let mut play = in_doubt(asking());
    play.blocked = Some(Blocked::OtherHost);
    while play.wake() == Move::Lookup {
        play.lookup(Finding::Absent);
    }
    assert_eq!(play.line(), "needs_review Blocked(OtherHost), in doubt");
}

#[test]
fn a_crash_keeps_an_older_doubt_and_what_is_known_of_it() {
    let mut play = in_doubt(keyed());
    let since_ms = play.step.in_doubt_since_ms();
    play.wake();
    play.begin();
    assert_eq!(play.crash().line(), "retrying lookup 0, in doubt");
    play.begin().intend().crash();
    assert_eq!(play.step.in_doubt_since_ms(), since_ms);
    assert_eq!(play.step.attempts, 2);
    assert_eq!(play.line(), "retrying lookup 15, in doubt");
}

#[test]
fn while_in_doubt_told_waits_are_obeyed_and_too_long_ones_end_in_review_with_doubt() {
    let told = |wait_ms: i64| {
        let mut play = in_doubt(keyed());
        play.wake();
        play.begin().intend();
        let end = play.end(RATE_LIMITED, Evidence::Answered(429));
        let at = RetryAfter::Until(play.now_ms + wait_ms);
        play.ended(AttemptEnd { retry_after: at, ..end }).line()
    };
    assert_eq!(told(120_000), "waiting rate_limited 120, in doubt");
    assert_eq!(told(22 * HOUR_MS as i64), "needs_review WindowOver, in doubt");
    assert_eq!(told(25 * HOUR_MS as i64), "needs_review WaitedTooLong, in doubt");
}

#[test]
fn a_lookup_that_is_held_back_for_too_long_goes_to_a_person_in_doubt() {
    let mut play = in_doubt(asking());
    while play.wake() == Move::Lookup {
        play.hold(Wait::Paused, 60_000);
    }
    assert_eq!(play.line(), "needs_review WaitedTooLong, in doubt");
}

#[test]
fn way_is_the_same_as_the_next_move_and_none_without_a_doubt() {
    let play = in_doubt(keyed());
    let now = play.circumstances();
    assert_eq!(
        way(&play.step, &play.terms, &play.policy, &now),
        Some(Way::Resend { at_ms: 2_000 })
    );
    let play = in_doubt(asking());
    let now = play.circumstances();
    assert_eq!(
        way(&play.step, &play.terms, &play.policy, &now),
        Some(Way::Lookup { at_ms: 30_000 })
    );
    let play = Play::new(asking());
    assert_eq!(way(&play.step, &play.terms, &play.policy, &play.circumstances()), None);
}

#[test]
fn what_is_sent_again_in_doubt_is_never_called_backoff() {
    let mut play = in_doubt(keyed());
    let backoff = Next::Retry {
        reason: Retry::Backoff,
        until_ms: 0,
    };
    assert!(
        play.tried(Event::Hold {
            at_ms: 0,
            next: backoff
        })
        .is_err()
    );
    play.wake();
    assert_eq!(play.attempt(TEMPORARY).line(), "retrying lookup 4, in doubt");
}

#[test]
fn a_new_doubt_is_over_when_the_last_exchange_is_and_forgets_what_lookups_said() {
    let mut play = Play::new(terms(
        Dedup::Natural {
            repeat_within_ms: 600_000,
        },
        Some(30_000),
    ));
    play.begin()
        .apply(Event::Intend {
            at_ms: 0,
            over_ms: 100_000,
        })
        .crash();
    play.wake();
    play.lookup(Finding::Absent);
    assert_eq!(play.step.doubt.as_ref().unwrap().absent_ms, Some(130_000));
    play.begin().intend();
    let early = play.end(Outcome::Unknown, Evidence::MaybeSent);
    play.ended(AttemptEnd {
        over_ms: 20_000,
        ..early
    });
    let doubt = play.step.doubt.clone().unwrap();
    assert_eq!(
        (doubt.since_ms, doubt.over_ms, doubt.absent_ms, doubt.asked),
        (0, 100_000, None, false)
    );
}
