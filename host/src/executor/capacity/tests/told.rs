//! What a destination asks for on the wire: when everybody is kept away for it.

use super::*;
use oncegate_domain::limits::WAIT_LONGEST_MS_DEFAULT;

const DAY_MS: i64 = 86_400_000;

/// Until when everybody waits who comes after this was told at 1,000.
async fn closed_until(evidence: Evidence, told: RetryAfter) -> Option<i64> {
    let (gate, clock) = gate(PACE);
    gate.heed(evidence, told, clock.now_ms(), WAIT_LONGEST_MS_DEFAULT);
    match said(&gate, 1).await {
        Admission::Go { .. } => None,
        Admission::Wait { reason, until_ms } => {
            assert_eq!(reason, Wait::RateLimited);
            Some(until_ms)
        }
    }
}

#[tokio::test]
async fn a_time_to_come_again_is_believed_up_to_a_day_and_not_a_moment_longer() {
    let longest_ms = 1_000 + DAY_MS;
    for status in [425, 429, 503] {
        let told = async |until_ms: i64| closed_until(Evidence::Answered(status), RetryAfter::Until(until_ms)).await;
        assert_eq!(told(longest_ms).await, Some(longest_ms), "{status}");
        assert_eq!(told(longest_ms + 1).await, None, "{status}");
    }
}

#[tokio::test]
async fn a_time_to_come_again_counts_only_in_an_answer_that_is_about_pace() {
    let told = RetryAfter::Until(5_000);
    for evidence in [
        Evidence::None,
        Evidence::NothingSent,
        Evidence::MaybeSent,
        Evidence::Answered(200),
        Evidence::Answered(500),
    ] {
        assert_eq!(closed_until(evidence, told).await, None, "{evidence:?}");
    }
    assert_eq!(closed_until(Evidence::Answered(429), told).await, Some(5_000));
}
