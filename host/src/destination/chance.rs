//! Misbehaviour by the dice, the same on every run: what happens to a request depends on the seed, on what the request is
//! about and on how often that was asked for before, never on the order in which different requests come in.

use super::script::Behaviour;
use serde::{Deserialize, Serialize};

/// How often a service misbehaves at a write, as shares between 0 and 1 that add up to at most 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chances {
    /// Another seed, other dice.
    pub seed: u64,
    /// The effect takes place and its answer is lost: half by a reset, half by silence.
    pub lost_answer: f64,
    /// 429 with `Retry-After`, before any effect.
    pub rate_limited: f64,
    /// 503 before any effect.
    pub unavailable: f64,
    /// How long a silence lasts before the connection is closed, in ms.
    pub silence_ms: u64,
    /// What a 429 says.
    pub retry_after: String,
    /// How often one business fact is misbehaved at, at most; then all goes well.
    pub each_max: u32,
}

impl Default for Chances {
    fn default() -> Chances {
        Chances {
            seed: 1,
            lost_answer: 0.0,
            rate_limited: 0.0,
            unavailable: 0.0,
            silence_ms: 5_000,
            retry_after: "1".to_owned(),
            each_max: 2,
        }
    }
}

impl Chances {
    /// What happens to the `arrival`th request (from 0) about `subject`; `None`: nothing out of the ordinary.
    pub(super) fn roll(&self, service: &str, subject: &str, arrival: u32) -> Option<Behaviour> {
        if arrival >= self.each_max {
            return None;
        }
        let bits = mixed(self.seed, &[service, subject, &arrival.to_string()]);
        let share = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        if share < self.lost_answer {
            let by_reset = bits & 1 == 0;
            return Some(match by_reset {
                true => Behaviour::effect_then_reset(),
                false => Behaviour::effect_then_silence(self.silence_ms),
            });
        }
        if share < self.lost_answer + self.rate_limited {
            return Some(Behaviour::retry_after(&self.retry_after));
        }
        if share < self.lost_answer + self.rate_limited + self.unavailable {
            return Some(Behaviour::status(503));
        }
        None
    }
}

/// FNV-1a over the parts, then the finaliser of splitmix64: evenly spread, and the same on every machine.
fn mixed(seed: u64, parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ seed;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
