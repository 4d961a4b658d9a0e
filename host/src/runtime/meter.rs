//! CPU time of guests. One thread's ticks say when to look; what is charged is the CPU time of the thread that polls the
//! guest, while it polls it. So waiting costs a guest nothing: not in the door, not in the queue of the scheduler, not
//! while the machine is busy with something else.
//!
//! Almost every call is over before a tick finds it at work. Until one does, no clock is read: that of a thread's CPU time is a
//! call of the system, dear beside so short a call. The turn that a tick came in is charged by its ticks, whoever noticed them
//! (code of a guest that calls the host again and again, and nothing else, notices none), and from then on each turn by the clock. A call
//! that used its budget up is stopped where it looks next, never in the midst of an exchange: what came of that must be seen.

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
    tick_ms: u64,
}

impl Ticker {
    pub(super) fn start(engine: Engine, tick_ms: u64) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            ticks: AtomicU64::new(0),
            tick_ms: tick_ms.max(1),
        });
        let of_thread = shared.clone();
        let tick = Duration::from_millis(shared.tick_ms);
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
    /// Of the turns before, and of the present one until the first tick in it was noticed.
    used_ns: AtomicU64,
    /// Where the thread's own count stood when the present turn began, or when the first tick in it was noticed.
    since_ns: AtomicU64,
    /// The tick before the present turn.
    began_at_tick: AtomicU64,
    /// A tick has come while the guest was at work: from then on clocks are read.
    is_exact: AtomicBool,
}

/// How it stands with a guest's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// No tick has come in it.
    GoesOn,
    /// It is over.
    Over,
    /// So is the budget.
    Spent,
}

/// The guest's turns are over: its budget is used up.
#[derive(Debug, thiserror::Error)]
#[error("the CPU budget is used up")]
pub(super) struct CpuSpent;

impl CpuMeter {
    /// How it stands with the present turn. Asked from within it, on the thread that polls.
    pub(super) fn turn(&self) -> Turn {
        let ticks = self.ticks();
        if ticks > 0 && !self.is_exact.load(Ordering::Relaxed) {
            self.charge_ticks(ticks);
            self.since_ns.store(thread_cpu_ns(), Ordering::Relaxed);
        }
        match (self.is_spent(), ticks) {
            (true, _) => Turn::Spent,
            (false, 0) => Turn::GoesOn,
            (false, _) => Turn::Over,
        }
    }

    /// Polls `future` with the meter running. Each poll is a turn.
    pub(super) async fn measure<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let now = self.ticker.ticks.load(Ordering::SeqCst);
            self.began_at_tick.store(now, Ordering::Relaxed);
            if self.is_exact.load(Ordering::Relaxed) {
                self.since_ns.store(thread_cpu_ns(), Ordering::Relaxed);
            }
            let polled = future.as_mut().poll(context);
            match (self.is_exact.load(Ordering::Relaxed), self.ticks()) {
                (true, _) => drop(self.used_ns.fetch_add(self.since_then_ns(), Ordering::Relaxed)),
                (false, 0) => {}
                (false, ticks) => self.charge_ticks(ticks),
            }
            polled
        })
        .await
    }

    /// Ticks since the present turn began.
    fn ticks(&self) -> u64 {
        let now = self.ticker.ticks.load(Ordering::SeqCst);
        now.saturating_sub(self.began_at_tick.load(Ordering::Relaxed))
    }

    /// Half of the budget at most: the thread may have had to wait for the machine, and nobody is stopped for that alone.
    fn charge_ticks(&self, ticks: u64) {
        let ns = ticks.saturating_mul(self.ticker.tick_ms).saturating_mul(1_000_000);
        self.used_ns.fetch_add(ns.min(self.ns_max / 2), Ordering::Relaxed);
        self.is_exact.store(true, Ordering::Relaxed);
    }

    fn is_spent(&self) -> bool {
        let present_ns = match self.is_exact.load(Ordering::Relaxed) {
            true => self.since_then_ns(),
            false => 0,
        };
        self.used_ns.load(Ordering::Relaxed).saturating_add(present_ns) > self.ns_max
    }

    fn since_then_ns(&self) -> u64 {
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

    fn compute(ms: u64) {
        let until_ns = thread_cpu_ns() + ms * 1_000_000;
        while thread_cpu_ns() < until_ns {}
    }

    /// One turn in which the guest computes for so long while so many ticks come, and what it hears if it looks.
    fn turn(ticker: &Ticker, meter: &CpuMeter, (ms, ticks, looks): (u64, u64, bool)) -> Option<Turn> {
        let guest = async {
            compute(ms);
            ticker.shared.ticks.fetch_add(ticks, Ordering::SeqCst);
            looks.then(|| meter.turn())
        };
        meter.measure(guest).now_or_never().flatten()
    }

    #[test]
    fn a_tick_that_came_while_the_guest_waited_takes_no_turn_from_it() {
        let ticker = ticker();
        let meter = ticker.meter(0);
        ticker.shared.ticks.fetch_add(1, Ordering::SeqCst);
        assert_eq!(turn(&ticker, &meter, (0, 0, true)), Some(Turn::GoesOn));
    }

    #[test]
    fn the_first_turn_with_a_tick_is_charged_by_its_ticks_and_later_ones_by_the_clock() {
        let ticker = ticker();
        let meter = ticker.meter(9);
        assert_eq!(turn(&ticker, &meter, (20, 3, true)), Some(Turn::Over));
        assert_eq!(turn(&ticker, &meter, (3, 100, true)), Some(Turn::Over));
        assert_eq!(turn(&ticker, &meter, (5, 0, true)), Some(Turn::Spent));
    }

    #[test]
    fn ticks_that_the_guest_does_not_notice_are_charged_as_well() {
        let ticker = ticker();
        let meter = ticker.meter(9);
        assert_eq!(turn(&ticker, &meter, (0, 4, false)), None);
        assert_eq!(turn(&ticker, &meter, (7, 0, true)), Some(Turn::Spent));
    }

    #[test]
    fn one_turn_of_which_only_the_ticks_are_known_spends_half_of_the_budget_at_most() {
        let ticker = ticker();
        let meter = ticker.meter(100);
        assert_eq!(turn(&ticker, &meter, (0, 1_000, true)), Some(Turn::Over));
        assert_eq!(turn(&ticker, &meter, (60, 0, true)), Some(Turn::Spent));
    }
}
