//! Who is worked on, and when. A step in memory has a seat and a task that sleeps until the step is due; what finds no
//! seat, or is due far ahead, waits in the ledger, so that a backlog costs disk and not memory.
//!
//! Nothing polls while work is at hand: a step accepted here is seated at once, and the ledger is read only when the
//! earliest step that was left there comes due.

use super::Shared;
use super::attempt::{Tried, attempt};
use super::begin::skip_unless_wanted;
use super::blocking::Found;
use super::capacity::{Admission, Slot};
use super::live::{LiveStep, RunCell};
use super::settle::Abandoned;
use oncegate_domain::id::Id;
use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Steps in memory at most; each costs a sleeping task.
const SEATS_MAX: usize = 10_000;
/// A step due later than this gives up its seat.
const SEATED_AHEAD_MS: i64 = 60_000;
/// When all seats are taken, how long to wait before the ledger is read again.
const FULL_AGAIN_MS: i64 = 250;
/// When the ledger or the runtime has no room, how long to wait before the next try.
const AGAIN_MS: i64 = 50;
/// Steps read from the ledger at a time.
const PAGE: u32 = 500;

/// The seats, and what was left in the ledger.
pub struct Seats {
    taken: Mutex<HashSet<Id>>,
    /// The earliest time at which a step that was left in the ledger is due.
    left_ms: AtomicI64,
    wake: Notify,
}

impl Default for Seats {
    /// At first nothing is known of the ledger, so it is read at once.
    fn default() -> Self {
        Self {
            taken: Mutex::default(),
            left_ms: AtomicI64::new(i64::MIN),
            wake: Notify::new(),
        }
    }
}

impl Seats {
    fn taken(&self) -> MutexGuard<'_, HashSet<Id>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, step: Id) -> Seated {
        let mut taken = self.taken();
        if taken.contains(&step) {
            Seated::Already
        } else if taken.len() >= SEATS_MAX {
            Seated::Full
        } else {
            taken.insert(step);
            Seated::Now
        }
    }

    /// A step stays in the ledger until it is due.
    fn leave(&self, due_ms: i64) {
        self.left_ms.fetch_min(due_ms, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// How many steps are in memory.
    pub fn len(&self) -> usize {
        self.taken().len()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seated {
    Now,
    Already,
    Full,
}

impl Shared {
    /// Begins to work on a step of a run in memory, unless somebody does or there is no seat.
    pub fn offer(self: &Arc<Self>, cell: &Arc<RunCell>, step: Id) {
        match self.seats.take(step) {
            Seated::Now => {
                let (shared, cell) = (Arc::clone(self), Arc::clone(cell));
                self.tasks.spawn(async move { shared.hold_seat(&cell, step).await });
            }
            Seated::Already => {}
            Seated::Full => self.seats.leave(self.clock.now_ms()),
        }
    }

    /// Works on a step until nothing more is to be done about it now.
    async fn hold_seat(self: &Arc<Self>, cell: &Arc<RunCell>, step: Id) {
        loop {
            let worked = self.drive(cell, step).await;
            self.seats.taken().remove(&step);
            match worked {
                Ok(()) => {}
                Err(Abandoned::Overtaken(why)) => {
                    tracing::debug!(%step, %why, "somebody else changed the step first");
                    self.live.forget(cell.facts.id);
                    return self.seats.leave(self.clock.now_ms() + AGAIN_MS);
                }
                Err(Abandoned::Illegal(why)) => tracing::debug!(%step, %why, "the step moved on meanwhile"),
                Err(Abandoned::Ledger(error)) => {
                    tracing::error!(%step, %error, "work on a step waits for the ledger");
                    return self.seats.leave(self.clock.now_ms() + 1_000);
                }
            }
            // Somebody may have offered the step while the seat was still taken: that offer must not be lost.
            let Some(due_ms) = due(cell, step).await else { return };
            if self.is_stopping() {
                return;
            }
            if due_ms > self.clock.now_ms() + SEATED_AHEAD_MS || self.seats.take(step) != Seated::Now {
                return self.seats.leave(due_ms);
            }
        }
    }

    async fn drive(self: &Arc<Self>, cell: &Arc<RunCell>, step: Id) -> Result<(), Abandoned> {
        let mut not_before_ms = i64::MIN;
        while let Some((index, live)) = find(cell, step).await {
            let Some(due_ms) = live.standing.due_ms().map(|due_ms| due_ms.max(not_before_ms)) else {
                return Ok(());
            };
            if due_ms > self.clock.now_ms() + SEATED_AHEAD_MS || !self.sleep_until(due_ms).await {
                return Ok(());
            }
            if skip_unless_wanted(self, cell, index).await? {
                continue;
            }
            let slot = match self.admit(cell, index, &live).await? {
                Some(slot) => slot,
                None => continue,
            };
            let tried = attempt(self, cell, index, slot.probe).await?;
            drop(slot);
            not_before_ms = match tried {
                Tried::Settled => i64::MIN,
                Tried::NotBefore(at_ms) => at_ms,
                Tried::Busy => self.clock.now_ms() + AGAIN_MS,
            };
        }
        Ok(())
    }

    /// A place among the calls of this host and of the connection; `None`: the step waits, and says why.
    async fn admit(
        self: &Arc<Self>,
        cell: &Arc<RunCell>,
        index: usize,
        live: &LiveStep,
    ) -> Result<Option<Admitted>, Abandoned> {
        let Some(gate) = self.gate_of(&live.connection) else {
            // No such connection: the attempt finds out and says so to a person.
            return Ok(Some(self.admitted(None, false).await));
        };
        let ready_ms = live.standing.ready_ms.unwrap_or_default();
        let mut admission = gate.admit(live.id, ready_ms).await;
        loop {
            let slot = match admission {
                Admission::Go { slot, start_ms } => {
                    if !self.sleep_until(start_ms).await {
                        return Ok(None);
                    }
                    slot
                }
                Admission::Wait { reason, until_ms } => {
                    if self.hold(cell, index, live, reason, until_ms).await? {
                        return Ok(None);
                    }
                    // Nothing is approved any more that could be waited for: the attempt says so to a person.
                    return Ok(Some(self.admitted(None, false).await));
                }
            };
            match self.find_out(live, &slot).await {
                Found::Go { probe } => return Ok(Some(self.admitted(Some(slot), probe).await)),
                Found::AskAgain => admission = slot.again(ready_ms).await,
            }
        }
    }

    async fn admitted(&self, slot: Option<Slot>, probe: bool) -> Admitted {
        Admitted {
            _slot: slot,
            probe,
            _call: self.calls.clone().acquire_owned().await.ok(),
        }
    }

    /// Sleeps until then; `false`: the host is going down, begin nothing.
    async fn sleep_until(&self, at_ms: i64) -> bool {
        if at_ms > self.clock.now_ms() {
            tokio::select! {
                () = self.clock.sleep_until(at_ms) => {}
                () = self.stop.cancelled() => {}
            }
        }
        !self.is_stopping()
    }

    /// Brings steps back from the ledger when they are due. Runs until the host goes down.
    pub async fn keep_reading(self: Arc<Self>) {
        while !self.is_stopping() {
            let left_ms = self.seats.left_ms.load(Ordering::SeqCst);
            if left_ms.saturating_sub(SEATED_AHEAD_MS) <= self.clock.now_ms() {
                self.seats.left_ms.store(i64::MAX, Ordering::SeqCst);
                if let Err(error) = self.read_due().await {
                    tracing::error!(%error, "the backlog could not be read");
                    self.seats.leave(self.clock.now_ms() + SEATED_AHEAD_MS + 1_000);
                }
                continue;
            }
            tokio::select! {
                () = self.clock.sleep_until(left_ms.saturating_sub(SEATED_AHEAD_MS)) => {}
                () = self.seats.wake.notified() => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    async fn read_due(self: &Arc<Self>) -> Result<(), Abandoned> {
        let horizon_ms = self.clock.now_ms() + SEATED_AHEAD_MS;
        let mut after = None;
        loop {
            let page = self.ledger.due_steps(horizon_ms, after, PAGE).await?;
            for due in &page {
                if self.seats.taken().contains(&due.id) {
                    continue;
                }
                if self.seats.len() >= SEATS_MAX {
                    self.seats.leave(horizon_ms + FULL_AGAIN_MS);
                    return Ok(());
                }
                if let Some(cell) = self.readable_cell(due.run).await? {
                    self.offer(&cell, due.id);
                }
            }
            after = page.last().map(crate::ledger::DueStep::cursor);
            if page.len() < PAGE as usize {
                let beyond = self.ledger.due_steps(i64::MAX, after, 1).await?;
                if let Some(next) = beyond.first() {
                    self.seats.leave(next.due_ms.max(horizon_ms + 1));
                }
                return Ok(());
            }
        }
    }
}

/// What a step holds while it is called.
struct Admitted {
    _slot: Option<Slot>,
    /// It finds out whether the connection can be used again.
    probe: bool,
    _call: Option<tokio::sync::OwnedSemaphorePermit>,
}

async fn find(cell: &RunCell, step: Id) -> Option<(usize, LiveStep)> {
    let steps = cell.steps.lock().await;
    steps
        .iter()
        .position(|live| live.id == step)
        .map(|index| (index, steps[index].clone()))
}

async fn due(cell: &RunCell, step: Id) -> Option<i64> {
    find(cell, step).await?.1.standing.due_ms()
}
