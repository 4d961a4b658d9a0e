//! The seats: which steps are in memory. Each connection has its own, so that one whose destination is slow or away fills
//! its own and nobody else's.

use oncegate_domain::id::Id;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Steps of one connection in memory at most, each a sleeping task: some more than can be under way at the same time.
pub(super) const SEATS_PER_CONNECTION: u32 = 500;
/// So many of them at most for the first steps of new events: what is begun finds a seat to go on.
const FOR_NEW_EVENTS: usize = 300;
/// The ledger is read once so many seats are free, a page at a time and not step by step.
const READ_AT: usize = SEATS_PER_CONNECTION as usize / 2;
/// A step due later than this gives up its seat.
pub(super) const SEATED_AHEAD_MS: i64 = 2_000;
/// How long a new event waits for a seat before it is left in the ledger. A load above what the host can do is slowed down
/// by it, which is cheaper than to read the step back; too short for a sender to mind, or for a flood to fill the hooks.
const RESERVE_WITHIN: Duration = Duration::from_millis(100);

/// All seats of this host, and what was left in the ledger.
#[derive(Default)]
pub struct Seats {
    rooms: Mutex<HashMap<String, Arc<Room>>>,
    wake: Arc<Notify>,
}

/// The seats of one connection.
pub struct Room {
    connection: String,
    seats: Arc<Semaphore>,
    for_new_events: Arc<Semaphore>,
    taken: Mutex<HashSet<Id>>,
    /// The earliest time at which a step that was left in the ledger is due.
    left_ms: AtomicI64,
    wake: Arc<Notify>,
}

/// A seat that is kept for a step which is about to be stored.
pub struct Reserved(Permits);

/// What is given back with a seat.
struct Permits {
    _seat: OwnedSemaphorePermit,
    _new_event: Option<OwnedSemaphorePermit>,
}

/// A seat. Dropped, it is free.
pub struct Seat {
    room: Arc<Room>,
    step: Id,
    is_taken: bool,
    permits: Option<Permits>,
}

impl Seats {
    /// The seats of a connection.
    pub fn room(&self, connection: &str) -> Arc<Room> {
        let mut rooms = self.locked();
        if let Some(room) = rooms.get(connection) {
            return Arc::clone(room);
        }
        let room = Arc::new(Room {
            connection: connection.to_owned(),
            seats: Arc::new(Semaphore::new(SEATS_PER_CONNECTION as usize)),
            for_new_events: Arc::new(Semaphore::new(FOR_NEW_EVENTS)),
            taken: Mutex::default(),
            left_ms: AtomicI64::new(i64::MAX),
            wake: Arc::clone(&self.wake),
        });
        rooms.insert(connection.to_owned(), Arc::clone(&room));
        room
    }

    /// All of them.
    pub fn rooms(&self) -> Vec<Arc<Room>> {
        self.locked().values().cloned().collect()
    }

    /// How many steps are in memory.
    pub fn len(&self) -> usize {
        self.rooms().iter().map(|room| room.taken().len()).sum()
    }

    /// Waits a moment for a seat for the first step of a new event.
    pub async fn reserve(&self, connection: &str) -> Option<Reserved> {
        let room = self.room(connection);
        let free = Arc::clone(&room.for_new_events).acquire_owned();
        let new_event = tokio::time::timeout(RESERVE_WITHIN, free).await.ok()?.ok()?;
        let seat = room.free_seat()?;
        Some(Reserved(Permits {
            _new_event: Some(new_event),
            ..seat
        }))
    }

    /// Takes a seat for a step, unless it has one; where none is free the step is left in the ledger.
    pub fn take(&self, connection: &str, step: Id, reserved: Option<Reserved>, now_ms: i64) -> Option<Seat> {
        let room = self.room(connection);
        if !room.taken().insert(step) {
            return None;
        }
        let mut seat = Seat {
            step,
            is_taken: true,
            permits: reserved.map(|reserved| reserved.0),
            room,
        };
        seat.permits = seat.permits.take().or_else(|| seat.room.free_seat());
        if seat.permits.is_none() {
            seat.leave(now_ms);
            return None;
        }
        Some(seat)
    }

    /// Waits until a step was left or a seat became free that somebody waits for.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, Arc<Room>>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Whose.
    pub fn connection(&self) -> &str {
        &self.connection
    }

    /// Whether the step has a seat.
    pub fn has(&self, step: Id) -> bool {
        self.taken().contains(&step)
    }

    /// Seats that are free.
    pub fn free(&self) -> usize {
        self.seats.available_permits()
    }

    /// A step stays in the ledger until it is due.
    pub fn leave(&self, due_ms: i64) {
        self.left_ms.fetch_min(due_ms, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// The ledger is about to be read.
    pub fn nothing_left(&self) {
        self.left_ms.store(i64::MAX, Ordering::SeqCst);
    }

    /// From when on it is worth reading the ledger; never while there are few seats, for one that becomes free wakes.
    pub fn reads_from_ms(&self) -> i64 {
        if self.free() < READ_AT {
            return i64::MAX;
        }
        self.left_ms.load(Ordering::SeqCst).saturating_sub(SEATED_AHEAD_MS)
    }

    fn free_seat(&self) -> Option<Permits> {
        let seat = Arc::clone(&self.seats).try_acquire_owned().ok()?;
        Some(Permits {
            _seat: seat,
            _new_event: None,
        })
    }

    fn taken(&self) -> MutexGuard<'_, HashSet<Id>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Whose.
    pub fn step(&self) -> Id {
        self.step
    }

    /// Nobody works on the step for now: whoever offers it may take it.
    pub fn is_idle(&mut self) {
        if std::mem::take(&mut self.is_taken) {
            self.room.taken().remove(&self.step);
        }
    }

    /// Works on the step again, unless somebody else has begun to.
    pub fn is_taken_again(&mut self) -> bool {
        self.is_taken = self.room.taken().insert(self.step);
        self.is_taken
    }

    /// Gives the seat up; the step stays in the ledger until it is due.
    pub fn leave(mut self, due_ms: i64) {
        self.is_idle();
        self.permits = None;
        self.room.leave(due_ms);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.is_idle();
        self.permits = None;
        if self.room.left_ms.load(Ordering::SeqCst) < i64::MAX && self.room.free() >= READ_AT {
            self.room.wake.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> Id {
        Id::from_bytes(number.to_be_bytes())
    }

    #[test]
    fn a_step_has_one_seat_and_gives_it_back() {
        let seats = Seats::default();
        let mut seat = seats.take("crm", id(1), None, 0).unwrap();
        assert!(seats.take("crm", id(1), None, 0).is_none());
        seat.is_idle();
        let other = seats.take("crm", id(1), None, 0).unwrap();
        assert!(!seat.is_taken_again());
        drop(seat);
        assert!(seats.room("crm").has(id(1)));
        drop(other);
        assert_eq!(
            (seats.len(), seats.room("crm").free()),
            (0, SEATS_PER_CONNECTION as usize)
        );
    }

    #[test]
    fn a_connection_fills_its_own_seats_alone_and_is_read_again_when_half_are_free() {
        let seats = Seats::default();
        let mut taken: Vec<Seat> = (0..u128::from(SEATS_PER_CONNECTION))
            .map(|number| seats.take("slow", id(number), None, 0).unwrap())
            .collect();
        assert!(seats.take("slow", id(1_000), None, 7).is_none());
        assert!(seats.take("quick", id(1_000), None, 7).is_some());
        let room = seats.room("slow");
        assert_eq!(room.reads_from_ms(), i64::MAX);
        taken.truncate(READ_AT);
        assert_eq!(room.reads_from_ms(), 7 - SEATED_AHEAD_MS);
    }

    #[tokio::test]
    async fn a_new_event_waits_a_moment_for_a_seat_and_no_longer() {
        let seats = Seats::default();
        let mut kept = Vec::new();
        for _ in 0..FOR_NEW_EVENTS {
            kept.push(seats.reserve("crm").await.unwrap());
        }
        assert!(seats.reserve("crm").await.is_none());
        assert!(seats.take("crm", id(0), None, 0).is_some(), "what is begun goes on");
        drop(kept.pop());
        let reserved = seats.reserve("crm").await;
        assert!(seats.take("crm", id(1), reserved, 0).is_some());
    }
}
