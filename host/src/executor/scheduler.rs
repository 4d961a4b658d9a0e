//! Who is worked on, and when. A step in memory has a seat and a task that sleeps until the step is due; what finds no
//! seat, or is due later, waits in the ledger, so that a backlog costs disk and not memory.
//!
//! Nothing polls while work is at hand: a step accepted here is seated at once, and the ledger is read only when the
//! earliest step that was left there comes due and there are seats for it.

mod seats;

pub use seats::{Reserved, Seats};

use super::attempt::{Tried, attempt};
use super::begin::skip_unless_wanted;
use super::blocking::Found;
use super::capacity::{Admission, Slot};
use super::live::{LiveStep, RunCell};
use super::settle::Abandoned;
use super::{Shared, recovery};
use crate::ledger::{DueStep, LedgerError, RUNS_PER_PAGE};
use crate::share::Share;
use oncegate_domain::id::Id;
use seats::{Room, SEATED_AHEAD_MS, SEATS_PER_CONNECTION, Seat};
use std::collections::HashSet;
use std::sync::Arc;

/// When the ledger or the runtime has no room, how long to wait before the next try.
const AGAIN_MS: i64 = 50;
/// When the ledger could not be read or written, how long to wait.
const FAILED_AGAIN_MS: i64 = 1_000;

/// A step that can be worked on now, and its connection.
pub type Ready = (Id, String);

impl Shared {
    /// Begins to work on a step of a run in memory, unless somebody does or there is no seat.
    pub fn offer(self: &Arc<Self>, cell: &Arc<RunCell>, (step, connection): &Ready, reserved: Option<Reserved>) {
        let Some(seat) = self.seats.take(connection, *step, reserved, self.clock.now_ms()) else {
            return;
        };
        let (shared, cell) = (Arc::clone(self), Arc::clone(cell));
        self.tasks.spawn(async move { shared.hold_seat(&cell, seat).await });
    }

    /// Works on a step until nothing more is to be done about it now.
    async fn hold_seat(self: &Arc<Self>, cell: &Arc<RunCell>, mut seat: Seat) {
        loop {
            let step = seat.step();
            // In a box, for a task is copied whole on its way to where it runs.
            let worked = Box::pin(self.drive(cell, step)).await;
            seat.is_idle();
            match worked {
                Ok(()) => {}
                Err(Abandoned::Overtaken(why)) => {
                    tracing::debug!(%step, %why, "somebody else changed the step first");
                    self.live.forget(cell);
                    return seat.leave(self.clock.now_ms() + AGAIN_MS);
                }
                Err(Abandoned::Illegal(why)) => tracing::debug!(%step, %why, "the step moved on meanwhile"),
                Err(Abandoned::Ledger(error)) => {
                    tracing::error!(%step, %error, "work on a step waits for the ledger");
                    return seat.leave(self.clock.now_ms() + FAILED_AGAIN_MS);
                }
            }
            // Somebody may have offered the step while the seat was still taken: that offer must not be lost.
            let Some(due_ms) = due(cell, step).await else { return };
            if self.is_stopping() {
                return;
            }
            if due_ms > self.clock.now_ms() + SEATED_AHEAD_MS {
                return seat.leave(due_ms);
            }
            if !seat.is_taken_again() {
                return;
            }
        }
    }

    async fn drive(self: &Arc<Self>, cell: &Arc<RunCell>, step: Id) -> Result<(), Abandoned> {
        let mut not_before_ms = i64::MIN;
        while self.may_begin().await
            && let Some(due_ms) = due(cell, step).await.map(|due_ms| due_ms.max(not_before_ms))
        {
            if due_ms > self.clock.now_ms() + SEATED_AHEAD_MS || !self.sleep_until(due_ms).await {
                return Ok(());
            }
            let Some((index, live)) = find(cell, step).await else {
                return Ok(());
            };
            if live.epoch != self.ledger.epoch() {
                // The lease was lost meanwhile: what the destination says now could not be stored.
                let (step, epoch) = (live.id, live.epoch);
                return Err(LedgerError::LeaseLost { step, epoch }.into());
            }
            if live.standing.open_intent.is_some() {
                // Whoever carries out an attempt of ours has the seat: this one was left behind.
                recovery::settle_left(self, cell, index).await?;
                continue;
            }
            if Box::pin(skip_unless_wanted(self, cell, index)).await? {
                continue;
            }
            if Box::pin(self.suspect(cell, index, &live)).await? {
                continue;
            }
            let slot = match self.admit(cell, index, &live).await? {
                Some(slot) => slot,
                None => continue,
            };
            // In a box of its own: most steps in memory wait, and need no room for a call meanwhile.
            let tried = Box::pin(attempt(self, cell, index, slot.probe)).await?;
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
            return Ok(Some(self.admitted(&live.connection, None, false).await));
        };
        // By the age of the run: one that was begun goes on before another is.
        let since_ms = cell.facts.created_ms;
        let mut admission = gate.admit(live.id, since_ms).await;
        loop {
            let slot = match admission {
                Admission::Go { slot, start_ms } => {
                    let start_ms = start_ms.max(self.shared_start_ms(&live.connection, &gate).await?);
                    let has_to_sleep = start_ms > self.clock.now_ms();
                    if !self.sleep_until(start_ms).await {
                        return Ok(None);
                    }
                    if has_to_sleep && gate.is_closed() {
                        // Paused meanwhile, or the destination asked to be left alone.
                        admission = slot.again(since_ms).await;
                        continue;
                    }
                    slot
                }
                Admission::Wait { reason, until_ms } => {
                    if Box::pin(self.hold(cell, index, live, reason, until_ms)).await? {
                        return Ok(None);
                    }
                    // Nothing is approved any more that could be waited for: the attempt says so to a person.
                    return Ok(Some(self.admitted(&live.connection, None, false).await));
                }
            };
            if !slot.asks_first {
                let probe = slot.probe;
                return Ok(Some(self.admitted(&live.connection, Some(slot), probe).await));
            }
            match Box::pin(self.find_out(live, &slot)).await {
                Found::Go { probe } => return Ok(Some(self.admitted(&live.connection, Some(slot), probe).await)),
                Found::AskAgain => admission = slot.again(since_ms).await,
            }
        }
    }

    async fn admitted(&self, connection: &str, slot: Option<Slot>, probe: bool) -> Admitted {
        Admitted {
            _slot: slot,
            probe,
            _call: self.calls.take(connection).await,
        }
    }

    /// Sleeps until then; `false`: the host is going down, begin nothing.
    pub(super) async fn sleep_until(&self, at_ms: i64) -> bool {
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
        while let Err(error) = self.look_for_backlog().await {
            tracing::error!(%error, "the backlog could not be read");
            if !self.sleep_until(self.clock.now_ms() + FAILED_AGAIN_MS).await {
                return;
            }
        }
        while !self.is_stopping() {
            let mut next_ms = i64::MAX;
            for room in self.seats.rooms() {
                let from_ms = room.reads_from_ms();
                if from_ms > self.clock.now_ms() {
                    next_ms = next_ms.min(from_ms);
                } else if let Err(error) = self.read_due(&room).await {
                    tracing::error!(%error, "the backlog could not be read");
                    room.leave(self.clock.now_ms() + SEATED_AHEAD_MS + FAILED_AGAIN_MS);
                }
            }
            tokio::select! {
                () = self.clock.sleep_until(next_ms) => {}
                () = self.seats.woken() => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    /// What an earlier process left, by connection.
    pub(super) async fn look_for_backlog(&self) -> Result<(), Abandoned> {
        for (connection, due_ms) in self.ledger.backlogs().await? {
            self.seats.room(&connection).leave(due_ms);
        }
        Ok(())
    }

    /// Seats the steps of one connection that are due, oldest first, as far as there are seats.
    async fn read_due(self: &Arc<Self>, room: &Arc<Room>) -> Result<(), Abandoned> {
        let connection = room.connection();
        room.nothing_left();
        let horizon_ms = self.clock.now_ms() + SEATED_AHEAD_MS;
        let mut after = None;
        loop {
            let page = self
                .ledger
                .due_steps(connection, horizon_ms, after, SEATS_PER_CONNECTION)
                .await?;
            let mut unseated: Vec<DueStep> = page.iter().filter(|due| !room.has(due.id)).copied().collect();
            let free = room.free();
            let is_full = unseated.len() > free;
            unseated.truncate(free);
            self.own(&mut unseated).await?;
            // The oldest begin while the others are still read.
            for part in unseated.chunks(RUNS_PER_PAGE) {
                let runs: Vec<Id> = part.iter().map(|due| due.run).collect();
                let cells = self.readable_cells(&runs).await?;
                for due in part {
                    if let Some(cell) = cells.get(&due.run) {
                        self.catch_up(cell, due).await.or_else(Abandoned::unless_overtaken)?;
                        match self.is_settled_in_review(cell, due.id).await {
                            Ok(true) => {}
                            Ok(false) => self.offer(cell, &(due.id, connection.to_owned()), None),
                            Err(error) => error.unless_overtaken()?,
                        }
                    }
                }
            }
            if is_full {
                room.leave(self.clock.now_ms());
                return Ok(());
            }
            after = page.last().map(DueStep::cursor);
            if page.len() < SEATS_PER_CONNECTION as usize {
                let beyond = self.ledger.due_steps(connection, i64::MAX, after, 1).await?;
                if let Some(next) = beyond.first() {
                    room.leave(next.due_ms.max(horizon_ms + 1));
                }
                return Ok(());
            }
        }
    }

    /// Takes over the runs of these steps that an earlier process or a host that has ended holds. Those that somebody else
    /// takes right now are left out.
    pub(super) async fn own(&self, steps: &mut Vec<DueStep>) -> Result<(), Abandoned> {
        let epoch = self.ledger.epoch();
        let mut foreign: Vec<Id> = steps
            .iter()
            .filter(|due| due.epoch != epoch)
            .map(|due| due.run)
            .collect();
        if foreign.is_empty() {
            return Ok(());
        }
        foreign.sort_unstable();
        foreign.dedup();
        let owned: HashSet<Id> = self.ledger.take_over(foreign).await?.into_iter().collect();
        steps.retain(|due| due.epoch == epoch || owned.contains(&due.run));
        Ok(())
    }
}

/// What a step holds while it is called.
struct Admitted {
    _slot: Option<Slot>,
    /// It finds out whether the connection can be used again.
    probe: bool,
    _call: Share,
}

/// A step of a run, and its place in it.
pub(super) async fn find(cell: &RunCell, step: Id) -> Option<(usize, LiveStep)> {
    let steps = cell.steps.lock().await;
    steps
        .iter()
        .position(|live| live.id == step)
        .map(|index| (index, steps[index].clone()))
}

async fn due(cell: &RunCell, step: Id) -> Option<i64> {
    let steps = cell.steps.lock().await;
    steps.iter().find(|live| live.id == step)?.standing.due_ms()
}
