//! Bounded exponential backoff and the bounds on waiting (DESIGN section 4).

use crate::limits;
use serde::{Deserialize, Serialize};

/// How often and how patiently a step is tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Counted attempts in all; lookups have the same bound of their own.
    pub attempts: u32,
    /// Delay before the second attempt.
    pub first_ms: u64,
    /// Each further delay is this many times the one before.
    pub factor: f64,
    /// No delay of our own is longer.
    pub longest_ms: u64,
    /// Permanent refusals taken before a person is asked (1: at the first).
    pub refusals: u32,
    /// No single wait (rate limit, breaker, block, pause) is longer.
    pub wait_longest_ms: u64,
    /// From ready to sent in all.
    pub sent_within_ms: u64,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            attempts: limits::ATTEMPTS_DEFAULT,
            first_ms: limits::RETRY_FIRST_MS_DEFAULT,
            factor: limits::RETRY_FACTOR_DEFAULT,
            longest_ms: limits::RETRY_LONGEST_MS_DEFAULT,
            refusals: limits::REFUSALS_DEFAULT,
            wait_longest_ms: limits::WAIT_LONGEST_MS_DEFAULT,
            sent_within_ms: limits::SENT_WITHIN_MS_DEFAULT,
        }
    }
}

/// What a destination said about waiting (`Retry-After`, RFC 9110 section 10.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryAfter {
    /// Nothing that can be understood: own backoff.
    #[default]
    None,
    /// Not before this moment.
    Until(i64),
}

/// Delay after the `n`-th try (1: the first), in milliseconds; `jitter` in -1.0 ..= 1.0 is ±10 %.
pub fn delay_ms(_policy: &Policy, _n: u32, _jitter: f64) -> u64 {
    0
}

/// Reads a `Retry-After` header: seconds or an HTTP-date; negative, garbled, past or missing is `None`.
pub fn retry_after(_header: Option<&str>, _now_ms: i64) -> RetryAfter {
    RetryAfter::None
}
