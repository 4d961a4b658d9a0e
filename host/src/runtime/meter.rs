//! CPU time of guests. One thread's ticks say when to look; what is charged is the CPU time of the thread that polls the
//! guest, while it polls it. So waiting costs a guest nothing: not in the door, not in the queue of the scheduler, not
//! while the machine is busy with something else.

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
}

impl Ticker {
    pub(super) fn start(engine: Engine, tick_ms: u64) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
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
    ns_max: u64,
    used_ns: AtomicU64,
    /// Where the thread's own count stood when the present poll began.
    since_ns: AtomicU64,
}

impl CpuMeter {
    pub(super) fn new(cpu_ms_max: u64) -> CpuMeter {
        CpuMeter {
            ns_max: cpu_ms_max.saturating_mul(1_000_000),
            used_ns: AtomicU64::new(0),
            since_ns: AtomicU64::new(0),
        }
    }

    /// Whether the budget is used up. Asked from within a poll, on the thread that polls.
    pub(super) fn spent(&self) -> bool {
        self.used_ns.load(Ordering::Relaxed) + self.turn_ns() > self.ns_max
    }

    /// Polls `future` with the meter running.
    pub(super) async fn measure<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.since_ns.store(thread_cpu_ns(), Ordering::Relaxed);
            let polled = future.as_mut().poll(context);
            self.used_ns.fetch_add(self.turn_ns(), Ordering::Relaxed);
            polled
        })
        .await
    }

    fn turn_ns(&self) -> u64 {
        thread_cpu_ns().saturating_sub(self.since_ns.load(Ordering::Relaxed))
    }
}
