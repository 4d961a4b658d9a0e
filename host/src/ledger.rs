//! The ledger: what was accepted, what is about to be sent, what came of it. The only module that names sqlx
//! and rusqlite.
//!
//! Every change is a command to one writer, which commits them in groups (`writer`); a method returns after the COMMIT.
//! Reads go to a pool beside it, each in a snapshot of its own. One set of SQL statements serves every backend; what
//! differs is in `sqlite` and `postgres`.
//!
//! It must not know what flows mean, nor connectors, networks or policies: it stores the domain's decisions and fences
//! them.

mod accept;
mod batch;
mod change;
mod command;
mod database;
mod decide;
mod due;
mod erase;
mod erasing;
mod error;
mod fence;
mod finish;
mod forget;
mod home;
mod hosts;
mod identity;
mod intend;
mod late;
mod lease;
mod listed;
mod memory;
mod moving;
mod neighbours;
mod news;
mod open;
mod pauses;
mod people;
mod place;
mod postgres;
mod pulse;
mod read;
mod read_audit;
mod read_catalog;
mod read_counts;
mod read_list;
mod read_page;
mod read_review;
mod read_runs;
mod reads;
mod review;
mod rounds;
mod rows;
mod save;
mod schema;
mod space;
mod sqlite;
mod store;
#[cfg(test)]
mod tests;
mod vouch;
mod whereabouts;
mod witness;
mod write;
mod writer;

pub use crate::flow::ContextItem;
pub use change::*;
pub use erase::{EraseOld, ErasedBatch, RUNS_PER_ERASING_MAX};
pub use error::LedgerError;
pub use forget::{CONFLICTS_PER_PAGE, ConflictingEvent, Forget, Forgotten, Kept, RunsAbout, Word};
pub use late::LateFound;
pub use lease::{HostNews, LeaseTerm};
pub use listed::*;
pub use memory::{Forgetting, Memory, SavedSince, Statement, Window};
pub use moving::{Asked, LedgerPlace, MovedTable, Progress, move_ledger, reopen};
pub use neighbours::{Closure, GateKind, Neighbours, StoredGate};
pub use news::News;
pub use open::{Database, Opening};
pub use pauses::Paused;
pub use postgres::{STORED_KEY, Scratch, store_history};
pub use read::*;
pub use read_list::RUNS_SEARCHED_MAX;
pub use read_page::RUNS_PER_PAGE;
pub use read_runs::DUPLICATES_COUNTED_MAX;
pub use space::Room;
pub use write::*;

use crate::clock::SharedClock;
use accept::Accept;
use command::{Command, RareCommand, Reply};
use database::{Conn, Readers, Snapshot, Value};
use futures::future::BoxFuture;
use lease::Lease;
use oncegate_domain::id::Id;
use std::sync::{Arc, OnceLock};
use store::Store;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use vouch::Voucher;
use writer::Counters;

/// Most items of one page.
pub const PAGE_ITEMS_MAX: u32 = 500;

/// A handle to the ledger; cheap to clone. The last one that goes ends the writer and frees the lock.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    installation: Installation,
    /// Of this host, over all its starts.
    host: String,
    lease: Arc<Lease>,
    /// Where there is one: on PostgreSQL.
    pulse: OnceLock<AbortHandle>,
    clock: SharedClock,
    queue: mpsc::Sender<Command>,
    readers: Readers,
    counters: Arc<Counters>,
    counted: tokio::sync::Mutex<read_counts::Kept>,
    store: Store,
    neighbours: Option<Neighbours>,
    failed: watch::Sender<Option<String>>,
    memory: watch::Sender<Memory>,
    voucher: Voucher,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ledger(epoch {})", self.epoch())
    }
}

type Result<T> = std::result::Result<T, LedgerError>;

/// Random bytes of the operating system.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes once it has started");
    bytes
}

/// A new id, of this moment. Its randomness keeps ids apart and is no secret, so each thread's own generator is enough: an
/// event needs several ids, and the operating system's bytes cost a system call each time.
pub fn new_id(at_ms: i64) -> Id {
    Id::new(at_ms, rand::random())
}

/// What it is for, and how it ends.
impl Ledger {
    /// Whether there is room for new events, as of now.
    ///
    /// # Errors
    /// There is not.
    pub fn has_room(&self) -> Result<()> {
        self.inner.store.look()
    }

    /// This installation's id, secret and incarnation.
    pub fn installation(&self) -> &Installation {
        &self.inner.installation
    }

    /// The lease epoch under which this process writes, greater than that of any start before. It changes where the lease was
    /// lost: see [`Ledger::host_news`].
    pub fn epoch(&self) -> i64 {
        self.inner.lease.epoch()
    }

    /// For how long from now on a request of a step of `epoch` may wait for its first byte: `at_most_ms`, and never past the
    /// lease.
    ///
    /// # Errors
    /// The epoch is over, or the lease ends too soon to send anything.
    pub fn send_within_ms(&self, step: Id, epoch: i64, at_most_ms: u64) -> Result<u64> {
        self.inner.lease.send_within_ms(step, epoch, at_most_ms)
    }

    /// What this host learns at its pulses; nothing where the ledger is its own alone.
    pub fn host_news(&self) -> watch::Receiver<HostNews> {
        self.inner.lease.news()
    }

    /// Waits until the ledger can no longer be trusted in this process, and says why. The host must then end at once.
    pub async fn failed(&self) -> String {
        let mut failed = self.inner.failed.subscribe();
        match failed.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            // The writer ended in order: nothing failed, and nothing will.
            Err(_) => std::future::pending().await,
        }
    }

    /// Carries out what was sent, then closes; commands sent later get `Closed`. Frees the lock.
    pub async fn close(&self) {
        const END: &str = "UPDATE hosts SET ended_ms = ?2, seen_ms = ?2,
              position = CASE WHEN position > ?3 THEN position ELSE ?3 END
            WHERE epoch = ?1 AND ended_ms IS NULL";
        // First, so that it does not take the end for a lost lease.
        if let Some(pulse) = self.inner.pulse.get() {
            pulse.abort();
        }
        let (start, now_ms) = (self.inner.lease.start(), self.inner.clock.now_ms());
        let (epoch, position) = (start.epoch, self.position());
        let ended = self.rare(move |mut conn| {
            Box::pin(async move {
                let values = vec![Value::int(epoch), Value::int(now_ms), Value::int(position)];
                conn.query(END, values).await?;
                Ok(())
            })
        });
        match ended.await {
            Ok(()) => self.vouch_at_end(start, position).await,
            Err(error) => tracing::warn!(
                %error,
                "the end of this process was not noted in the ledger; other hosts wait for its lease to end"
            ),
        }
        // Readers first: the last connection that goes moves the log into the file.
        self.inner.readers.close().await;
        if let Some(neighbours) = &self.inner.neighbours {
            neighbours.close().await;
        }
        let (closed, wait) = oneshot::channel();
        if self.inner.queue.send(Command::Close(closed)).await.is_ok() {
            // An error: the writer has ended before, which is what was asked for.
            let _ = wait.await;
        }
    }

    /// What the writer did so far.
    pub fn writer_counts(&self) -> WriterCounts {
        self.inner.counters.read()
    }

    /// Lets the ledger grow to this many pages of 4 KiB and no further (`None`: as far as SQLite can): how tests fill the
    /// disk (case C3).
    #[doc(hidden)]
    pub async fn limit_pages(&self, pages: Option<u32>) -> Result<()> {
        self.rare(move |mut conn| {
            Box::pin(async move {
                conn.query(sqlite::page_limit(pages), Vec::new()).await?;
                Ok(())
            })
        })
        .await
    }

    async fn send<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T> {
        let (reply, verdict) = oneshot::channel();
        if self.inner.queue.send(command(reply)).await.is_err() {
            return Err(self.gone());
        }
        verdict.await.unwrap_or_else(|_| Err(self.gone()))
    }

    fn gone(&self) -> LedgerError {
        self.inner
            .failed
            .borrow()
            .clone()
            .map_or(LedgerError::Closed, LedgerError::Fatal)
    }

    async fn rare<T, F>(&self, write: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a> Fn(Conn<'a>) -> BoxFuture<'a, Result<T>> + Send + 'static,
    {
        self.send(|reply| {
            Command::Rare(Box::new(RareCommand {
                write,
                done: None,
                reply,
            }))
        })
        .await
    }

    /// The same with an input, which is kept for as long as the command may be repeated.
    async fn rare_with<I, T>(
        &self,
        input: I,
        write: for<'a> fn(Conn<'a>, Arc<I>) -> BoxFuture<'a, Result<T>>,
    ) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        let input = Arc::new(input);
        self.rare(move |conn| write(conn, Arc::clone(&input))).await
    }

    async fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.inner.readers.snapshot().await?)
    }

    /// A disk that fails for a reader fails for all.
    fn noted<T>(&self, read: Result<T>) -> Result<T> {
        if let Err(LedgerError::Fatal(why)) = &read {
            self.inner.failed.send_replace(Some(why.clone()));
        }
        read
    }
}

/// Commands of the hot path. Each returns after its commit.
impl Ledger {
    /// Event, run and all its steps in one transaction; or what the same key means. An event is answered 2xx after this.
    pub async fn accept(&self, event: NewEvent) -> Result<Accepted> {
        self.inner.store.look()?;
        self.inner.lease.must_hold()?;
        let accept = Box::new(Accept::new(event));
        self.send(|reply| Command::Accept(accept, reply)).await
    }

    /// Records the intent to send. Only what it returns can send.
    pub async fn intend(&self, intent: NewIntent) -> Result<Intent> {
        intend::check(&intent)?;
        self.send(|reply| Command::Intend(Box::new(intent), reply)).await
    }

    /// The end of an attempt (or a change without one) and all that follows.
    pub async fn finish(&self, finish: impl Into<Arc<Finish>>) -> Result<Finished> {
        let finish = finish.into();
        finish::check(&finish)?;
        self.send(|reply| Command::Finish(finish, reply)).await
    }

    /// Evidence of an attempt that was given up. No fence; an open review item gets a new version. Returns the epoch of the host
    /// that has to look at the step now because a person need not decide about it any more.
    pub async fn late_evidence(&self, late: LateEvidence) -> Result<Option<i64>> {
        let late = Arc::new(late);
        self.rare(move |mut conn| {
            let late = late.clone();
            Box::pin(async move { late::append(&mut conn, &late).await })
        })
        .await
    }

    /// Gives these runs, with all their steps, to this process's epoch where one that has ended holds them. Returns the runs
    /// that this process owns now.
    pub async fn take_over(&self, runs: Vec<Id>) -> Result<Vec<Id>> {
        let (epoch, runs) = (self.epoch(), Arc::new(runs));
        self.rare(move |mut conn| {
            let runs = runs.clone();
            Box::pin(async move { hosts::take_over(&mut conn, epoch, &runs).await })
        })
        .await
    }
}
