//! Hosts as the ledger knows them: one row per start, its epoch, and who may take work from whom.
//!
//! Only the work of an epoch that has *ended* is taken, and an end is a fact that was written down: by the host itself when it
//! stops in order, by its next start, or by another host that finds its lease over.

use super::batch::Template;
use super::database::{Conn, Value, WriterConnection};
use super::lease::{LeaseTerm, Start};
use super::rows::Row;
use super::{Result, postgres, schema};
use oncegate_domain::id::Id;

/// Who starts, and for how long its leases are given.
#[derive(Clone, Debug)]
pub(super) struct Starting {
    /// The identity of the host, which outlives its starts.
    pub host: String,
    pub term: LeaseTerm,
}

static TAKE_OVER: Template<2> = Template::update(
    "steps",
    &["run_id", "epoch"],
    "epoch = v.epoch",
    "steps.run_id = v.run_id AND steps.epoch < v.epoch",
);
static OWNED: Template<2> = Template::find(
    "runs.id",
    "runs",
    &["run_id", "epoch"],
    "runs.id = v.run_id AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.run_id = v.run_id AND steps.epoch <> v.epoch)",
);

/// Begins a new epoch. What the same host began before has ended: its locks prove that nobody else has its identity. So has
/// whatever holds no lease: on SQLite, and before there were leases, one host alone could work on a ledger.
/// `above_epoch`: epochs up to this one were given before, whatever the ledger remembers of it.
pub(super) async fn begin(conn: &mut Conn<'_>, starting: &Starting, above_epoch: i64, now_ms: i64) -> Result<Start> {
    const BEFORE: &str = "UPDATE hosts SET ended_ms = ?1
        WHERE ended_ms IS NULL AND (lease_until_ms IS NULL OR name = ?2)";
    const BEGIN: &str = "INSERT INTO hosts (epoch, name, started_ms, lease_until_ms)
        SELECT CASE WHEN COALESCE(MAX(epoch), 0) < ?4 THEN ?4 ELSE COALESCE(MAX(epoch), 0) END + 1, ?1, ?2, ?3
        FROM hosts RETURNING epoch";
    let host = || Value::text(starting.host.as_str());
    conn.query(BEFORE, vec![Value::int(now_ms), host()]).await?;
    let lease_until_ms = match conn.is_postgres() {
        true => Some(
            postgres::hosts::now_ms(conn)
                .await?
                .saturating_add_unsigned(starting.term.ms),
        ),
        false => None,
    };
    let values = vec![
        host(),
        Value::int(now_ms),
        Value::Int(lease_until_ms),
        Value::int(above_epoch),
    ];
    let rows = conn.query(BEGIN, values).await?;
    let epoch = schema::first(rows, "hosts")?.decode("hosts", Row::int)?;
    Ok(Start {
        epoch,
        started_ms: now_ms,
    })
}

/// Gives runs of ended epochs to `epoch`, each with all its steps; returns those that it owns now. Never from a host that
/// lives, and never back.
pub(super) async fn take_over(conn: &mut Conn<'_>, epoch: i64, runs: &[Id]) -> Result<Vec<Id>> {
    if let Conn::Writer(WriterConnection::Postgres(writer)) = conn {
        let free = postgres::hosts::lock_free(writer, epoch, runs).await?;
        return postgres::hosts::take(conn, epoch, free).await;
    }
    let mut owned = Vec::with_capacity(runs.len());
    for run in runs {
        let row = || [Value::id(*run), Value::int(epoch)];
        TAKE_OVER.change_one(conn, row()).await?;
        if !OWNED.find_one(conn, row()).await?.is_empty() {
            owned.push(*run);
        }
    }
    Ok(owned)
}

/// Whose lease the steps of a run stand under; `None`: there is no such run.
pub(super) async fn owner(conn: &mut Conn<'_>, run: Id) -> Result<Option<i64>> {
    const OWNER: &str = "SELECT epoch FROM steps WHERE run_id = ?1 ORDER BY ordinal LIMIT 1";
    let row = conn.query(OWNER, vec![Value::id(run)]).await?.pop();
    row.map(|row| row.decode("steps", Row::int)).transpose()
}
