//! CPU time of guests. One thread's ticks say when to look; what is charged is the CPU time of the thread that polls the
//! guest, while it polls it. So waiting costs a guest nothing: not in the door, not in the queue of the scheduler, not
//! while the machine is busy with something else.
//!
//! Almost every call is over before a tick finds it at work. Until one does, no clock is read: that of a thread's CPU time is a
//! call of the system, dear beside so short a call. What a guest gets for nothing by it is at most one tick for each time that
//! it waits, and how often it may do that is bounded.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::Engine;

use crate::clock::thread_cpu_ns;

/// The thread that moves the engine's epoch on. It sleeps while no guest runs, so an idle host wakes nothing.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    running: AtomicUsize,
    ended: AtomicBool,
    ticks: AtomicU64,
}

impl Ticker {
    pub(super) fn start(engine: Engine, tick_ms: u64) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            ticks: AtomicU64::new(0),
        });
        let of_thread = shared.clone();
        let tick = Duration::from_millis(tick_ms.max(1));
        let thread = thread::Builder::new()
            .name("guest-ticks".to_owned())
            .spawn(move || of_thread.run(&engine, tick))?;
        Ok(Ticker {
            shared,
            thread: Some(thread),
        })
    }

    /// Hold it as long as a guest runs: without it there are no ticks.
    pub(super) fn hold(&self) -> Running<'_> {
        if self.shared.running.fetch_add(1, Ordering::SeqCst) == 0 {
            self.wake();
        }
        Running { ticker: self }
    }

    /// Measures one call by its ticks.
    pub(super) fn meter(&self, cpu_ms_max: u64) -> CpuMeter {
        CpuMeter {
            ticker: Arc::clone(&self.shared),
            ns_max: cpu_ms_max.saturating_mul(1_000_000),
            used_ns: AtomicU64::new(0),
            since_ns: AtomicU64::new(0),
            began_at_tick: AtomicU64::new(0),
            is_exact: AtomicBool::new(false),
        }
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Shared {
    fn run(&self, engine: &Engine, tick: Duration) {
        while !self.ended.load(Ordering::SeqCst) {
            if self.running.load(Ordering::SeqCst) == 0 {
                // An `unpark` between the look and this is not lost: it makes the `park` return at once.
                thread::park();
                continue;
            }
            thread::sleep(tick);
            self.ticks.fetch_add(1, Ordering::SeqCst);
            engine.increment_epoch();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic; and nobody could do anything about it here.
            let _ = thread.join();
        }
    }
}

/// One guest is running.
pub(super) struct Running<'a> {
    ticker: &'a Ticker,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.ticker.shared.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The CPU time of one call.
pub(super) struct CpuMeter {
    ticker: Arc<Shared>,
    ns_max: u64,
    used_ns: AtomicU64,
    /// Where the thread's own count stood when the present turn began, or when the first tick came in it.
    since_ns: AtomicU64,
    /// The tick before the present turn.
    began_at_tick: AtomicU64,
    /// A tick has found the guest at work: from then on clocks are read.
    is_exact: AtomicBool,
}

/// What a tick means for a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tick {
    /// It came while the guest waited: the turn has just begun.
    Before,
    /// The turn is over.
    Over,
    /// So is the budget.
    Spent,
}

impl CpuMeter {
    /// What the tick that is noticed now means. Asked from within a turn, on the thread that polls.
    pub(super) fn tick(&self) -> Tick {
        if self.ticker.ticks.load(Ordering::SeqCst) == self.began_at_tick.load(Ordering::Relaxed) {
            return Tick::Before;
        }
        if !self.is_exact.swap(true, Ordering::Relaxed) {
            self.since_ns.store(thread_cpu_ns(), Ordering::Relaxed);
        }
        match self.used_ns.load(Ordering::Relaxed) + self.turn_ns() > self.ns_max {
            true => Tick::Spent,
            false => Tick::Over,
        }
    }

    /// Polls `future` with the meter running. Each poll is a turn.
    pub(super) async fn measure<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.began_at_tick
                .store(self.ticker.ticks.load(Ordering::SeqCst), Ordering::Relaxed);
            if self.is_exact.load(Ordering::Relaxed) {
                self.since_ns.store(thread_cpu_ns(), Ordering::Relaxed);
            }
            let polled = future.as_mut().poll(context);
            if self.is_exact.load(Ordering::Relaxed) {
                self.used_ns.fetch_add(self.turn_ns(), Ordering::Relaxed);
            }
            polled
        })
        .await
    }

    fn turn_ns(&self) -> u64 {
        thread_cpu_ns().saturating_sub(self.since_ns.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn ticker() -> Ticker {
        // Its thread sleeps, for nobody holds it: ticks come from the test alone.
        Ticker::start(Engine::default(), 1).unwrap()
    }

    fn tick(ticker: &Ticker) {
        ticker.shared.ticks.fetch_add(1, Ordering::SeqCst);
    }

    fn compute(ms: u64) {
        let until_ns = thread_cpu_ns() + ms * 1_000_000;
        while thread_cpu_ns() < until_ns {}
    }

    #[test]
    fn a_tick_that_came_while_the_guest_waited_takes_no_turn_from_it() {
        let ticker = ticker();
        let meter = ticker.meter(0);
        tick(&ticker);
        assert_eq!(meter.measure(async { meter.tick() }).now_or_never(), Some(Tick::Before));
    }

    #[test]
    fn from_the_first_tick_in_a_turn_on_all_of_it_is_charged() {
        let ticker = ticker();
        let meter = ticker.meter(5);
        let turn = |ms: u64| {
            let turn = async {
                compute(ms);
                tick(&ticker);
                meter.tick()
            };
            meter.measure(turn).now_or_never().unwrap()
        };
        assert_eq!(turn(7), Tick::Over, "the first one is found by its end");
        assert_eq!(turn(3), Tick::Over);
        assert_eq!(turn(3), Tick::Spent);
    }
}
