//! Clocks that do not tell how long anything took: the wall clock stands still at the event's time, and the monotonic
//! clock moves by being looked at. A timer is due at once and moves the clock on to its end, so that a guest that sleeps
//! wastes no time and a guest that waits for a deadline sees it come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

/// How far the monotonic clock moves each time it is looked at.
const LOOK_NS: u64 = 1_000;

/// The clocks of one call.
pub(super) struct StillClock {
    wall_ms: u64,
    elapsed_ns: Arc<AtomicU64>,
}

impl StillClock {
    /// Before 1970 there is no time in WASI: it shows 1970.
    pub(super) fn at(event_time_ms: i64) -> StillClock {
        StillClock {
            wall_ms: u64::try_from(event_time_ms).unwrap_or(0),
            elapsed_ns: Arc::new(AtomicU64::new(0)),
        }
    }
}

/// The clocks, and the table that holds the timers.
pub(super) struct ClockView<'a> {
    pub(super) clock: &'a StillClock,
    pub(super) table: &'a mut ResourceTable,
}

impl wall_clock::Host for ClockView<'_> {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime {
            seconds: self.clock.wall_ms / 1_000,
            nanoseconds: (self.clock.wall_ms % 1_000) as u32 * 1_000_000,
        })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime {
            seconds: 0,
            nanoseconds: 1_000_000,
        })
    }
}

impl monotonic_clock::Host for ClockView<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.clock.elapsed_ns.fetch_add(LOOK_NS, Ordering::Relaxed))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(LOOK_NS)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let timer = self.table.push(Timer {
            due_ns: when,
            elapsed_ns: self.clock.elapsed_ns.clone(),
        })?;
        subscribe(self.table, timer)
    }

    fn subscribe_duration(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let now = self.clock.elapsed_ns.load(Ordering::Relaxed);
        self.subscribe_instant(now.saturating_add(when))
    }
}

struct Timer {
    due_ns: u64,
    elapsed_ns: Arc<AtomicU64>,
}

#[async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {
        self.elapsed_ns.fetch_max(self.due_ns, Ordering::Relaxed);
    }
}
