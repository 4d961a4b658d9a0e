//! Room on the disk: new events are refused while it is scarce, so that the outcomes of work begun always find some; and a
//! reserve file is given up for them should it run out all the same (DESIGN, invariant 10 and section 8).
//!
//! What follows from how much is free is one pure function (`judge`); the rest carries it out.

use super::{LedgerError, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Name of the reserve file in the data directory.
const FILE: &str = "reserve";
/// Below this the reserve is given up before anything fails: SQLite takes some failures of a full disk for a broken one.
const FULL_BELOW_BYTES: u64 = 1 << 20;
/// How often somebody looks although nothing is written.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The reserve is written in pieces of this size where the file system cannot set room aside.
const PIECE_BYTES: usize = 64 << 10;

/// How much room there should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// With less than this free, new events are refused.
    pub free_bytes_min: u64,
    /// Size of the file that is given up when the disk is full.
    pub reserve_bytes: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            free_bytes_min: 128 << 20,
            reserve_bytes: 16 << 20,
        }
    }
}

impl Room {
    /// Events are taken in again from here on: a little above the watermark, so that the last free block does not open and
    /// close the door a hundred times.
    fn reopens_at(&self) -> u64 {
        self.free_bytes_min.saturating_add(self.free_bytes_min / 10)
    }
}

/// What follows from how much is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Judged {
    /// New events are refused.
    is_closed: bool,
    reserve: Reserve,
}

/// What to do with the reserve file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reserve {
    Leave,
    GiveUp,
    Make,
}

/// Pure. `was_closed`: events were refused until now; `has_reserve`: the reserve file is there.
fn judge(free_bytes: u64, was_closed: bool, has_reserve: bool, room: &Room) -> Judged {
    let opens_at = if was_closed {
        room.reopens_at()
    } else {
        room.free_bytes_min
    };
    let can_make = free_bytes >= room.reopens_at().saturating_add(room.reserve_bytes);
    let reserve = match has_reserve {
        true if free_bytes < FULL_BELOW_BYTES => Reserve::GiveUp,
        false if can_make => Reserve::Make,
        true | false => Reserve::Leave,
    };
    // Without a reserve, what is free is for the outcomes.
    let keeps_reserve = has_reserve || can_make;
    Judged {
        is_closed: free_bytes < opens_at || !keeps_reserve,
        reserve,
    }
}

/// Reads how many bytes are free for this user.
type Free = Box<dyn Fn() -> io::Result<u64> + Send + Sync>;

/// The room of one data directory.
pub(super) struct Space {
    file: PathBuf,
    room: Room,
    free: Free,
    state: Mutex<State>,
}

struct State {
    is_closed: bool,
    has_reserve: bool,
    /// It was said that the reserve cannot be made.
    is_told: bool,
}

impl Space {
    /// Looks for the first time, and makes or gives up the reserve as it has to be.
    pub(super) fn open(dir: &Path, room: Room) -> Arc<Space> {
        let at = dir.to_owned();
        Space::with(dir, room, Box::new(move || free_bytes(&at)))
    }

    fn with(dir: &Path, room: Room, free: Free) -> Arc<Space> {
        let file = dir.join(FILE);
        if file.metadata().is_ok_and(|there| there.len() != room.reserve_bytes) {
            // Of another size than is wanted now: made anew below. Where that fails, there is none, and that is told.
            let _ = std::fs::remove_file(&file);
        }
        let space = Arc::new(Space {
            state: Mutex::new(State {
                is_closed: false,
                has_reserve: file.exists(),
                is_told: false,
            }),
            file,
            room,
            free,
        });
        space.tend();
        space
    }

    /// Looks, and makes the reserve anew where there is room for it. May take a moment of the disk's.
    fn tend(&self) {
        let Some(free_bytes) = self.free_bytes() else { return };
        let mut state = self.state();
        let judged = judge(free_bytes, state.is_closed, state.has_reserve, &self.room);
        if judged.reserve == Reserve::Make {
            match self.make() {
                Ok(()) => state.has_reserve = true,
                Err(error) if !state.is_told => {
                    state.is_told = true;
                    tracing::warn!(%error, file = %self.file.display(), "the reserve file cannot be made");
                }
                Err(_) => {}
            }
        }
        self.follow(&mut state, judged, free_bytes);
    }

    /// Looks again every now and then, until the ledger is gone.
    pub(super) async fn keep_looking(space: Weak<Space>) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let Some(space) = space.upgrade() else { return };
            if tokio::task::spawn_blocking(move || space.tend()).await.is_err() {
                return;
            }
        }
    }

    /// Whether a new event may be taken in.
    ///
    /// # Errors
    /// There is too little room for it.
    pub(super) fn look(&self) -> Result<()> {
        let Some(free_bytes) = self.free_bytes() else {
            return Ok(());
        };
        let mut state = self.state();
        let mut judged = judge(free_bytes, state.is_closed, state.has_reserve, &self.room);
        if judged.reserve == Reserve::Make {
            // That is done beside the events: until it is, nothing opens.
            judged.is_closed = state.is_closed;
        }
        self.follow(&mut state, judged, free_bytes);
        if !state.is_closed {
            return Ok(());
        }
        let for_reserve = if state.has_reserve { 0 } else { self.room.reserve_bytes };
        Err(LedgerError::NoRoom {
            free_mib: free_bytes >> 20,
            wanted_mib: self.room.reopens_at().saturating_add(for_reserve) >> 20,
        })
    }

    /// There is hardly room for anything.
    pub(super) fn is_full(&self) -> bool {
        self.free_bytes()
            .is_some_and(|free_bytes| free_bytes < FULL_BELOW_BYTES)
    }

    /// Whoever cannot count refuses nobody: the writer still finds out whether it can store.
    fn free_bytes(&self) -> Option<u64> {
        (self.free)()
            .inspect_err(|error| tracing::warn!(%error, "how much room the disk has cannot be told"))
            .ok()
    }

    fn follow(&self, state: &mut State, judged: Judged, free_bytes: u64) {
        if judged.reserve == Reserve::GiveUp {
            self.drop_reserve(state);
        }
        self.tell(state, judged.is_closed, free_bytes);
    }

    /// The ledger could not store: gives up the reserve for what must be stored. `false`: there is none any more, or it is
    /// not the disk that is full, and the reserve would help nobody.
    pub(super) fn give_up_reserve(&self) -> bool {
        let is_ample = self.free_bytes().is_some_and(|free| free >= self.room.free_bytes_min);
        let mut state = self.state();
        if is_ample || !state.has_reserve {
            return false;
        }
        self.drop_reserve(&mut state);
        self.tell(&mut state, true, 0);
        true
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, state: &mut State, is_closed: bool, free_bytes: u64) {
        let was_closed = std::mem::replace(&mut state.is_closed, is_closed);
        let free_mib = free_bytes >> 20;
        match (was_closed, is_closed) {
            (false, true) => tracing::error!(
                free_mib,
                wanted_mib = self.room.reopens_at() >> 20,
                "the disk is short of room: new events are refused until there is more, and work begun goes on"
            ),
            (true, false) => tracing::info!(free_mib, "the disk has room again: new events are taken in"),
            (false, false) | (true, true) => {}
        }
    }

    fn drop_reserve(&self, state: &mut State) {
        match std::fs::remove_file(&self.file) {
            Ok(()) => tracing::warn!(
                file = %self.file.display(),
                "the disk is full: the reserve file is given up, so that the outcomes of work begun can be stored"
            ),
            Err(error) => tracing::error!(%error, file = %self.file.display(), "the reserve file cannot be given up"),
        }
        state.has_reserve = false;
    }

    /// A file of real blocks. Written under another name first: a file that was only half made would be no reserve.
    fn make(&self) -> io::Result<()> {
        let part = self.file.with_extension("part");
        let made = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)
            .and_then(|file| fill(&file, self.room.reserve_bytes))
            .and_then(|()| std::fs::rename(&part, &self.file));
        if made.is_err() {
            // What could not be made must not take room either; it may not be there at all.
            let _ = std::fs::remove_file(&part);
        }
        made
    }
}

fn free_bytes(dir: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(dir)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn fill(mut file: &File, bytes: u64) -> io::Result<()> {
    let flags = rustix::fs::FallocateFlags::empty();
    if rustix::fs::fallocate(file, flags, 0, bytes).is_err() {
        // Random, for a file system that packs would make nothing of zeros.
        let mut left = bytes;
        while left > 0 {
            let piece: [u8; PIECE_BYTES] = super::random();
            let length = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            file.write_all(&piece[..length])?;
            left -= length as u64;
        }
    }
    file.sync_all()
}

#[cfg(test)]
mod tests;
