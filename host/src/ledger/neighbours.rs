//! The hosts that share this ledger, where it is on a server: what they tell each other beside the commands.
//!
//! What goes this way is about pace alone, and true for a moment: it is neither fenced nor worth a flush of the disk, and it
//! must not hold up outcomes. So it has a few connections of its own, and a word that is lost is found by looking.

use super::database::Value;
use super::news::News;
use super::postgres::Side;
use super::rows::Row;
use super::{Ledger, LedgerError, Result};
use serde::Deserialize;
use tokio::sync::mpsc;

/// News that wait to be heard; what comes meanwhile waits at the server.
const NEWS_WAITING_MAX: usize = 256;

/// The way to the other hosts. Cheap to clone.
#[derive(Clone)]
pub struct Neighbours {
    side: Side,
}

/// What a host can find out about a connection that is the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// The destination asked to be left alone.
    ToldToWait,
    /// The credentials are refused.
    Blocked,
    /// The destination fails.
    Failing,
}

impl GateKind {
    /// Each of them.
    pub const ALL: [GateKind; 3] = [GateKind::ToldToWait, GateKind::Blocked, GateKind::Failing];

    /// The word as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            GateKind::ToldToWait => "told_to_wait",
            GateKind::Blocked => "blocked",
            GateKind::Failing => "failing",
        }
    }
}

/// Why nobody should go for now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closure {
    /// Since when; `None`: it is over. Nothing is said by it of a destination that asked to be left alone.
    pub since_ms: Option<i64>,
    /// When to look again.
    pub until_ms: i64,
    /// In words.
    pub why: String,
}

/// A closure as all hosts can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGate {
    /// Of which connection.
    pub connection: String,
    /// Of what kind.
    pub kind: GateKind,
    /// Counts its changes.
    pub version: i64,
    /// What was told last.
    pub closure: Closure,
}

impl Ledger {
    /// The other hosts; `None`: the ledger is this host's alone.
    pub fn neighbours(&self) -> Option<&Neighbours> {
        self.inner.neighbours.as_ref()
    }
}

impl Neighbours {
    pub(super) fn new(side: Side) -> Self {
        Self { side }
    }

    /// Everything that hosts tell from now on, this one as well. Both kinds of news that are counted are told once at the
    /// beginning, and whenever they may have been missed.
    pub fn listen(&self) -> mpsc::Receiver<News> {
        let (tell, news) = mpsc::channel(NEWS_WAITING_MAX);
        tokio::spawn(self.side.clone().listen(tell));
        news
    }

    /// Whether each COMMIT waits for a second server. Without one a failover can lose what was acknowledged.
    pub fn has_synchronous_standby(&self) -> bool {
        self.side.has_standby()
    }

    /// Tells all hosts what was found out; its version.
    ///
    /// # Errors
    /// The database is away.
    pub async fn tell_gate(&self, connection: &str, kind: GateKind, closure: &Closure) -> Result<i64> {
        const TELL: &str = "WITH told AS (
            INSERT INTO gates (connection, kind, version, since_ms, until_ms, why) VALUES (?1, ?2, 1, ?3, ?4, ?5)
            ON CONFLICT (connection, kind) DO UPDATE SET version = gates.version + 1, since_ms = EXCLUDED.since_ms,
              why = EXCLUDED.why, until_ms = CASE WHEN gates.kind = 'told_to_wait'
                THEN GREATEST(gates.until_ms, EXCLUDED.until_ms) ELSE EXCLUDED.until_ms END
            RETURNING version)
            SELECT version, pg_notify('oncegate', ?6)::text FROM told";
        let values = vec![
            Value::text(connection),
            Value::text(kind.as_str()),
            Value::Int(closure.since_ms),
            Value::int(closure.until_ms),
            Value::text(closure.why.as_str()),
            Value::text(News::Gates.to_string()),
        ];
        self.one(TELL, values, "gates").await
    }

    /// All that was told.
    ///
    /// # Errors
    /// The database is away.
    pub async fn gates(&self) -> Result<Vec<StoredGate>> {
        const GATES: &str = "SELECT connection, kind, version, since_ms, until_ms, why FROM gates";
        let gate = |row: Row| {
            row.decode("gates", |row| {
                Ok(StoredGate {
                    connection: row.text()?,
                    kind: row.word()?,
                    version: row.int()?,
                    closure: Closure {
                        since_ms: row.opt_int()?,
                        until_ms: row.int()?,
                        why: row.text()?,
                    },
                })
            })
        };
        let rows = self.side.query(GATES, Vec::new()).await?;
        rows.into_iter().map(gate).collect()
    }

    /// Gives this host so many starts of a connection, one `interval_us` after the other; when the first of them is. None is
    /// given that lies before `now_us`.
    ///
    /// # Errors
    /// The database is away.
    pub async fn reserve_starts(&self, connection: &str, count: u32, interval_us: i64, now_us: i64) -> Result<i64> {
        const RESERVE: &str = "INSERT INTO rates (connection, interval_us, next_start_us) VALUES (?1, ?2, ?3 + ?4)
            ON CONFLICT (connection) DO UPDATE SET interval_us = EXCLUDED.interval_us,
              next_start_us = ?4 + CASE WHEN rates.interval_us = EXCLUDED.interval_us
                THEN GREATEST(rates.next_start_us, ?3) ELSE ?3 END
            RETURNING next_start_us";
        let span_us = i64::from(count).saturating_mul(interval_us);
        let values = vec![
            Value::text(connection),
            Value::int(interval_us),
            Value::int(now_us),
            Value::int(span_us),
        ];
        Ok(self.one(RESERVE, values, "rates").await? - span_us)
    }

    /// Says something that nobody depends on.
    ///
    /// # Errors
    /// The database is away.
    pub async fn tell(&self, news: News) -> Result<()> {
        let values = vec![Value::text(news.to_string())];
        self.side.query(super::postgres::NOTIFY, values).await?;
        Ok(())
    }

    pub(super) async fn close(&self) {
        self.side.close().await;
    }

    async fn one(&self, text: &'static str, values: Vec<Value<'_>>, table: &'static str) -> Result<i64> {
        let row = self.side.query(text, values).await?.into_iter().next();
        let missing = || LedgerError::Database(format!("a statement about {table} gave nothing back"));
        row.ok_or_else(missing)?.decode(table, Row::int)
    }
}
