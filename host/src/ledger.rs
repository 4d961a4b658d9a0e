//! The ledger: what was accepted, what is about to be sent, what came of it. The only module that names sqlx.
//!
//! Every change is a command to one writer, which commits them in groups (`writer`); a method returns after the COMMIT.
//! Reads go to a pool beside it, each in a snapshot of its own. One set of SQL statements serves every backend; what
//! differs is in `sqlite`.
//!
//! It must not know what flows mean, nor connectors, networks or policies: it stores the domain's decisions and fences
//! them.

mod accept;
mod batch;
mod command;
mod decide;
mod due;
mod error;
mod fence;
mod finish;
mod intend;
mod place;
mod read;
mod read_audit;
mod read_catalog;
mod read_review;
mod read_runs;
mod review;
mod rounds;
mod rows;
mod save;
mod schema;
mod sqlite;
#[cfg(test)]
mod tests;
mod write;
mod writer;

pub use crate::flow::ContextItem;
pub use error::LedgerError;
pub use read::*;
pub use write::*;

use crate::clock::SharedClock;
use accept::Accept;
use command::{Command, RareCommand, Reply};
use futures::future::BoxFuture;
use oncegate_domain::id::Id;
use save::Deactivate;
use sqlite::{Conn, Readers, Snapshot, Value};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use writer::{COMMANDS_WAITING_MAX, Counters, Writer};

/// Most items of one page.
pub const PAGE_ITEMS_MAX: u32 = 500;

/// A handle to the ledger; cheap to clone. The last one that goes ends the writer and frees the lock.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    installation: Installation,
    epoch: i64,
    clock: SharedClock,
    queue: mpsc::Sender<Command>,
    readers: Readers,
    counters: Arc<Counters>,
    failed: watch::Receiver<Option<String>>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ledger(epoch {})", self.inner.epoch)
    }
}

type Result<T> = std::result::Result<T, LedgerError>;

/// Random bytes of the operating system.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes once it has started");
    bytes
}

fn new_id(at_ms: i64) -> Id {
    Id::new(at_ms, random())
}

/// How often the lock is asked for, and how far apart: a host that was told to stop may just be closing.
const LOCK_TRIES_MAX: u32 = 10;
const LOCK_PAUSE_MS: u64 = 50;

async fn take_lock(dir: &Path) -> std::result::Result<File, String> {
    for _ in 0..LOCK_TRIES_MAX {
        if let Some(lock) = place::lock(dir)? {
            return Ok(lock);
        }
        tokio::time::sleep(std::time::Duration::from_millis(LOCK_PAUSE_MS)).await;
    }
    Err(format!(
        "{} holds it; stop that host first, or give this one another --data directory",
        place::holder(dir)
    ))
}

/// Opening and closing.
impl Ledger {
    /// Opens (and makes, and migrates) the ledger in `dir`, takes its lock, and begins a new lease epoch.
    pub async fn open(dir: &Path, clock: SharedClock) -> Result<Ledger> {
        let refuse = |why: String| LedgerError::Open {
            dir: dir.display().to_string(),
            why,
        };
        place::prepare(dir).map_err(refuse)?;
        let lock = take_lock(dir).await.map_err(refuse)?;
        let (mut connection, readers) = sqlite::open(&dir.join("ledger.db")).await.map_err(refuse)?;
        let now_ms = clock.now_ms();
        let begun = async {
            schema::migrate(&mut connection, now_ms).await?;
            schema::begin_epoch(&mut connection, now_ms).await
        };
        let (installation, epoch) = begun.await.map_err(|error| refuse(error.to_string()))?;
        let (queue, commands) = mpsc::channel(COMMANDS_WAITING_MAX);
        let (failing, failed) = watch::channel(None);
        let counters = Arc::new(Counters::default());
        let writer = Writer {
            connection,
            queue: commands,
            epoch,
            counters: counters.clone(),
            failed: failing,
            lock,
        };
        tokio::spawn(writer.run());
        Ok(Ledger {
            inner: Arc::new(Inner {
                installation,
                epoch,
                clock,
                queue,
                readers,
                counters,
                failed,
            }),
        })
    }

    /// This installation's id, secret and incarnation.
    pub fn installation(&self) -> &Installation {
        &self.inner.installation
    }

    /// The lease epoch of this process: one more than that of the process before.
    pub fn epoch(&self) -> i64 {
        self.inner.epoch
    }

    /// Waits until the ledger can no longer be trusted in this process, and says why. The host must then end at once.
    pub async fn failed(&self) -> String {
        let mut failed = self.inner.failed.clone();
        match failed.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            // The writer ended in order: nothing failed, and nothing will.
            Err(_) => std::future::pending().await,
        }
    }

    /// Carries out what was sent, then closes; commands sent later get `Closed`. Frees the lock.
    pub async fn close(&self) {
        const END: &str = "UPDATE hosts SET ended_ms = $2 WHERE epoch = $1";
        let (epoch, now_ms) = (self.inner.epoch, self.inner.clock.now_ms());
        let ended = self.rare(move |mut conn| {
            Box::pin(async move {
                conn.query(END, vec![Value::int(epoch), Value::int(now_ms)]).await?;
                Ok(())
            })
        });
        if let Err(error) = ended.await {
            tracing::warn!(%error, "the end of this process was not noted in the ledger; nothing depends on it");
        }
        // Readers first: the last connection that goes moves the log into the file.
        self.inner.readers.close().await;
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

    async fn snapshot(&self) -> Result<Snapshot> {
        Ok(self.inner.readers.snapshot().await?)
    }
}

/// Commands of the hot path. Each returns after its commit.
impl Ledger {
    /// Event, run and all its steps in one transaction; or what the same key means. An event is answered 2xx after this.
    pub async fn accept(&self, event: NewEvent) -> Result<Accepted> {
        let accept = Box::new(Accept::new(event));
        let mut accepted = self.send(|reply| Command::Accept(accept, reply)).await?;
        if let Accepted::Duplicate { run, state, result } = &mut accepted
            && rows::run_is_final(*state)
        {
            *result = self.run_result(*run).await?.map(|found| found.outputs);
        }
        Ok(accepted)
    }

    /// Records the intent to send. Only what it returns can send.
    pub async fn intend(&self, intent: NewIntent) -> Result<Intent> {
        intend::check(&intent)?;
        self.send(|reply| Command::Intend(Box::new(intent), reply)).await
    }

    /// The end of an attempt (or a change without one) and all that follows.
    pub async fn finish(&self, finish: Finish) -> Result<Finished> {
        self.send(|reply| Command::Finish(Box::new(finish), reply)).await
    }

    /// Evidence of an attempt that was given up. No fence; an open review item gets a new version.
    pub async fn late_evidence(&self, late: LateEvidence) -> Result<()> {
        let late = Arc::new(late);
        self.rare(move |mut conn| {
            let late = late.clone();
            Box::pin(async move { decide::late_evidence(&mut conn, &late).await })
        })
        .await
    }

    /// Gives these runs, with all their steps, to this process's epoch where an older one holds them. Returns the runs
    /// that this process owns now.
    pub async fn take_over(&self, runs: Vec<Id>) -> Result<Vec<Id>> {
        let (epoch, runs) = (self.inner.epoch, Arc::new(runs));
        self.rare(move |mut conn| {
            let runs = runs.clone();
            Box::pin(async move { decide::take_over(&mut conn, epoch, &runs).await })
        })
        .await
    }
}

/// Commands of people.
impl Ledger {
    /// Decides about a step in review: compare-and-set on the item's version, else `Stale`. The run's steps go to this
    /// process's epoch, so that the executor may go on at once.
    pub async fn decide(&self, decision: PersonDecision) -> Result<()> {
        let (epoch, input) = (self.inner.epoch, Arc::new(decision));
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { decide::decide(&mut conn, epoch, &input).await })
        })
        .await
    }

    /// Decides about a conflicting event; returns the new run if there is one.
    pub async fn decide_conflict(&self, decision: ConflictDecision) -> Result<Option<Id>> {
        let (epoch, input) = (self.inner.epoch, Arc::new(decision));
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { decide::decide_conflict(&mut conn, epoch, &input).await })
        })
        .await
    }

    /// Cancels a run; open review items of steps that leave review are closed.
    pub async fn cancel(&self, cancel: Cancel) -> Result<()> {
        let (epoch, input) = (self.inner.epoch, Arc::new(cancel));
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { decide::cancel(&mut conn, epoch, &input).await })
        })
        .await
    }

    /// Adds a line to the audit trail.
    pub async fn audit(&self, entry: AuditEntry) -> Result<()> {
        let input = Arc::new(entry);
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { decide::audit(&mut conn, &input).await })
        })
        .await
    }

    /// Stores a flow and makes it active; the same source and examples as now make no new revision. Returns the stable
    /// id and the revision.
    pub async fn save_flow(&self, flow: NewFlow) -> Result<(Id, u32)> {
        let input = Arc::new(flow);
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { save::flow(&mut conn, &input).await })
        })
        .await
    }

    /// Stores a connector's bytes under their digest; known bytes change nothing.
    pub async fn save_connector(&self, connector: NewConnector) -> Result<()> {
        let input = Arc::new(connector);
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { save::connector(&mut conn, &input).await })
        })
        .await
    }

    /// Stores a connection and makes it active; what equals the current revision makes no new one. Returns the revision.
    pub async fn save_connection(&self, connection: NewConnection) -> Result<u32> {
        let input = Arc::new(connection);
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { save::connection(&mut conn, &input).await })
        })
        .await
    }

    /// The flow takes no more events. Its runs go on, its keys stay.
    pub async fn deactivate_flow(&self, name: &str, who: &str, at_ms: i64) -> Result<()> {
        let input = Arc::new(Deactivate {
            name: name.into(),
            who: who.into(),
            at_ms,
        });
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { save::deactivate_flow(&mut conn, &input).await })
        })
        .await
    }

    /// The connection is not used any more.
    pub async fn deactivate_connection(&self, name: &str, who: &str, at_ms: i64) -> Result<()> {
        let input = Arc::new(Deactivate {
            name: name.into(),
            who: who.into(),
            at_ms,
        });
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { save::deactivate_connection(&mut conn, &input).await })
        })
        .await
    }

    /// Stores a token's hash.
    pub async fn save_token(&self, token: NewToken) -> Result<Id> {
        let input = Arc::new(token);
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { save::token(&mut conn, &input).await })
        })
        .await
    }

    /// Forgets a token.
    pub async fn revoke_token(&self, id: Id, who: &str, at_ms: i64) -> Result<()> {
        let input = Arc::new(Deactivate {
            name: id.to_string(),
            who: who.into(),
            at_ms,
        });
        self.rare(move |mut conn| {
            let input = input.clone();
            Box::pin(async move { save::revoke_token(&mut conn, id, &input).await })
        })
        .await
    }
}

/// Reads.
impl Ledger {
    /// A run as the executor needs it.
    pub async fn run_load(&self, run: Id) -> Result<Option<StoredRun>> {
        read_runs::load(&mut self.snapshot().await?.conn(), run).await
    }

    /// The recorded intent of a step with the highest number; `None`: nothing was ever about to be sent.
    pub async fn last_intent(&self, step: Id) -> Result<Option<StoredIntent>> {
        due::last_intent(&mut self.snapshot().await?.conn(), step).await
    }

    /// Steps due by then, oldest first, whoever owns them. Reads only unfinished work.
    pub async fn due_steps(&self, until_ms: i64, after: Option<DueCursor>, limit: u32) -> Result<Vec<DueStep>> {
        due::due(&mut self.snapshot().await?.conn(), until_ms, after, limit).await
    }

    /// All unfinished steps that have a due time, whenever that is, oldest first: what recovery reads at start, with
    /// each one's open intent. (A step without a due time waits for a predecessor or a person.)
    pub async fn unfinished(&self, after: Option<DueCursor>, limit: u32) -> Result<Vec<DueStep>> {
        due::due(&mut self.snapshot().await?.conn(), i64::MAX, after, limit).await
    }

    /// When the next step is due, if any.
    pub async fn next_due_ms(&self) -> Result<Option<i64>> {
        due::next_due_ms(&mut self.snapshot().await?.conn()).await
    }

    /// Another step of this connection and action has an intent with this natural key at `after_ms` or later.
    pub async fn later_intent(
        &self,
        connection: &str,
        action: &str,
        natural_key: [u8; 32],
        after_ms: i64,
        step: Id,
    ) -> Result<bool> {
        due::later_intent(
            &mut self.snapshot().await?.conn(),
            connection,
            action,
            &natural_key,
            after_ms,
            step,
        )
        .await
    }

    /// The state and outputs of a run.
    pub async fn run_result(&self, run: Id) -> Result<Option<RunResult>> {
        read_runs::result(&mut self.snapshot().await?.conn(), run).await
    }

    /// Runs, newest first.
    pub async fn run_list(&self, filter: RunFilter, page: Page) -> Result<Items<RunSummary>> {
        read_runs::list(&mut self.snapshot().await?.conn(), &filter, page).await
    }

    /// A run with all that is known of it.
    pub async fn run_show(&self, run: Id) -> Result<Option<RunDetail>> {
        read_runs::show(&mut self.snapshot().await?.conn(), run).await
    }

    /// Review items, newest first; open ones only, unless asked for all.
    pub async fn review_list(&self, all: bool, page: Page) -> Result<Items<ReviewItem>> {
        read_review::list(&mut self.snapshot().await?.conn(), all, page).await
    }

    /// A review item with its run.
    pub async fn review_show(&self, item: Id) -> Result<Option<ReviewDetail>> {
        read_review::show(&mut self.snapshot().await?.conn(), item).await
    }

    /// The open review item of a step.
    pub async fn review_of_step(&self, step: Id) -> Result<Option<ReviewItem>> {
        read_review::of_step(&mut self.snapshot().await?.conn(), step).await
    }

    /// The audit trail, newest first.
    pub async fn audit_list(&self, page: Page) -> Result<Items<AuditLine>> {
        read_audit::list(&mut self.snapshot().await?.conn(), page).await
    }

    /// Flows, connectors and connections at their current revisions.
    pub async fn catalog_all(&self) -> Result<CatalogRows> {
        read_catalog::all(&mut self.snapshot().await?.conn()).await
    }

    /// One revision of a flow: a run stays on its own.
    pub async fn flow_revision(&self, flow_id: Id, revision: u32) -> Result<Option<StoredFlow>> {
        read_catalog::flow_revision(&mut self.snapshot().await?.conn(), flow_id, revision).await
    }

    /// One connector by its digest: a step in doubt stays on its own.
    pub async fn connector(&self, digest: &str) -> Result<Option<StoredConnector>> {
        read_catalog::connector(&mut self.snapshot().await?.conn(), digest).await
    }

    /// One revision of a connection.
    pub async fn connection_revision(&self, name: &str, revision: u32) -> Result<Option<StoredConnection>> {
        read_catalog::connection_revision(&mut self.snapshot().await?.conn(), name, revision).await
    }

    /// A token by its SHA-256, expired or not.
    pub async fn token(&self, hash: [u8; 32]) -> Result<Option<StoredToken>> {
        read_catalog::token(&mut self.snapshot().await?.conn(), &hash).await
    }

    /// All tokens.
    pub async fn tokens(&self) -> Result<Vec<StoredToken>> {
        read_catalog::tokens(&mut self.snapshot().await?.conn()).await
    }

    /// What is in the ledger, counted.
    pub async fn counts(&self) -> Result<Counts> {
        read_audit::counts(&mut self.snapshot().await?.conn()).await
    }
}
