//! Moving the log into the database. Most of it is moved on a thread of its own: its pages lie all over the file, and the writer
//! would stand still for as long as the disk takes for them. What was written meanwhile is little; that rest the writer moves
//! itself, for only where nothing is left the log begins anew (docs/decisions/0023).

use rusqlite::{Connection, Row};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The log is moved when it has so many pages of 4 KiB. The longer it is, the more often a page was written that is moved once.
const LOG_PAGES: i64 = 8_000;
/// So little of it the writer moves itself.
const REST_PAGES_MAX: i64 = 1_000;
/// When the log has grown to this, moving it is slower than writing, and the writer waits.
const LOG_PAGES_MAX: i64 = 4 * LOG_PAGES;
/// A page of 4 KiB in the log, with its head.
const LOG_PAGE_BYTES: i64 = 4_096 + 24;

/// Beside the writer, for as long as it lives.
pub(super) struct Checkpoints {
    shared: Arc<Shared>,
    /// Has no room: whoever asks while the thread is at work does not ask for more.
    beside: Option<(SyncSender<()>, JoinHandle<()>)>,
}

struct Shared {
    /// Who moves the log.
    turn: Mutex<()>,
    moves: AtomicU64,
}

/// How long the log is, and how much of it is in the database; in pages.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Log {
    pages: i64,
    moved: i64,
}

impl Checkpoints {
    /// For the log of `writer`, which moves nothing by itself from now on. A file that had to grow further, while somebody read
    /// for long, is cut again when the log begins anew.
    pub(super) fn of(file: &Path, writer: &Connection) -> rusqlite::Result<Self> {
        writer.execute_batch(&format!(
            "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = {}",
            LOG_PAGES_MAX * LOG_PAGE_BYTES
        ))?;
        let connection = Connection::open(file)?;
        connection.execute_batch("PRAGMA synchronous = FULL")?;
        let shared = Arc::new(Shared {
            turn: Mutex::new(()),
            moves: AtomicU64::new(0),
        });
        let (ask, asked) = sync_channel(0);
        let mover = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("checkpoint".to_owned());
        let thread = thread.spawn(move || mover.move_when_asked(&connection, &asked));
        Ok(Self {
            shared,
            // Without a thread the writer moves all of it.
            beside: thread.ok().map(|thread| (ask, thread)),
        })
    }

    /// After each transaction of the writer. What is committed is safe in the log: an error here only makes it longer, and is
    /// tried again after the next one. Returns how often pages were moved: each time the log is flushed first, and the database
    /// last.
    pub(super) fn look_at(&self, writer: &Connection) -> u64 {
        match Log::of(writer, "PRAGMA wal_checkpoint(NOOP)") {
            Ok(log) if log.pages < LOG_PAGES => {}
            Ok(log) if log.pages - log.moved > REST_PAGES_MAX && log.pages < LOG_PAGES_MAX && self.is_asked() => {}
            Ok(_) => self.shared.move_log(writer),
            Err(error) => tracing::warn!(%error, "the ledger does not say how long its log is"),
        }
        self.shared.moves.load(Ordering::Relaxed)
    }

    /// `false`: there is no thread to ask.
    fn is_asked(&self) -> bool {
        let ask = self.beside.as_ref().map(|(ask, _)| ask.try_send(()));
        !matches!(ask, None | Some(Err(std::sync::mpsc::TrySendError::Disconnected(()))))
    }

    /// Nothing is moved any more.
    pub(super) fn end(self) {
        if let Some((ask, thread)) = self.beside {
            drop(ask);
            drop(thread.join());
        }
    }
}

impl Shared {
    fn move_when_asked(&self, connection: &Connection, asked: &Receiver<()>) {
        while asked.recv().is_ok() {
            self.move_log(connection);
        }
    }

    /// Moves what no reader still reads from the log. Waits for whoever does so now, and for nobody else.
    fn move_log(&self, connection: &Connection) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let moved = || {
            let before = Log::of(connection, "PRAGMA wal_checkpoint(NOOP)")?;
            let after = Log::of(connection, "PRAGMA wal_checkpoint(PASSIVE)")?;
            Ok::<_, rusqlite::Error>(after.moved != before.moved)
        };
        match moved() {
            Ok(moved) => drop(self.moves.fetch_add(moved.into(), Ordering::Relaxed)),
            Err(error) => tracing::warn!(%error, "the ledger's log could not be moved into it; that is tried again"),
        }
    }
}

impl Log {
    fn of(connection: &Connection, pragma: &str) -> rusqlite::Result<Log> {
        let log = |row: &Row<'_>| {
            let (pages, moved) = (row.get(1)?, row.get(2)?);
            Ok(Log { pages, moved })
        };
        connection.prepare_cached(pragma)?.query_row([], log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ledger {
        writer: Connection,
        checkpoints: Checkpoints,
        folder: tempfile::TempDir,
    }

    fn ledger() -> Ledger {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ledger.db");
        let writer = Connection::open(&file).unwrap();
        let set_up = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE pages (content BYTEA)";
        writer.execute_batch(set_up).unwrap();
        Ledger {
            checkpoints: Checkpoints::of(&file, &writer).unwrap(),
            writer,
            folder,
        }
    }

    impl Ledger {
        /// Commits until the log has had at least so many pages more.
        fn write(&self, pages: i64) {
            for _ in 0..pages / 100 {
                let hundred = "INSERT INTO pages SELECT zeroblob(4000) FROM json_each('[' || SUBSTR(?1, 2) || ']')";
                let hundred = self.writer.execute(hundred, [",0".repeat(100)]).unwrap();
                assert_eq!(hundred, 100);
                self.checkpoints.look_at(&self.writer);
            }
        }

        fn log(&self) -> Log {
            Log::of(&self.writer, "PRAGMA wal_checkpoint(NOOP)").unwrap()
        }

        fn file_bytes(&self) -> i64 {
            let log = std::fs::metadata(self.folder.path().join("ledger.db-wal")).unwrap();
            log.len().cast_signed()
        }
    }

    #[test]
    fn the_log_begins_anew_however_much_is_written() {
        let ledger = ledger();
        ledger.write(LOG_PAGES / 2);
        assert_eq!((ledger.log().moved, ledger.checkpoints.look_at(&ledger.writer)), (0, 0));
        ledger.write(3 * LOG_PAGES_MAX);
        assert!(ledger.checkpoints.look_at(&ledger.writer) >= 3);
        // A commit has pages of the tree beside those that it fills.
        let bytes_max = (LOG_PAGES_MAX + 1_000) * LOG_PAGE_BYTES;
        assert!(ledger.file_bytes() <= bytes_max, "{:?}", ledger.log());
    }

    #[test]
    fn a_log_that_somebody_reads_grows_and_begins_anew_after_that() {
        let ledger = ledger();
        ledger.write(100);
        let reader = Connection::open(ledger.folder.path().join("ledger.db")).unwrap();
        let count = "SELECT COUNT(*) FROM pages";
        reader.execute_batch("BEGIN").unwrap();
        assert_eq!(reader.query_row(count, [], |row| row.get::<_, i64>(0)), Ok(100));
        ledger.write(LOG_PAGES_MAX + LOG_PAGES);
        assert!(ledger.log().pages > LOG_PAGES_MAX + LOG_PAGES, "{:?}", ledger.log());
        assert!(ledger.file_bytes() > LOG_PAGES_MAX * LOG_PAGE_BYTES);
        assert_eq!(reader.query_row(count, [], |row| row.get::<_, i64>(0)), Ok(100));
        reader.execute_batch("COMMIT").unwrap();
        ledger.write(LOG_PAGES_MAX);
        assert!(ledger.log().pages < LOG_PAGES_MAX, "{:?}", ledger.log());
        assert!(ledger.file_bytes() <= LOG_PAGES_MAX * LOG_PAGE_BYTES);
    }

    #[test]
    fn without_a_thread_the_writer_moves_all_of_it() {
        let mut ledger = ledger();
        if let Some((ask, thread)) = ledger.checkpoints.beside.take() {
            drop(ask);
            thread.join().unwrap();
        }
        ledger.write(2 * LOG_PAGES);
        assert!(ledger.log().pages < LOG_PAGES + 1_000, "{:?}", ledger.log());
    }
}
