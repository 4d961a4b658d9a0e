//! Backoff, `Retry-After` and the state of a run (DESIGN sections 1, 3 and 4).
#![allow(clippy::unwrap_used)]

use oncegate_domain::outcome::Permanent;
use oncegate_domain::retry::{Policy, RetryAfter, delay_ms, retry_after};
use oncegate_domain::run::{self, state};
use oncegate_domain::step::{Retry, Review, Skip, State, Wait};
use proptest::prelude::*;

#[test]
fn the_default_policy_waits_2_4_8_16_seconds_up_to_ten_minutes() {
    let policy = Policy::default();
    let delays: Vec<u64> = (1..=12).map(|n| delay_ms(&policy, n, 0.0) / 1000).collect();
    assert_eq!(delays, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
    assert_eq!((policy.attempts, policy.refusals), (8, 1));
    assert_eq!(
        (policy.wait_longest_ms, policy.sent_within_ms),
        (24 * 3_600_000, 72 * 3_600_000)
    );
}

#[test]
fn jitter_is_ten_percent_to_either_side() {
    let policy = Policy::default();
    assert_eq!(delay_ms(&policy, 1, 1.0), 2_200);
    assert_eq!(delay_ms(&policy, 1, -1.0), 1_800);
    assert_eq!(delay_ms(&policy, 1, 55.0), 2_200);
    assert_eq!(delay_ms(&policy, 1, f64::NAN), 2_000);
}

proptest! {
    #[test]
    fn a_delay_is_total_and_bounded_for_any_policy(
        n: u32, first_ms: u64, factor: f64, longest_ms: u64, jitter: f64,
    ) {
        let policy = Policy { first_ms, factor, longest_ms, ..Policy::default() };
        prop_assert!(delay_ms(&policy, n, jitter) <= longest_ms);
    }
}

#[test]
fn retry_after_is_seconds_or_a_date_and_bad_values_fall_back_to_backoff() {
    let now_ms = 1_784_000_000_000; // 2026-07-14T03:33:20Z
    let seconds = |seconds: i64| RetryAfter::Until(now_ms + seconds * 1000);
    for (header, expected) in [
        (Some("120"), seconds(120)),
        (Some(" 120 "), seconds(120)),
        (Some("0"), seconds(0)),
        (Some("999999999"), seconds(999_999_999)),
        (Some("99999999999999999999999999"), RetryAfter::Until(i64::MAX)),
        (Some("Tue, 14 Jul 2026 03:34:50 GMT"), seconds(90)),
        (Some("Tue, 14 Jul 2026 03:33:20 GMT"), RetryAfter::None),
        (Some("Tue, 14 Jul 2020 03:34:50 GMT"), RetryAfter::None),
        (Some("-5"), RetryAfter::None),
        (Some("+5"), RetryAfter::None),
        (Some("1.5"), RetryAfter::None),
        (Some("abc"), RetryAfter::None),
        (Some(""), RetryAfter::None),
        (Some("٣"), RetryAfter::None),
        (None, RetryAfter::None),
    ] {
        assert_eq!(retry_after(header, now_ms), expected, "{header:?}");
    }
}

#[test]
fn a_run_shows_the_first_of_its_steps_states_that_needs_to_be_known() {
    // In the order of DESIGN section 1.
    let order = [
        (State::Cancelling { until_ms: 0 }, run::State::Cancelling),
        (
            State::NeedsReview {
                reason: Review::Refused(Permanent::Rejected),
            },
            run::State::NeedsReview,
        ),
        (State::Processing, run::State::Processing),
        (
            State::Retrying {
                reason: Retry::Backoff,
                until_ms: 0,
            },
            run::State::Retrying,
        ),
        (
            State::Waiting {
                reason: Wait::Paused,
                until_ms: 0,
            },
            run::State::Waiting,
        ),
        (State::Pending, run::State::Pending),
        (State::Failed, run::State::Failed),
        (State::Cancelled, run::State::Cancelled),
        (State::Completed, run::State::Completed),
    ];
    for (first, (step, expected)) in order.iter().enumerate() {
        for (later, _) in &order[first..] {
            assert_eq!(state(&[*later, *step]), *expected);
            assert_eq!(state(&[*step, *later]), *expected);
        }
    }
    assert_eq!(
        state(&[State::Skipped {
            reason: Skip::WhenFalse
        }]),
        run::State::Completed
    );
    assert_eq!(
        state(&[
            State::Skipped {
                reason: Skip::Predecessor
            },
            State::Failed
        ]),
        run::State::Failed
    );
    assert_eq!(state(&[]), run::State::Completed);
}
