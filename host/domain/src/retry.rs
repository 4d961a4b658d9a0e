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

/// Delay after the `n`-th try (1: the first), in milliseconds: `first × factor^(n-1)`, never longer than `longest`, with
/// ±10 % jitter from `jitter` in -1.0 ..= 1.0. Without jitter, steps that failed together would come back together.
pub fn delay_ms(policy: &Policy, n: u32, jitter: f64) -> u64 {
    let factor = if policy.factor.is_finite() {
        policy.factor.max(1.0)
    } else {
        1.0
    };
    let exponent = i32::try_from(n.saturating_sub(1)).unwrap_or(i32::MAX);
    // A float cast saturates: an overflow to infinity ends at `longest` like anything else that is too long.
    let plain = (policy.first_ms as f64 * factor.powi(exponent)).min(policy.longest_ms as f64);
    jittered(plain, jitter).min(policy.longest_ms)
}

/// How much later than told a step may come: up to a tenth of the wait, so that the steps that wait for one destination do
/// not all come at its first moment. Never sooner, and no later than a step may wait: what a destination may ask for does not
/// become too long by this.
pub(crate) fn told_spread_ms(policy: &Policy, told_ms: u64, jitter: f64) -> u64 {
    let share = limits::JITTER_PERCENT as f64 / 100.0;
    let spread_ms = (told_ms.min(policy.longest_ms) as f64 * share * bounded(jitter).abs()) as u64;
    spread_ms.min(policy.wait_longest_ms.saturating_sub(told_ms))
}

fn jittered(delay_ms: f64, jitter: f64) -> u64 {
    let share = limits::JITTER_PERCENT as f64 / 100.0;
    (delay_ms * (1.0 + share * bounded(jitter))) as u64
}

fn bounded(jitter: f64) -> f64 {
    if jitter.is_finite() {
        jitter.clamp(-1.0, 1.0)
    } else {
        0.0
    }
}

/// Reads a `Retry-After` header: seconds or an HTTP-date; negative, garbled, past or missing is `None`. A number that is
/// too large for any clock is not garbled: it says "not soon", and the bounds on waiting deal with it.
pub fn retry_after(header: Option<&str>, now_ms: i64) -> RetryAfter {
    let Some(text) = header.map(str::trim).filter(|text| !text.is_empty()) else {
        return RetryAfter::None;
    };
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse::<i64>().unwrap_or(i64::MAX);
        return RetryAfter::Until(now_ms.saturating_add(seconds.saturating_mul(1_000)));
    }
    let at_ms = httpdate::parse_http_date(text)
        .ok()
        .and_then(|date| date.duration_since(std::time::UNIX_EPOCH).ok())
        .and_then(|since| i64::try_from(since.as_millis()).ok());
    match at_ms {
        Some(at_ms) if at_ms > now_ms => RetryAfter::Until(at_ms),
        Some(_) | None => RetryAfter::None,
    }
}
