//! A clock for the one race that cannot be waited for: a host that is stopped between two looks at the clock.

use oncegate::clock::{Clock, ManualClock, Sleep};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A clock like the one inside, until [`StoppedOnce::stop_at_look`]: then its host is stopped (SIGSTOP, a suspended
/// machine) right before that look at the boot clock, and continued so much later. A host that reads its clock cannot tell
/// this from the real thing.
#[derive(Debug)]
pub struct StoppedOnce {
    inside: Arc<ManualClock>,
    looks_left: AtomicI64,
    for_ms: u64,
}

impl StoppedOnce {
    /// Around `inside`; each stop lasts `for_ms`.
    pub fn new(inside: Arc<ManualClock>, for_ms: u64) -> StoppedOnce {
        StoppedOnce {
            inside,
            looks_left: AtomicI64::new(i64::MAX),
            for_ms,
        }
    }

    /// Stops the host right before its `nth` look at the boot clock from now on (from 1).
    pub fn stop_at_look(&self, nth: i64) {
        self.looks_left.store(nth, Ordering::SeqCst);
    }
}

impl Clock for StoppedOnce {
    fn now_ms(&self) -> i64 {
        self.inside.now_ms()
    }

    fn boot_ms(&self) -> i64 {
        if self.looks_left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.inside.advance(self.for_ms);
        }
        self.inside.boot_ms()
    }

    fn sleep_until(&self, at_ms: i64) -> Sleep<'_> {
        self.inside.sleep_until(at_ms)
    }
}
