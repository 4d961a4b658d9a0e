//! "From outcome to step" (DESIGN section 3) and waiting (section 4), for steps in no doubt.

use crate::play::*;
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::{Outcome, Proof};
use oncegate_domain::retry::{Policy, RetryAfter};
use oncegate_domain::step::{AttemptEnd, Move, Review, Wait};

#[test]
fn each_outcome_leads_where_the_table_says() {
    for (outcome, line) in [
        (CONFIRMED, "completed"),
        (Outcome::Confirmed(Proof::FoundAlreadyThere), "completed"),
        (Outcome::Unsent, "retrying backoff 2"),
        (TEMPORARY, "retrying backoff 2"),
        (UNAUTHORIZED, "retrying backoff 2"),
        (RATE_LIMITED, "waiting rate_limited 2"),
        (REJECTED, "needs_review Refused(Rejected)"),
        (DENIED, "needs_review Refused(Denied)"),
        (FAULT, "needs_review Refused(ConnectorFault)"),
        (Outcome::Unknown, "needs_review NoWayToAsk, in doubt"),
        (Outcome::Confirmed(Proof::Accepted), "needs_review NoWayToAsk, in doubt"),
    ] {
        let mut play = Play::new(silent());
        assert_eq!(play.next(), Move::Perform);
        assert_eq!(play.attempt(outcome).line(), line, "{outcome:?}");
    }
}

#[test]
fn a_passing_problem_is_tried_as_often_as_the_policy_says_with_growing_gaps() {
    let mut play = Play::new(silent());
    let mut gaps = vec![];
    for _ in 0..7 {
        let before_ms = play.now_ms;
        play.attempts(1, TEMPORARY).wake();
        gaps.push((play.now_ms - before_ms) / 1000);
    }
    assert_eq!(gaps, [2, 4, 8, 16, 32, 64, 128]);
    assert_eq!(play.attempts(1, TEMPORARY).line(), "needs_review AttemptsUsedUp");
    assert_eq!((play.step.attempts, play.next()), (8, Move::Nothing));
}

#[test]
fn a_last_attempt_that_succeeds_completes() {
    let mut play = Play::new(silent());
    assert_eq!(
        play.attempts(7, Outcome::Unsent).attempts(1, CONFIRMED).line(),
        "completed"
    );
}

#[test]
fn the_policy_may_ask_for_more_refusals_before_a_person_is_called() {
    let mut play = Play::new(silent());
    play.policy = Policy {
        refusals: 3,
        ..Policy::default()
    };
    assert_eq!(play.attempts(2, REJECTED).line(), "retrying backoff 4");
    assert_eq!(play.attempts(1, REJECTED).line(), "needs_review Refused(Rejected)");
    play = Play::new(silent());
    play.policy = Policy {
        refusals: 30,
        attempts: 2,
        ..Policy::default()
    };
    assert_eq!(play.attempts(2, REJECTED).line(), "needs_review Refused(Rejected)");
}

#[test]
fn being_told_to_wait_burns_no_attempt_and_is_obeyed() {
    let mut play = Play::new(silent());
    for _ in 0..20 {
        assert_eq!(play.wake(), Move::Perform);
        play.begin().intend();
        let told = play.end(RATE_LIMITED, Evidence::Answered(429));
        play.ended(AttemptEnd {
            retry_after: RetryAfter::Until(play.now_ms + 120_000),
            ..told
        });
        assert_eq!(
            (play.line().as_str(), play.step.attempts),
            ("waiting rate_limited 120", 0)
        );
    }
}

#[test]
fn jitter_makes_a_told_wait_longer_and_never_shorter_nor_too_long() {
    let day_ms = 24 * HOUR_MS as i64;
    for (told_ms, most_ms) in [(120_000, 132_000), (day_ms - 1_000, day_ms), (day_ms, day_ms)] {
        for jitter in [-1.0, -0.3, 0.4, 1.0] {
            let mut play = Play::new(silent());
            play.begin().intend();
            let told = play.end(RATE_LIMITED, Evidence::Answered(429));
            let told = AttemptEnd {
                retry_after: RetryAfter::Until(play.now_ms + told_ms),
                ..told
            };
            let mut now = play.circumstances();
            now.jitter = jitter;
            let event = oncegate_domain::step::after_attempt(&play.step, &told, &play.terms, &play.policy, &now);
            let due_ms = play.apply(event).step.due_ms().unwrap();
            assert!((told_ms..=most_ms).contains(&due_ms), "{due_ms}");
            assert!(due_ms > told_ms || told_ms == most_ms, "all at its first moment");
            assert!(play.line().starts_with("waiting rate_limited"), "{}", play.line());
        }
    }
}

#[test]
fn a_rate_limit_without_a_time_waits_longer_and_longer() {
    let mut play = Play::new(silent());
    let mut gaps = vec![];
    for _ in 0..13 {
        assert_eq!(play.wake(), Move::Perform);
        let before_ms = play.now_ms;
        play.attempt(RATE_LIMITED).wake();
        gaps.push((play.now_ms - before_ms) / 1000);
    }
    assert_eq!(gaps, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600, 600]);
    assert_eq!(play.step.attempts, 0);
}

#[test]
fn a_wait_longer_than_the_flow_allows_goes_to_a_person_with_that_reason() {
    let day_ms = 24 * HOUR_MS as i64;
    for (told_ms, line) in [
        (day_ms, "waiting rate_limited 86400"),
        (day_ms + 1, "needs_review ToldToWaitTooLong"),
        (i64::MAX, "needs_review ToldToWaitTooLong"),
    ] {
        for outcome in [RATE_LIMITED, TEMPORARY] {
            let mut play = Play::new(silent());
            play.begin().intend();
            let told = play.end(outcome, Evidence::Answered(429));
            play.ended(AttemptEnd {
                retry_after: RetryAfter::Until(told_ms),
                ..told
            });
            let line = if outcome == TEMPORARY {
                line.replace("waiting rate_limited", "retrying backoff")
            } else {
                line.into()
            };
            assert_eq!(play.line(), line);
        }
    }
}

#[test]
fn a_rate_limit_that_never_ends_ends_in_review_72_hours_after_ready() {
    let mut play = Play::new(silent());
    while play.wake() == Move::Perform {
        play.attempt(RATE_LIMITED);
    }
    assert_eq!(play.line(), "needs_review WaitedTooLong");
    assert!(
        (play.now_ms as u64) <= 72 * HOUR_MS && (play.now_ms as u64) > 71 * HOUR_MS,
        "{}",
        play.now_ms
    );
}

#[test]
fn time_behind_a_breaker_or_a_block_burns_nothing_and_is_bounded() {
    let mut play = Play::new(silent());
    for _ in 0..180 {
        assert_eq!(play.wake(), Move::Perform);
        play.hold(Wait::BreakerOpen, 60_000);
    }
    // Three hours later it is simply tried.
    assert_eq!((play.wake(), play.step.attempts), (Move::Perform, 0));
    while play.wake() == Move::Perform {
        play.hold(Wait::ConnectionBlocked, 60_000);
    }
    assert_eq!(play.line(), "needs_review WaitedTooLong");
    assert_eq!(play.now_ms as u64, 24 * HOUR_MS);
}

#[test]
fn a_wait_of_unknown_length_is_looked_at_again_at_the_bound_and_not_given_up_before() {
    let mut play = Play::new(silent());
    assert_eq!(
        play.hold(Wait::Paused, 100 * HOUR_MS as i64).line(),
        "waiting paused 86400"
    );
    assert_eq!(play.wake(), Move::Perform);
}

#[test]
fn all_waits_and_backoffs_together_end_72_hours_after_ready() {
    let mut play = Play::new(silent());
    play.policy.attempts = 100;
    while play.wake() == Move::Perform {
        play.hold(Wait::BreakerOpen, 23 * HOUR_MS as i64);
        if play.wake() == Move::Perform {
            play.attempt(TEMPORARY);
        }
    }
    assert_eq!(play.line(), "needs_review WaitedTooLong");
    assert!(play.now_ms as u64 <= 72 * HOUR_MS && play.now_ms as u64 >= 69 * HOUR_MS);
}

#[test]
fn a_step_that_slept_through_its_time_is_not_sent_late() {
    let mut play = Play::new(silent());
    play.now_ms = 72 * HOUR_MS as i64;
    assert_eq!(play.next(), Move::Perform);
    play.now_ms += 1;
    assert_eq!(play.next(), Move::Review(Review::WaitedTooLong));
    assert_eq!(play.review().line(), "needs_review WaitedTooLong");
}

#[test]
fn an_attempt_counts_when_it_tried_to_connect_or_send() {
    let unsent = |tried, hold, evidence, outcome| {
        let mut play = Play::new(silent());
        play.begin();
        if evidence != Evidence::None {
            play.intend();
        }
        let end = play.end(outcome, evidence);
        play.ended(AttemptEnd { tried, hold, ..end });
        (play.step.attempts, play.line())
    };
    let breaker = Some((Wait::BreakerOpen, 30_000));
    let blocked = Some((Wait::ConnectionBlocked, 60_000));
    for (tried, hold, evidence, outcome, counted, line) in [
        (
            true,
            None,
            Evidence::NothingSent,
            Outcome::Unsent,
            1,
            "retrying backoff 2",
        ),
        (
            false,
            breaker,
            Evidence::NothingSent,
            Outcome::Unsent,
            0,
            "waiting breaker_open 30",
        ),
        (
            true,
            breaker,
            Evidence::NothingSent,
            Outcome::Unsent,
            1,
            "waiting breaker_open 30",
        ),
        (false, None, Evidence::None, Outcome::Unsent, 0, "retrying backoff 2"),
        (false, None, Evidence::Answered(503), TEMPORARY, 1, "retrying backoff 2"),
        (
            true,
            None,
            Evidence::Answered(401),
            UNAUTHORIZED,
            1,
            "retrying backoff 2",
        ),
        (
            true,
            blocked,
            Evidence::Answered(401),
            UNAUTHORIZED,
            0,
            "waiting connection_blocked 60",
        ),
        (
            true,
            None,
            Evidence::Answered(429),
            RATE_LIMITED,
            0,
            "waiting rate_limited 2",
        ),
    ] {
        assert_eq!(
            unsent(tried, hold, evidence, outcome),
            (counted, line.to_owned()),
            "{evidence:?} {outcome:?}"
        );
    }
}

#[test]
fn an_uncounted_try_that_never_ends_is_bounded_as_well() {
    let mut play = Play::new(silent());
    let mut tries = 0;
    while play.wake() == Move::Perform {
        tries += 1;
        play.begin();
        let end = play.end(Outcome::Unsent, Evidence::None);
        play.ended(AttemptEnd { tried: false, ..end });
    }
    assert_eq!(
        (play.line().as_str(), play.step.attempts),
        ("needs_review WaitedTooLong", 0)
    );
    assert!(tries < 200, "{tries}");
}

#[test]
fn a_crash_without_an_intent_costs_nothing() {
    let mut play = Play::new(silent());
    play.begin();
    assert_eq!(play.crash().line(), "retrying backoff 0");
    assert_eq!((play.next(), play.step.attempts), (Move::Perform, 0));
}

#[test]
fn a_new_step_waits_until_it_is_ready() {
    let step = oncegate_domain::step::Step::new();
    let mut play = Play::new(silent());
    play.step = step;
    assert_eq!((play.next(), play.step.due_ms()), (Move::Nothing, None));
}

#[test]
fn each_answer_that_asks_to_wait_begins_a_new_wait_and_all_of_them_end_with_the_time_to_send() {
    let mut play = Play::new(silent());
    for line in [
        "waiting rate_limited 72000",
        "waiting rate_limited 72000",
        "waiting rate_limited 72000",
        // Not before 80 hours after ready: it is not waited for.
        "needs_review WaitedTooLong",
    ] {
        assert_eq!(play.wake(), Move::Perform);
        play.begin().intend();
        let told = play.end(RATE_LIMITED, Evidence::Answered(429));
        let retry_after = RetryAfter::Until(play.now_ms + 20 * HOUR_MS as i64);
        assert_eq!(play.ended(AttemptEnd { retry_after, ..told }).line(), line);
    }
}

#[test]
fn a_401_that_is_about_the_step_goes_to_a_person_and_one_under_a_block_waits() {
    for (about_step, hold, line, attempts) in [
        (false, None, "retrying backoff 2", 1),
        (true, None, "needs_review Unauthorized", 1),
        (
            false,
            Some((Wait::ConnectionBlocked, 60_000)),
            "waiting connection_blocked 60",
            0,
        ),
    ] {
        let mut play = Play::new(silent());
        play.begin().intend();
        let end = play.end(UNAUTHORIZED, Evidence::Answered(401));
        play.ended(AttemptEnd {
            about_step,
            hold,
            ..end
        });
        assert_eq!((play.line().as_str(), play.step.attempts), (line, attempts));
    }
}

/// While nobody knows what a 401 is about, it is remembered as one that counts nothing and left no doubt. The verdict brings
/// the step where it would stand had that been known at once; a host that dies in between has nothing to be cautious about.
#[test]
fn a_401_is_remembered_before_anybody_is_asked_what_it_is_about() {
    let hold = Some((Wait::ConnectionBlocked, 60_000));
    for (attempts, about_step) in [(8, false), (8, true), (1, false), (1, true)] {
        for (first, doubted) in [(TEMPORARY, false), (Outcome::Unknown, true)] {
            let mut play = Play::new(keyed());
            play.policy.attempts = attempts + 1;
            play.attempt(first).wake();
            play.begin().intend();
            let end = AttemptEnd {
                about_step,
                ..play.end(UNAUTHORIZED, Evidence::Answered(401))
            };
            let mut at_once = play.clone();
            at_once.ended(end);

            play.ended(AttemptEnd {
                hold,
                about_step: false,
                ..end
            });
            assert_eq!((play.step.attempts, play.step.in_doubt()), (1, doubted));
            assert!(play.line().starts_with("waiting connection_blocked"), "{}", play.line());
            play.weighed(end);
            assert_eq!((play.line(), play.step), (at_once.line(), at_once.step));
        }
    }
}

#[test]
fn a_doubt_outlives_a_401_that_is_about_the_step() {
    let mut play = Play::new(keyed());
    play.attempt(Outcome::Unknown).wake();
    play.begin().intend();
    let end = play.end(UNAUTHORIZED, Evidence::Answered(401));
    play.ended(AttemptEnd {
        about_step: true,
        ..end
    });
    assert!(play.step.in_doubt(), "{}", play.line());
    assert_eq!(play.line(), "retrying lookup 4, in doubt");
}
