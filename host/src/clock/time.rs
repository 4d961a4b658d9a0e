//! The time that a process shows: the boot clock and a difference. By itself the difference follows the machine's wall clock
//! forwards; where several machines share a time it is that time's.

use std::sync::atomic::{AtomicI64, Ordering};

/// By how much a shared time that seems to be behind is followed at once. A late answer makes it seem so, and nobody should
/// notice: time stands still for as long.
const BACK_MS_MAX: i64 = 10;
/// Nothing was seen yet.
const NOTHING: i64 = i64::MIN;

/// See the module's words. All differences are to the boot clock.
#[derive(Debug)]
pub(super) struct Time {
    /// The largest difference of the wall clock that was seen: one set forward is followed (most machines set theirs after
    /// boot), one set back is not, and time neither stands still nor repeats until it has caught up.
    wall_ahead_ms: AtomicI64,
    /// That of the shared time.
    shared_ahead_ms: AtomicI64,
    /// The latest moment that was shown.
    shown_ms: AtomicI64,
}

impl Time {
    pub(super) const fn new() -> Self {
        Time {
            wall_ahead_ms: AtomicI64::new(NOTHING),
            shared_ahead_ms: AtomicI64::new(NOTHING),
            shown_ms: AtomicI64::new(NOTHING),
        }
    }

    /// Now. Never less than before.
    pub(super) fn shown(&self, wall_ms: i64, boot_ms: i64) -> i64 {
        let ahead_ms = match self.shared_ahead_ms.load(Ordering::SeqCst) {
            NOTHING => {
                let ahead_ms = wall_ms - boot_ms;
                ahead_ms.max(self.wall_ahead_ms.fetch_max(ahead_ms, Ordering::SeqCst))
            }
            shared_ms => shared_ms,
        };
        let now_ms = boot_ms + ahead_ms;
        now_ms.max(self.shown_ms.fetch_max(now_ms, Ordering::SeqCst))
    }

    /// The shared time was `now_ms` a moment ago. It is followed forwards at once. Backwards it is followed at once the first
    /// time, for then nothing was recorded yet; later only in small steps.
    pub(super) fn follow(&self, now_ms: i64, boot_ms: i64) {
        let ahead_ms = now_ms - boot_ms;
        let followed_ms = self.shared_ahead_ms.load(Ordering::SeqCst);
        if followed_ms == NOTHING {
            self.shared_ahead_ms.store(ahead_ms, Ordering::SeqCst);
            self.shown_ms.store(NOTHING, Ordering::SeqCst);
        } else {
            let ahead_ms = ahead_ms.max(followed_ms.saturating_sub(BACK_MS_MAX));
            self.shared_ahead_ms.store(ahead_ms, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_set_back_is_not_followed() {
        let time = Time::new();
        assert_eq!(time.shown(1_000, 10), 1_000);
        assert_eq!(time.shown(500, 20), 1_010);
        assert_eq!(time.shown(9_000, 30), 9_000);
    }

    #[test]
    fn a_shared_time_is_followed_and_never_runs_backwards() {
        let time = Time::new();
        assert_eq!(time.shown(5_000, 10), 5_000);
        // The machine was ahead; nothing was recorded yet.
        time.follow(1_000, 10);
        assert_eq!(time.shown(5_010, 20), 1_010);
        time.follow(2_000, 20);
        assert_eq!(time.shown(5_010, 20), 2_000);
        // It seems to be behind: time stands still for a moment, and goes on.
        time.follow(1_000, 20);
        assert_eq!(time.shown(5_010, 20), 2_000);
        assert_eq!(time.shown(5_020, 29), 2_000);
        assert_eq!(time.shown(5_020, 31), 2_001);
    }
}
