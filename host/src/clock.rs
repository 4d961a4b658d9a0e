//! The only place with a clock. Everything else is handed one, so that tests can hold time still, move it, and let the
//! wall clock and the boot clock disagree.
//!
//! Must not know anything of Oncegate: it tells the time and waits.

mod time;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use time::Time;
use tokio::sync::Notify;

/// A clock that many parts share.
pub type SharedClock = Arc<dyn Clock>;

/// A future that ends when an instant has come.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Tells the time and waits for it.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch. Never runs backwards within the process.
    fn now_ms(&self) -> i64;

    /// Milliseconds since the machine was booted, time spent suspended or stopped included. Only differences within one
    /// boot mean anything.
    fn boot_ms(&self) -> i64;

    /// Waits until `now_ms() >= at_ms`; ends at once where that is already so.
    fn sleep_until(&self, at_ms: i64) -> Sleep<'_>;

    /// Several machines share a time, which is `now_ms` at this moment: from now on this clock shows it. One that does not
    /// follow is a test's.
    fn follow(&self, _now_ms: i64) {}
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// What this process has seen of the time.
static TIME: Time = Time::new();

/// The timer under `sleep_until` does not count suspended time, so a long sleep looks at the clock this often.
const SLEEP_MS_MAX: u64 = 10_000;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        // The wall clock is read first. A pause between the two reads (SIGSTOP can last hours) then makes the difference
        // too small, which is ignored, and never too large, which would stay.
        let wall_ms = read_ms(ClockId::Realtime);
        TIME.shown(wall_ms, read_ms(ClockId::Boottime))
    }

    fn follow(&self, now_ms: i64) {
        TIME.follow(now_ms, read_ms(ClockId::Boottime));
    }

    fn boot_ms(&self) -> i64 {
        read_ms(ClockId::Boottime)
    }

    fn sleep_until(&self, at_ms: i64) -> Sleep<'_> {
        Box::pin(async move {
            loop {
                let left_ms = at_ms.saturating_sub(self.now_ms());
                let Ok(left_ms @ 1..) = u64::try_from(left_ms) else {
                    return;
                };
                tokio::time::sleep(Duration::from_millis(left_ms.min(SLEEP_MS_MAX))).await;
            }
        })
    }
}

fn read_ms(clock: ClockId) -> i64 {
    let at = clock_gettime(clock);
    at.tv_sec * 1_000 + at.tv_nsec / 1_000_000
}

/// The CPU time that the calling thread has used since it began, in nanoseconds. No instant, only an amount: what the
/// runtime charges guests by.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(used.tv_sec * 1_000_000_000 + used.tv_nsec).unwrap_or(0)
}

/// Nanoseconds since the machine was booted, as every process of the machine reads them alike. For measuring only: nothing
/// is decided by it.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or(0)
}

/// A clock that moves only when it is told to. For tests.
#[derive(Debug)]
pub struct ManualClock {
    wall_ms: AtomicI64,
    boot_ms: AtomicI64,
    moved: Notify,
}

impl ManualClock {
    /// A clock that stands at `start_ms` (Unix milliseconds), on a machine booted 1000 seconds before.
    pub fn new(start_ms: i64) -> Self {
        Self {
            wall_ms: AtomicI64::new(start_ms),
            boot_ms: AtomicI64::new(1_000_000),
            moved: Notify::new(),
        }
    }

    /// Lets time pass on both clocks and wakes the sleepers whose instant has come.
    pub fn advance(&self, ms: u64) {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        self.boot_ms.fetch_add(ms, Ordering::SeqCst);
        self.advance_wall(ms);
    }

    /// Moves the wall clock to `at_ms`, the boot clock with it. Does nothing where `at_ms` has passed.
    pub fn advance_to(&self, at_ms: i64) {
        if let Ok(ms) = u64::try_from(at_ms - self.now_ms()) {
            self.advance(ms);
        }
    }

    /// Moves the wall clock alone, as when somebody sets it. Negative values break the promise of `now_ms` on purpose: a
    /// test may want a restart on a machine whose clock is behind.
    pub fn advance_wall(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        self.moved.notify_waiters();
    }

    /// Lets time pass on the boot clock alone, as when the wall clock was set back while the machine slept.
    pub fn advance_boot(&self, ms: u64) {
        self.boot_ms
            .fetch_add(i64::try_from(ms).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.wall_ms.load(Ordering::SeqCst)
    }

    fn boot_ms(&self) -> i64 {
        self.boot_ms.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, at_ms: i64) -> Sleep<'_> {
        Box::pin(async move {
            loop {
                // Made before the look at the clock: an advance between the two would otherwise wake nobody.
                let moved = self.moved.notified();
                if self.now_ms() >= at_ms {
                    return;
                }
                moved.await;
            }
        })
    }
}

/// An instant for people: RFC 3339 in UTC, such as `2026-03-29T01:00:00.25Z`. Instants beyond the years that can be
/// written are shown as the last one that can.
pub fn utc(ms: i64) -> String {
    let nearest = if ms < 0 {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    };
    // Three digits always, so that times in a list stand below each other.
    format!("{:.3}", jiff::Timestamp::from_millisecond(ms).unwrap_or(nearest))
}

/// An instant as people write it: RFC 3339, in any zone.
pub fn parse_utc(text: &str) -> Option<i64> {
    text.trim()
        .parse::<jiff::Timestamp>()
        .ok()
        .map(|at| at.as_millisecond())
}

#[cfg(test)]
mod tests;
