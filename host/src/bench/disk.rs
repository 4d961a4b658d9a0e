//! What the disk below the ledger can do, and how often the host had it flush.
//!
//! The kernel counts no flushes of a process, so they are counted where they come from. Only the ledger flushes: every
//! commit of its one writer flushes the log once, each time that pages of the log are moved into the database takes two more (log
//! and database), and the head of a log that begins anew another. The host counts its commits and moves; how often the log was
//! begun anew stands in the log's own head (<https://www.sqlite.org/fileformat2.html#walformat>, checkpoint sequence number).
//! `strace` sees as many calls of `fsync` and `fdatasync`.

use super::percentile::Percentiles;
use crate::clock::monotonic_ns;
use crate::host_process::HostProcess;
use crate::ledger::Database;
use anyhow::Context;
use rustix::fs::statfs;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// What is appended before each flush.
const APPEND: [u8; 4 << 10] = [0xA5; 4 << 10];
/// Enough for a median, and bounded where a disk is slow.
const APPENDS_MAX: usize = 500;
const APPENDING_NS_MAX: u64 = 3_000_000_000;
/// Of moving pages of the log into the database, once.
const FLUSHES_PER_MOVE: u64 = 2;
/// Of the checkpoint sequence number, in the head of the log.
const SEQUENCE_AT: usize = 12;

/// File systems that are memory, by the numbers of statfs(2).
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58F6];

/// What a disk does by itself.
pub struct Disk {
    /// One append of 4 KiB with `fdatasync`, in nanoseconds.
    pub append_ns: Percentiles,
    /// It is no disk: flushing costs nothing, and nothing is kept.
    pub in_memory: bool,
}

impl Disk {
    /// Measures the disk below `folder`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn measure(folder: &Path) -> anyhow::Result<Self> {
        let failed = || format!("cannot measure the disk below {}", folder.display());
        let kind = statfs(folder).with_context(failed)?.f_type as u64 & 0xFFFF_FFFF;
        let path = folder.join("appends");
        let mut file = File::create_new(&path).with_context(failed)?;
        let (begun_ns, mut taken_ns) = (monotonic_ns(), Vec::new());
        while taken_ns.len() < APPENDS_MAX && monotonic_ns() - begun_ns < APPENDING_NS_MAX {
            let from_ns = monotonic_ns();
            file.write_all(&APPEND).with_context(failed)?;
            file.sync_data().with_context(failed)?;
            taken_ns.push(monotonic_ns() - from_ns);
        }
        std::fs::remove_file(&path).with_context(failed)?;
        Ok(Self {
            append_ns: Percentiles::of(taken_ns),
            in_memory: IN_MEMORY.contains(&kind),
        })
    }
}

/// How often the host has had its disk flush since it came up; with its ledger on a server, how often it asked the server to:
/// what the server flushes beside, nobody tells by host.
///
/// # Errors
/// The host does not answer.
pub fn flushes(host: &HostProcess, data: &Path, database: &Database) -> anyhow::Result<u64> {
    let counts = host.ask("writer")?;
    let count = |what: &str| {
        let count = counts[what].as_u64();
        count.with_context(|| format!("the host does not tell its number of {what}"))
    };
    Ok(match database {
        Database::Embedded => {
            count("commits")? + FLUSHES_PER_MOVE * count("moves")? + begun_anew(&data.join("ledger.db-wal"))?
        }
        Database::Postgres(_) => count("commits")?,
    })
}

/// How often a log was begun anew; the number stands in the head of the log, big-endian.
fn begun_anew(log: &Path) -> anyhow::Result<u64> {
    let mut head = [0; SEQUENCE_AT + 4];
    let read = File::open(log).and_then(|mut log| log.read_exact(&mut head));
    read.with_context(|| format!("cannot read the head of {}", log.display()))?;
    let [.., a, b, c, d] = head;
    Ok(u32::from_be_bytes([a, b, c, d]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_measured_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::measure(folder.path()).unwrap();
        assert!(disk.append_ns.p50 > 0 && disk.append_ns.p50 <= disk.append_ns.p99);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Disk::measure(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn how_often_a_log_was_begun_anew_is_read_from_its_head() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert!(begun_anew(&log).is_err());
        let mut head = [0xFF; 32];
        head[12..16].copy_from_slice(&[0, 0, 1, 2]);
        std::fs::write(&log, head).unwrap();
        assert_eq!(begun_anew(&log).unwrap(), 258);
    }
}
