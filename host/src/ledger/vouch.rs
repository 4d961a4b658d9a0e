//! Writes down outside of the ledger how far this start of the host has come, which the ledger is told first.
//!
//! The ledger is told within a group that is committed anyway: one statement more in that one, no flush of its own, and nothing at rest.
//! On SQLite about once a second, and what was committed in the second after it is not vouched for; on a server each time, though the
//! file outside is written once a second there as well.

use super::lease::{Lease, Start};
use super::witness::{Server, Witness};
use super::{Inner, Ledger, LedgerError, Result};
use crate::clock::{SharedClock, monotonic_ns};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Mutex, watch};

/// How often.
const EVERY_NS: u64 = 1_000_000_000;
/// How often it is looked at what another host was told.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Who vouches for the ledger, and where it is written down.
pub(super) struct Voucher {
    pub dir: PathBuf,
    /// The life of the ledger that is vouched for.
    pub incarnation: AtomicI64,
    pub server: Option<Server>,
    /// Whether this start has ended in order: then nothing is written any more.
    pub ended: Mutex<bool>,
}

/// What the ledger was told: so many commits of this epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    pub start: Start,
    pub position: i64,
    pub at_ms: i64,
}

impl Told {
    /// How it is told.
    pub(super) const STATEMENT: &str = "UPDATE hosts SET position = ?1, seen_ms = ?2 WHERE epoch = ?3";

    /// What stands in its places.
    pub(super) fn values(self) -> [i64; 3] {
        [self.position, self.at_ms, self.start.epoch]
    }
}

/// The writer's part: tells the ledger.
pub(super) struct Telling {
    lease: Arc<Lease>,
    clock: SharedClock,
    /// Told once it is durable.
    told: watch::Sender<Told>,
    /// When the ledger was told last, and of which epoch; `None`: not yet.
    last: Option<(u64, i64)>,
}

impl Telling {
    pub(super) fn new(lease: Arc<Lease>, clock: SharedClock, told: watch::Sender<Told>) -> Self {
        Telling {
            lease,
            clock,
            told,
            last: None,
        }
    }

    /// What a transaction that begins as the one of this number says of itself, if anything. On a server every one does: it is what
    /// the fate of one whose COMMIT was not answered is known by.
    pub(super) fn says(&self, position: i64, is_shared: bool) -> Option<Told> {
        let start = self.lease.start();
        let at_ms = self.clock.now_ms();
        (is_shared || !self.was_told_of(start)).then_some(Told { start, position, at_ms })
    }

    /// It was committed. The file outside is written now and then.
    pub(super) fn arrived(&mut self, told: Told) {
        self.lease.vouch(told.start.epoch, told.position);
        if !self.was_told_of(told.start) {
            self.last = Some((monotonic_ns(), told.start.epoch));
            self.told.send_replace(told);
        }
    }

    /// A moment ago.
    fn was_told_of(&self, start: Start) -> bool {
        let is_soon =
            |(last_ns, epoch): (u64, i64)| epoch == start.epoch && monotonic_ns().saturating_sub(last_ns) < EVERY_NS;
        self.last.is_some_and(is_soon)
    }
}

/// Writes down what the ledger was told, until the ledger is gone.
pub(super) async fn keep_vouching(inner: Weak<Inner>, mut told: watch::Receiver<Told>) {
    let mut is_warned = false;
    while told.changed().await.is_ok() {
        let Some(inner) = inner.upgrade() else { return };
        let told = *told.borrow_and_update();
        match (Ledger { inner }).write_down(told.start, told.position, false).await {
            Ok(()) => is_warned = false,
            Err(error) if !std::mem::replace(&mut is_warned, true) => {
                tracing::warn!(%error, "what the ledger holds could not be written down outside of it; tried again");
            }
            Err(_) => {}
        }
    }
}

/// Looks every now and then at what another host has noticed, or was told, until the ledger is gone.
pub(super) async fn keep_looking(inner: Weak<Inner>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = inner.upgrade() else { return };
        // While the database is away nothing is begun either.
        let _ = Ledger { inner }.look_at_memory().await;
    }
}

impl Ledger {
    /// This start is written down before anything is done in it.
    pub(super) async fn vouch_at_start(&self) {
        let start = self.inner.lease.start();
        if let Err(error) = self.write_down(start, 0, false).await {
            // A host must come up on a full disk as well: only then can what it has begun end.
            tracing::warn!(%error, "this start could not be written down outside of the ledger; tried again");
        }
    }

    /// The last position, of a host that ends in order: what the ledger was told.
    pub(super) async fn vouch_at_end(&self, start: Start, position: i64) {
        if let Err(error) = self.write_down(start, position, true).await {
            tracing::warn!(%error, "the end of this process was not written down outside of the ledger");
        }
    }

    /// How many commits there were.
    pub(super) fn position(&self) -> i64 {
        self.inner.counters.position()
    }

    async fn write_down(&self, start: Start, position: i64, in_order: bool) -> Result<()> {
        let voucher = &self.inner.voucher;
        let mut ended = voucher.ended.lock().await;
        if *ended {
            return Ok(());
        }
        *ended = in_order;
        let witness = Witness {
            installation: self.inner.installation.id,
            incarnation: voucher.incarnation.load(Ordering::Relaxed),
            epoch: start.epoch,
            started_ms: start.started_ms,
            position,
            in_order,
            server: voucher.server.clone(),
        };
        let dir = voucher.dir.clone();
        let written = tokio::task::spawn_blocking(move || witness.write(&dir)).await;
        let why = match written {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        Err(LedgerError::Database(format!("the witness file: {why}")))
    }
}
