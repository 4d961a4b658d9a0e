//! The ledger: what was accepted, what is about to be sent, what came of it. The only module that names sqlx.
//!
//! Every change is a command to one writer, which commits them in groups (`writer`); a method returns after the COMMIT.
//! Reads go to a pool beside it. One set of SQL statements serves every backend; what differs is in `sqlite`.
//!
//! It must not know what flows mean, nor connectors, networks or policies: it stores the domain's decisions and fences
//! them.

mod error;
mod read;
mod write;

pub use crate::flow::ContextItem;
pub use error::LedgerError;
pub use read::*;
pub use write::*;

use crate::clock::SharedClock;
use oncegate_domain::id::Id;
use std::path::Path;
use std::sync::Arc;

/// Most items of one page.
pub const PAGE_ITEMS_MAX: u32 = 500;

/// A handle to the ledger; cheap to clone. The last one that goes ends the writer and frees the lock.
#[derive(Clone, Debug)]
pub struct Ledger {
    _inner: Arc<()>,
}

type Result<T> = std::result::Result<T, LedgerError>;

fn unfinished<T>() -> Result<T> {
    Err(LedgerError::Closed)
}

/// Opening and closing.
impl Ledger {
    /// Opens (and makes, and migrates) the ledger in `dir`, takes its lock, and begins a new lease epoch.
    pub async fn open(_dir: &Path, _clock: SharedClock) -> Result<Ledger> {
        unfinished()
    }

    /// This installation's id, secret and incarnation.
    pub fn installation(&self) -> &Installation {
        unreachable!("not opened")
    }

    /// The lease epoch of this process: one more than that of the process before.
    pub fn epoch(&self) -> i64 {
        0
    }

    /// Waits until the ledger can no longer be trusted in this process, and says why. The host must then end at once.
    pub async fn failed(&self) -> String {
        std::future::pending().await
    }

    /// Carries out what was sent, then closes; commands sent later get `Closed`. Frees the lock.
    pub async fn close(&self) {}

    /// What the writer did so far.
    pub fn writer_counts(&self) -> WriterCounts {
        WriterCounts::default()
    }
}

/// Commands of the hot path. Each returns after its commit.
impl Ledger {
    /// Event, run and all its steps in one transaction; or what the same key means. An event is answered 2xx after this.
    pub async fn accept(&self, _event: NewEvent) -> Result<Accepted> {
        unfinished()
    }

    /// Records the intent to send. Only what it returns can send.
    pub async fn intend(&self, _intent: NewIntent) -> Result<Intent> {
        unfinished()
    }

    /// The end of an attempt (or a change without one) and all that follows.
    pub async fn finish(&self, _finish: Finish) -> Result<Finished> {
        unfinished()
    }

    /// Evidence of an attempt that was given up. No fence; an open review item gets a new version.
    pub async fn late_evidence(&self, _late: LateEvidence) -> Result<()> {
        unfinished()
    }

    /// Gives these runs, with all their steps, to this process's epoch where an older one holds them. Returns the runs
    /// that this process owns now.
    pub async fn take_over(&self, _runs: Vec<Id>) -> Result<Vec<Id>> {
        unfinished()
    }
}

/// Commands of people.
impl Ledger {
    /// Decides about a step in review: compare-and-set on the item's version, else `Stale`. The run's steps go to this
    /// process's epoch, so that the executor may go on at once.
    pub async fn decide(&self, _decision: PersonDecision) -> Result<()> {
        unfinished()
    }

    /// Decides about a conflicting event; returns the new run if there is one.
    pub async fn decide_conflict(&self, _decision: ConflictDecision) -> Result<Option<Id>> {
        unfinished()
    }

    /// Cancels a run; open review items of steps that leave review are closed.
    pub async fn cancel(&self, _cancel: Cancel) -> Result<()> {
        unfinished()
    }

    /// Adds a line to the audit trail.
    pub async fn audit(&self, _entry: AuditEntry) -> Result<()> {
        unfinished()
    }

    /// Stores a flow and makes it active; the same source and examples as now make no new revision. Returns the stable
    /// id and the revision.
    pub async fn save_flow(&self, _flow: NewFlow) -> Result<(Id, u32)> {
        unfinished()
    }

    /// Stores a connector's bytes under their digest; known bytes change nothing.
    pub async fn save_connector(&self, _connector: NewConnector) -> Result<()> {
        unfinished()
    }

    /// Stores a connection and makes it active; what equals the current revision makes no new one. Returns the revision.
    pub async fn save_connection(&self, _connection: NewConnection) -> Result<u32> {
        unfinished()
    }

    /// The flow takes no more events. Its runs go on, its keys stay.
    pub async fn deactivate_flow(&self, _name: &str, _who: &str, _at_ms: i64) -> Result<()> {
        unfinished()
    }

    /// The connection is not used any more.
    pub async fn deactivate_connection(&self, _name: &str, _who: &str, _at_ms: i64) -> Result<()> {
        unfinished()
    }

    /// Stores a token's hash.
    pub async fn save_token(&self, _token: NewToken) -> Result<Id> {
        unfinished()
    }

    /// Forgets a token.
    pub async fn revoke_token(&self, _id: Id, _who: &str, _at_ms: i64) -> Result<()> {
        unfinished()
    }
}

/// Reads.
impl Ledger {
    /// A run as the executor needs it.
    pub async fn run_load(&self, _run: Id) -> Result<Option<StoredRun>> {
        unfinished()
    }

    /// The recorded intent of a step with the highest number; `None`: nothing was ever about to be sent.
    pub async fn last_intent(&self, _step: Id) -> Result<Option<StoredIntent>> {
        unfinished()
    }

    /// Steps due by then, oldest first, whoever owns them. Reads only unfinished work.
    pub async fn due_steps(&self, _until_ms: i64, _after: Option<DueCursor>, _limit: u32) -> Result<Vec<DueStep>> {
        unfinished()
    }

    /// All unfinished steps that have a due time, whenever that is, oldest first: what recovery reads at start, with
    /// each one's open intent. (A step without a due time waits for a predecessor or a person.)
    pub async fn unfinished(&self, _after: Option<DueCursor>, _limit: u32) -> Result<Vec<DueStep>> {
        unfinished()
    }

    /// When the next step is due, if any.
    pub async fn next_due_ms(&self) -> Result<Option<i64>> {
        unfinished()
    }

    /// Another step of this connection and action has an intent with this natural key at `after_ms` or later.
    pub async fn later_intent(
        &self,
        _connection: &str,
        _action: &str,
        _natural_key: [u8; 32],
        _after_ms: i64,
        _step: Id,
    ) -> Result<bool> {
        unfinished()
    }

    /// The state and outputs of a run.
    pub async fn run_result(&self, _run: Id) -> Result<Option<RunResult>> {
        unfinished()
    }

    /// Runs, newest first.
    pub async fn run_list(&self, _filter: RunFilter, _page: Page) -> Result<Items<RunSummary>> {
        unfinished()
    }

    /// A run with all that is known of it.
    pub async fn run_show(&self, _run: Id) -> Result<Option<RunDetail>> {
        unfinished()
    }

    /// Review items, newest first; open ones only, unless asked for all.
    pub async fn review_list(&self, _all: bool, _page: Page) -> Result<Items<ReviewItem>> {
        unfinished()
    }

    /// A review item with its run.
    pub async fn review_show(&self, _item: Id) -> Result<Option<ReviewDetail>> {
        unfinished()
    }

    /// The open review item of a step.
    pub async fn review_of_step(&self, _step: Id) -> Result<Option<ReviewItem>> {
        unfinished()
    }

    /// The audit trail, newest first.
    pub async fn audit_list(&self, _page: Page) -> Result<Items<AuditLine>> {
        unfinished()
    }

    /// Flows, connectors and connections at their current revisions.
    pub async fn catalog_all(&self) -> Result<CatalogRows> {
        unfinished()
    }

    /// One revision of a flow: a run stays on its own.
    pub async fn flow_revision(&self, _flow_id: Id, _revision: u32) -> Result<Option<StoredFlow>> {
        unfinished()
    }

    /// One connector by its digest: a step in doubt stays on its own.
    pub async fn connector(&self, _digest: &str) -> Result<Option<StoredConnector>> {
        unfinished()
    }

    /// One revision of a connection.
    pub async fn connection_revision(&self, _name: &str, _revision: u32) -> Result<Option<StoredConnection>> {
        unfinished()
    }

    /// A token by its SHA-256, expired or not.
    pub async fn token(&self, _hash: [u8; 32]) -> Result<Option<StoredToken>> {
        unfinished()
    }

    /// All tokens.
    pub async fn tokens(&self) -> Result<Vec<StoredToken>> {
        unfinished()
    }

    /// What is in the ledger, counted.
    pub async fn counts(&self) -> Result<Counts> {
        unfinished()
    }
}
