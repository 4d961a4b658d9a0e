//! Whether the ledger remembers all that happened, or may have forgotten some of it (restored from a backup, cloned, failed
//! over to a copy that lagged); and what people say about that.
//!
//! It is found at the start, by what the witness outside says (`witness`) and by where the file lies (`whereabouts`); on
//! PostgreSQL also at every new connection (`postgres::identity`). It must not know what follows for a step: that is the
//! domain's.

mod recall;
mod tell;

pub(super) use recall::{Outside, Recalled, recall};
pub use tell::Statement;

use super::database::{Conn, Value};
use super::rows::Row;
use super::{Ledger, Result};
use crate::clock::utc;
use oncegate_domain::id::Id;
use std::sync::atomic::Ordering;
use tokio::sync::watch;

/// Whether what the ledger says is all that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Nothing is forgotten, as far as can be told.
    #[default]
    Whole,
    /// *Reconcile*: events are taken in, and every write step that is not finished begins in doubt, until a person ends it.
    Reconcile(Forgetting),
    /// The ledger lies elsewhere than before: events are taken in and nothing begins, until a person says whether it was
    /// moved or copied.
    Elsewhere(Forgetting),
}

/// What may be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgetting {
    /// When.
    pub window: Window,
    /// How it was found out, for people.
    pub why: String,
}

/// What happened in between may be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When it was found out, the last time; tells one time from another.
    pub found_ms: i64,
    /// What was intended before this is remembered.
    pub from_ms: i64,
    /// What was sent after this is remembered.
    pub until_ms: i64,
}

/// What of the catalog was saved since then. What the ledger has forgotten may have been made with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedSince {
    /// The connection: it may lead to another place.
    pub connection: bool,
    /// The flow was made: the keys of its steps are others.
    pub flow: bool,
}

impl Memory {
    /// See [`Ledger::begins_nothing`].
    pub fn begins_nothing(&self) -> bool {
        match self {
            Memory::Elsewhere(_) => true,
            Memory::Whole | Memory::Reconcile(_) => false,
        }
    }

    /// What people should know and do; `None`: nothing.
    pub fn notice(&self) -> Option<String> {
        let told = |forgetting: &Forgetting| {
            let Window { from_ms, until_ms, .. } = forgetting.window;
            format!("{} (from {} to {})", forgetting.why, utc(from_ms), utc(until_ms))
        };
        match self {
            Memory::Whole => None,
            Memory::Reconcile(forgetting) => Some(format!(
                "the ledger may have forgotten what happened: {}. Events are taken in, and what is not finished begins in doubt; \
                 see `oncegate ledger show`, and when it is settled say `oncegate ledger reconcile --end --reason …`",
                told(forgetting)
            )),
            Memory::Elsewhere(forgetting) => Some(format!(
                "the ledger lies in another place than before: {}. Events are taken in and nothing is sent until a person says \
                 which: it was moved (`oncegate ledger moved --reason …`), or it is a copy or comes from a backup (`oncegate \
                 ledger copied --reason …`)",
                told(forgetting)
            )),
        }
    }
}

/// Reads.
impl Ledger {
    /// Whether the ledger remembers all that happened. Costs nothing: no question to the database.
    pub fn memory(&self) -> Memory {
        self.inner.memory.borrow().clone()
    }

    /// What may be forgotten, while that puts every step in doubt that begins. Costs nothing.
    pub fn reconciles(&self) -> Option<Window> {
        match &*self.inner.memory.borrow() {
            Memory::Reconcile(forgetting) => Some(forgetting.window),
            Memory::Whole | Memory::Elsewhere(_) => None,
        }
    }

    /// Nothing may begin before a person has said whether it was moved or copied. Costs nothing.
    pub fn begins_nothing(&self) -> bool {
        self.inner.memory.borrow().begins_nothing()
    }

    /// Tells whenever that changes.
    pub fn memory_news(&self) -> watch::Receiver<Memory> {
        self.inner.memory.subscribe()
    }

    /// What of the catalog a step depends on was saved after `found_ms`.
    pub async fn saved_since(&self, connection: &str, flow: Id, found_ms: i64) -> Result<SavedSince> {
        const SINCE: &str = "SELECT
            (SELECT COUNT(*) FROM connection_revisions WHERE name = ?1 AND saved_ms > ?3),
            (SELECT COUNT(*) FROM flows WHERE id = ?2 AND created_ms > ?3)";
        let values = vec![Value::text(connection), Value::id(flow), Value::int(found_ms)];
        let rows = self.snapshot().await?.conn().query(SINCE, values).await;
        let since = |row: Row| {
            row.decode("connection_revisions", |row| {
                Ok(SavedSince {
                    connection: row.int()? > 0,
                    flow: row.int()? > 0,
                })
            })
        };
        super::schema::first(self.noted(rows.map_err(Into::into))?, "connection_revisions").and_then(since)
    }

    /// Reads again what another host may have found or been told.
    pub(super) async fn look_at_memory(&self) -> Result<()> {
        let (memory, incarnation) = self.noted(read(&mut self.snapshot().await?.conn()).await)?;
        self.inner.voucher.incarnation.store(incarnation, Ordering::Relaxed);
        self.inner.memory.send_if_modified(|known| {
            let is_news = *known != memory;
            *known = memory;
            is_news
        });
        Ok(())
    }
}

/// What the ledger says of itself, and its incarnation. Where it was found to have forgotten more than once, all of it together.
pub(super) async fn read(conn: &mut Conn<'_>) -> Result<(Memory, i64)> {
    const OPEN: &str = "SELECT begun_ms, from_ms, until_ms, asks, why FROM incarnations
        WHERE ended_ms IS NULL AND from_ms IS NOT NULL ORDER BY begun_ms";
    let mut memory = Memory::Whole;
    for row in conn.query(OPEN, Vec::new()).await? {
        let (window, asks, why) = row.decode("incarnations", |row| {
            let window = Window {
                found_ms: row.int()?,
                from_ms: row.int()?,
                until_ms: row.int()?,
            };
            Ok((window, row.flag()?, row.text()?))
        })?;
        memory = memory.and(Forgetting { window, why }, asks);
    }
    let current = conn.query("SELECT incarnation FROM installation", Vec::new()).await?;
    let incarnation = super::schema::first(current, "installation")?.decode("installation", Row::int)?;
    Ok((memory, incarnation))
}

impl Memory {
    fn and(self, more: Forgetting, asks: bool) -> Memory {
        let (before, asked) = match self {
            Memory::Whole => (None, false),
            Memory::Reconcile(before) => (Some(before), false),
            Memory::Elsewhere(before) => (Some(before), true),
        };
        let both = match before {
            None => more,
            Some(before) => Forgetting {
                window: Window {
                    found_ms: before.window.found_ms.max(more.window.found_ms),
                    from_ms: before.window.from_ms.min(more.window.from_ms),
                    until_ms: before.window.until_ms.max(more.window.until_ms),
                },
                why: format!("{}; {}", before.why, more.why),
            },
        };
        match asks || asked {
            true => Memory::Elsewhere(both),
            false => Memory::Reconcile(both),
        }
    }
}
