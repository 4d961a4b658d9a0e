//! Whether a new event can be stored, as far as can be told without trying.

use super::space::Space;
use super::{LedgerError, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the ledger is stored on.
#[derive(Clone)]
pub(super) enum Store {
    /// A disk of this machine, with its room.
    Disk(Arc<Space>),
    /// A server; whether it was away at the last try.
    Server(Arc<AtomicBool>),
}

impl Store {
    /// # Errors
    /// A new event would find no room, or no database.
    pub(super) fn look(&self) -> Result<()> {
        match self {
            Store::Disk(space) => space.look(),
            Store::Server(is_away) if is_away.load(Ordering::Relaxed) => {
                Err(LedgerError::Away("it cannot be reached".into()))
            }
            Store::Server(_) => Ok(()),
        }
    }

    /// Other hosts may work on the same.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            Store::Disk(_) => false,
            Store::Server(_) => true,
        }
    }

    /// The ledger could not store: gives up what was kept for that. `false`: there is nothing that would help.
    pub(super) fn give_up_reserve(&self) -> bool {
        match self {
            Store::Disk(space) => space.give_up_reserve(),
            Store::Server(_) => false,
        }
    }

    /// Why the ledger could not be opened, with what to do about it.
    pub(super) fn explain(&self, why: String) -> String {
        match self {
            Store::Disk(space) if space.is_full() => format!("the disk is full; free space and start again ({why})"),
            Store::Disk(_) | Store::Server(_) => why,
        }
    }

    /// Looks again every now and then, until the ledger is gone.
    pub(super) fn keep_looking(&self) {
        match self {
            Store::Disk(space) => drop(tokio::spawn(Space::keep_looking(Arc::downgrade(space)))),
            Store::Server(_) => {}
        }
    }
}
