//! How often a hook may be called, per source and in all.

use crate::flow::Rate;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Sources remembered at most; beyond that, those whose window is over are forgotten.
const SOURCES_MAX: usize = 10_000;

/// Fixed windows: simple, bounded, and good enough to keep a form from being flooded.
#[derive(Default)]
pub struct Windows {
    windows: Mutex<HashMap<(String, Option<IpAddr>), Window>>,
}

#[derive(Clone, Copy)]
struct Window {
    ends_ms: i64,
    count: u32,
}

impl Windows {
    /// Counts one call; an error says in how many milliseconds to come again. `source`: `None` counts all sources.
    pub fn count(&self, hook: &str, source: Option<IpAddr>, rate: Rate, now_ms: i64) -> Result<(), u64> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= SOURCES_MAX {
            windows.retain(|_, window| window.ends_ms > now_ms);
        }
        let fresh = Window {
            ends_ms: now_ms.saturating_add_unsigned(rate.per_ms),
            count: 0,
        };
        let full = windows.len() >= SOURCES_MAX;
        let key = (hook.to_owned(), source);
        if full && !windows.contains_key(&key) {
            return Err(rate.per_ms);
        }
        let window = windows.entry(key).or_insert(fresh);
        if window.ends_ms <= now_ms {
            *window = fresh;
        }
        if window.count >= rate.count {
            return Err(window.ends_ms.saturating_sub(now_ms).unsigned_abs());
        }
        window.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const RATE: Rate = Rate {
        count: 2,
        per_ms: 1_000,
    };

    fn from(last: u8) -> Option<IpAddr> {
        Some(Ipv4Addr::new(192, 0, 2, last).into())
    }

    #[test]
    fn a_source_is_held_back_at_its_limit_and_others_are_not() {
        let windows = Windows::default();
        let calls = [1, 1, 1, 2].map(|last| windows.count("leads", from(last), RATE, 0));
        assert_eq!(calls, [Ok(()), Ok(()), Err(1_000), Ok(())]);
        assert_eq!(windows.count("leads", from(1), RATE, 999), Err(1));
        assert_eq!(windows.count("leads", from(1), RATE, 1_000), Ok(()));
    }

    #[test]
    fn a_flood_of_sources_costs_bounded_memory() {
        let windows = Windows::default();
        for n in 0..=SOURCES_MAX {
            let address = Ipv4Addr::from(u32::try_from(n).unwrap()).into();
            let counted = windows.count("leads", Some(address), RATE, 0);
            assert_eq!(counted.is_ok(), n < SOURCES_MAX);
        }
        assert_eq!(
            windows.count("leads", from(1), RATE, 1_000),
            Ok(()),
            "windows that are over make room"
        );
    }
}
