//! A disk that flushes only as often as a test lets it, and loses what was not flushed when the test says that the power is
//! gone.
//!
//! Only the ledger's log is looked at: as long as it is not full nothing else is written. A test that writes more than four
//! thousand pages must not use [`Disk::loses_power`].

use crate::flushes::{ALLOWED, ASKED, DONE};
use crate::wait::eventually;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The disk under one host.
pub struct Disk(TempDir);

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

impl Disk {
    /// One that flushes whenever it is asked to.
    ///
    /// # Panics
    /// There is no folder to be had.
    pub fn new() -> Disk {
        Disk(tempfile::tempdir().unwrap())
    }

    /// Where test and host speak to each other.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// How many flushes are done.
    pub fn flushed(&self) -> usize {
        self.log_bytes().len()
    }

    /// So many flushes may be done in all; the next is held up.
    ///
    /// # Panics
    /// The folder cannot be written.
    pub fn allow(&self, flushes: usize) {
        // At once and whole: the host may be reading it.
        let part = self.folder().join("part");
        fs::write(&part, flushes.to_string()).unwrap();
        fs::rename(&part, self.folder().join(ALLOWED)).unwrap();
    }

    /// Any number may be done from now on.
    ///
    /// # Panics
    /// The folder cannot be written.
    pub fn allow_all(&self) {
        fs::remove_file(self.folder().join(ALLOWED)).unwrap();
    }

    /// Waits until so many flushes are done and the host waits for one more.
    ///
    /// # Panics
    /// It does not.
    pub async fn is_asked_after(&self, flushes: usize) {
        let next = (flushes + 1).to_string();
        let asked = || std::future::ready(fs::read_to_string(self.folder().join(ASKED)).ok());
        eventually("the host wants to flush once more", || async {
            (asked().await? == next).then_some(())
        })
        .await;
    }

    /// The power is gone, with a host that was killed: what its log in `data` got since the last flush is lost.
    ///
    /// # Panics
    /// There is no such log.
    pub fn loses_power(&self, data: &Path) {
        let log = fs::OpenOptions::new()
            .write(true)
            .open(data.join("ledger.db-wal"))
            .unwrap();
        log.set_len(self.log_bytes().last().copied().unwrap_or(0)).unwrap();
        let _ = fs::remove_file(self.folder().join(ASKED));
    }

    fn log_bytes(&self) -> Vec<u64> {
        let done = fs::read_to_string(self.folder().join(DONE)).unwrap_or_default();
        done.lines().map(|line| line.parse().unwrap()).collect()
    }
}
