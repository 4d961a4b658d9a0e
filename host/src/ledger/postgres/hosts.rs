//! What several hosts on one database need of it: its clock, leases, claims, and each host's own backlog.

use super::{Columns, WriterConnection};
use crate::ledger::batch::Template;
use crate::ledger::database::{Conn, Value};
use crate::ledger::hosts::{self, Starting};
use crate::ledger::lease::Start;
use crate::ledger::rows::Row;
use crate::ledger::{LedgerError, Result, moving, schema};
use oncegate_domain::id::Id;

/// From one owner of unfinished work to the next by the index, and of these, this host (`?1`) and those that have ended: a
/// host that lives keeps what is its own, and past starts cost nothing.
macro_rules! of_owners {
    ($rest:literal) => {
        concat!(
            "WITH RECURSIVE every(epoch) AS (
               SELECT MIN(epoch) FROM steps WHERE due_ms IS NOT NULL
               UNION ALL
               SELECT (SELECT MIN(steps.epoch) FROM steps WHERE steps.due_ms IS NOT NULL AND steps.epoch > every.epoch)
               FROM every WHERE every.epoch IS NOT NULL),
             owners(epoch) AS (
               SELECT every.epoch FROM every JOIN hosts ON hosts.epoch = every.epoch
               WHERE hosts.epoch = ?1 OR hosts.ended_ms IS NOT NULL) ",
            $rest
        )
    };
}

/// Like [`crate::ledger::due::DUE`], of this host and of those that have ended. The epoch comes first among its values.
pub(in crate::ledger) const DUE: &str = of_owners!(
    "SELECT found.id, found.run_id, found.due_ms, found.epoch, found.version
     FROM owners CROSS JOIN LATERAL (
       SELECT id, run_id, due_ms, epoch, version FROM steps
       WHERE steps.epoch = owners.epoch AND connection = ?2 AND due_ms IS NOT NULL AND due_ms <= ?3
         AND (due_ms, id) > (?4, ?5)
       ORDER BY due_ms, id LIMIT ?6) AS found
     ORDER BY found.due_ms, found.id LIMIT ?6"
);
/// Like [`crate::ledger::due::WAITING`].
pub(in crate::ledger) const WAITING: &str = of_owners!(
    "SELECT found.id, found.run_id, found.due_ms, found.epoch, found.version
     FROM owners CROSS JOIN LATERAL (
       SELECT id, run_id, due_ms, epoch, version FROM steps
       WHERE steps.epoch = owners.epoch AND connection = ?2 AND due_ms IS NOT NULL AND (due_ms, id) > (?3, ?4)
         AND state = 'waiting' AND wait_reason IN ('connection_blocked', 'breaker_open', 'paused')
       ORDER BY due_ms, id LIMIT ?5) AS found
     ORDER BY found.due_ms, found.id LIMIT ?5"
);
/// Like [`crate::ledger::due::BACKLOGS`].
pub(in crate::ledger) const BACKLOGS: &str = of_owners!(
    ", pairs(epoch, connection) AS (
       SELECT owners.epoch, (SELECT MIN(steps.connection) FROM steps
         WHERE steps.due_ms IS NOT NULL AND steps.epoch = owners.epoch)
       FROM owners
       UNION ALL
       SELECT pairs.epoch, (SELECT MIN(steps.connection) FROM steps
         WHERE steps.due_ms IS NOT NULL AND steps.epoch = pairs.epoch AND steps.connection > pairs.connection)
       FROM pairs WHERE pairs.connection IS NOT NULL)
     SELECT pairs.connection, MIN((SELECT MIN(steps.due_ms) FROM steps
         WHERE steps.due_ms IS NOT NULL AND steps.epoch = pairs.epoch AND steps.connection = pairs.connection))
     FROM pairs WHERE pairs.connection IS NOT NULL GROUP BY pairs.connection"
);
/// Whether epochs that have ended still have unfinished work; `?1` is this host's own.
pub(in crate::ledger) const LEFT_BEHIND: &str = of_owners!("SELECT COUNT(*) FROM owners WHERE owners.epoch <> ?1");

const NOW: &str = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint";
/// Only one that has not ended: an end is never taken back.
const RENEW: &str = "UPDATE hosts SET lease_until_ms = ?2 WHERE epoch = ?1 AND ended_ms IS NULL RETURNING epoch";
/// A host holds its row for as long as a transaction of it is under way, and is passed over until then.
const END_EXPIRED: &str = "UPDATE hosts SET ended_ms = ?1 WHERE epoch IN (
      SELECT epoch FROM hosts WHERE ended_ms IS NULL AND lease_until_ms < ?1 FOR UPDATE SKIP LOCKED)
    RETURNING epoch, name";

static TAKE: Template<2> = Template::update(
    "steps",
    &["run_id", "epoch"],
    "epoch = v.epoch",
    "steps.run_id = v.run_id AND steps.epoch <> v.epoch",
);

/// What a pulse found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ledger) struct Beat {
    /// The epoch under which this host goes on.
    pub start: Start,
    /// Hosts whose lease was over: this pulse has written down their end.
    pub ended: Vec<(i64, String)>,
    /// Epochs that have ended still have work.
    pub left_behind: bool,
}

/// The database's clock, in Unix milliseconds.
pub(in crate::ledger) async fn now_ms(conn: &mut Conn<'_>) -> Result<i64> {
    let rows = conn.query(NOW, Vec::new()).await?;
    schema::first(rows, "clocks")?.decode("clocks", Row::int)
}

/// Renews the lease of `epoch`, or takes a new epoch where another host has ended it; and ends those whose lease is over.
/// `is_in_time`: this host's own is not. Else all hosts may have been without the database, and each is left the time to come
/// back first.
pub(in crate::ledger) async fn beat(
    conn: &mut Conn<'_>,
    starting: &Starting,
    start: Start,
    is_in_time: bool,
) -> Result<Beat> {
    let now_ms = now_ms(conn).await?;
    let until_ms = now_ms.saturating_add_unsigned(starting.term.ms);
    let renewed = conn
        .query(RENEW, vec![Value::int(start.epoch), Value::int(until_ms)])
        .await?;
    let start = match renewed.is_empty() {
        false => start,
        true => {
            conn.hold_starts().await?;
            // Moved away while this host was stopped: what it takes in here is lost to those who work there.
            if let Some(why) = moving::why_not(conn).await? {
                return Err(LedgerError::Fatal(why));
            }
            hosts::begin(conn, starting, start.epoch, now_ms).await?
        }
    };
    let mut ended = Vec::new();
    if is_in_time {
        let row = |row: Row| row.decode("hosts", |row| Ok((row.int()?, row.text()?)));
        let rows = conn.query(END_EXPIRED, vec![Value::int(now_ms)]).await?;
        ended = rows.into_iter().map(row).collect::<Result<_>>()?;
    }
    let rows = conn.query(LEFT_BEHIND, vec![Value::int(start.epoch)]).await?;
    let owners = schema::first(rows, "hosts")?.decode("hosts", Row::int)?;
    Ok(Beat {
        start,
        ended,
        left_behind: owners > 0,
    })
}

/// Of these runs, those that nobody else holds or is about to change, locked until the end of the transaction. A run is free
/// as a whole or not at all: an owner that writes one of its steps right now may be adding another.
pub(in crate::ledger) async fn lock_free(writer: &mut WriterConnection, epoch: i64, runs: &[Id]) -> Result<Vec<Id>> {
    let rows = runs.iter().map(|run| [Value::id(*run), Value::int(epoch)]);
    let Some(columns) = Columns::of(rows)? else {
        return Ok(Vec::new());
    };
    let text = format!(
        "WITH free AS (
           SELECT runs.id, v.epoch FROM {} AS v(run_id, epoch) JOIN runs ON runs.id = v.run_id
           FOR UPDATE OF runs SKIP LOCKED),
         locked AS (
           SELECT steps.run_id FROM free JOIN steps ON steps.run_id = free.id JOIN hosts ON hosts.epoch = steps.epoch
           WHERE steps.epoch = free.epoch OR hosts.ended_ms IS NOT NULL FOR UPDATE OF steps SKIP LOCKED)
         SELECT locked.run_id FROM locked GROUP BY locked.run_id
         HAVING COUNT(*) = (SELECT COUNT(*) FROM steps WHERE steps.run_id = locked.run_id)",
        columns.unnest()
    );
    let run = |row: Row| row.decode("steps", Row::id);
    writer.query_all(&text, columns).await?.into_iter().map(run).collect()
}

/// Gives these runs, which are locked, to `epoch`: also steps that were added to them after the lock was asked for.
pub(in crate::ledger) async fn take(conn: &mut Conn<'_>, epoch: i64, runs: Vec<Id>) -> Result<Vec<Id>> {
    TAKE.change(conn, runs.iter().map(|run| [Value::id(*run), Value::int(epoch)]))
        .await?;
    Ok(runs)
}
