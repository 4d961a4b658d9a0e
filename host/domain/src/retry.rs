//! Bounded exponential backoff and the bounds on waiting (DESIGN section 4).

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
