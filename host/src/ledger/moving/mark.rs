//! The marks that keep hosts away: from a ledger that was moved, and from one into which a move is not finished.

use super::super::database::{Conn, Value, WriterConnection};
use super::super::rows::{Cell, Row};
use super::super::{LedgerError, Result, postgres, schema, sqlite};
use super::tables::{self, Column, Table};
use super::{Asked, record};
use crate::clock::utc;

const MARKS: &str = "SELECT id, moving_from, moved_to, moved_ms FROM installation";
const INSTALLATION: &str = "installation";
const MOVING_FROM: &str = "moving_from";

/// What a ledger says about moves.
#[derive(Clone, Debug, Default)]
struct Marks {
    moving_from: Option<String>,
    moved_to: Option<String>,
    moved_ms: Option<i64>,
}

/// `None`: there is no installation yet.
async fn marks(conn: &mut Conn<'_>) -> Result<Option<Marks>> {
    let row = conn.query(MARKS, Vec::new()).await?.pop();
    let read = |row: Row| {
        row.decode("installation", |row| {
            row.skip()?;
            Ok(Marks {
                moving_from: row.opt_text()?,
                moved_to: row.opt_text()?,
                moved_ms: row.opt_int()?,
            })
        })
    };
    row.map(read).transpose()
}

/// Keeps a host away from a ledger that is not the one to work on.
///
/// # Errors
/// It was moved, or a move into it is not finished.
pub(in crate::ledger) async fn refuse(connection: &mut WriterConnection) -> Result<()> {
    why_not(&mut connection.conn()).await?.map_or(Ok(()), |why| {
        Err(LedgerError::Invalid {
            what: "to work on this ledger",
            why,
        })
    })
}

/// Why no host may work on it, if that is so.
pub(in crate::ledger) async fn why_not(conn: &mut Conn<'_>) -> Result<Option<String>> {
    Ok(refused(&marks(conn).await?.unwrap_or_default()))
}

fn refused(marks: &Marks) -> Option<String> {
    if let Some(from) = &marks.moving_from {
        return Some(format!(
            "a move into it, from {from}, was not finished; empty it and move again, the source is as it was (if it says that it was moved, `oncegate \
             ledger reopen` opens it again)"
        ));
    }
    let to = marks.moved_to.as_ref()?;
    let since = utc(marks.moved_ms.unwrap_or_default());
    Some(format!(
        "it was moved to {to} on {since}: work on that one (`database` in oncegate.toml, --database or --data). If no host has \
         worked there since, `oncegate ledger reopen` opens this one again"
    ))
}

/// The tables of a ledger that can be moved. Hosts whose lease is over have ended with it, and will not find their way back.
///
/// # Errors
/// It is of another version, was moved already, is not whole, or a host works on it.
pub(super) async fn movable(source: &mut WriterConnection) -> Result<Vec<Table>> {
    // In a data directory the lock has told already that there is none.
    const GONE: &str = "UPDATE hosts SET ended_ms = ?1 WHERE ended_ms IS NULL AND lease_until_ms <= ?1";
    const AT_WORK: &str = "SELECT epoch, name FROM hosts WHERE ended_ms IS NULL LIMIT 1";
    let refuse = |why: String| {
        Err(LedgerError::Invalid {
            what: "to move it",
            why,
        })
    };
    let tables = tables::read(source).await?;
    if !tables.iter().any(|table| table.name == INSTALLATION) {
        return refuse("there is no ledger in it".into());
    }
    // Not migrated here: a move leaves its source as it was.
    let version = schema::version(&mut source.conn()).await?;
    if version != schema::MIGRATIONS.len() {
        return refuse(format!(
            "it has the schema {version}, and this version of Oncegate has {}: start a host of this version on it once, stop it, \
             and move then",
            schema::MIGRATIONS.len()
        ));
    }
    let Some(marks) = marks(&mut source.conn()).await? else {
        return refuse("no host was ever started on it".into());
    };
    if let Some(why) = refused(&marks) {
        return refuse(why);
    }
    if let WriterConnection::Sqlite(_) = source {
        return Ok(tables);
    }
    let now_ms = postgres::hosts::now_ms(&mut source.conn()).await?;
    source.conn().query(GONE, vec![Value::int(now_ms)]).await?;
    if let Some(row) = source.conn().query(AT_WORK, Vec::new()).await?.pop() {
        let (epoch, name): (i64, String) = row.decode("hosts", |row| Ok((row.int()?, row.text()?)))?;
        return refuse(format!(
            "the host {name} (epoch {epoch}) works on it; stop every host first"
        ));
    }
    Ok(tables)
}

/// # Errors
/// The target holds something.
pub(super) async fn empty(target: &mut WriterConnection, tables: &[Table]) -> Result<()> {
    let sql = match target {
        WriterConnection::Sqlite(_) => sqlite::COLUMNS,
        WriterConnection::Postgres(_) => postgres::COLUMNS,
    };
    let Some(name) = tables::has(&mut target.conn(), sql, tables).await? else {
        return Ok(());
    };
    // Of a move that was not finished it says so; all else is somebody's.
    let marks = marks(&mut target.conn()).await.ok().flatten().unwrap_or_default();
    let why = refused(&marks).unwrap_or_else(|| {
        format!("it is not empty: it has a table {name} already; name an empty one, or empty it yourself")
    });
    Err(LedgerError::Invalid {
        what: "to move into it",
        why,
    })
}

/// Whether a column says how a move stands, and not what is moved.
pub(super) fn is_mark(table: &Table, column: &Column) -> bool {
    // Where its file lies is no part of it either: the target has another place.
    const MARKS: [&str; 4] = [MOVING_FROM, "moved_to", "moved_ms", "place"];
    table.name == INSTALLATION && MARKS.contains(&column.name.as_str())
}

/// A row as it is written into the target: the installation's says that it is not whole yet.
pub(super) fn marked(table: &Table, mut row: Vec<Cell>, from: &str) -> Vec<Cell> {
    for (column, cell) in table.columns.iter().zip(&mut row) {
        if is_mark(table, column) {
            *cell = match column.name.as_str() {
                MOVING_FROM => Cell::Text(from.to_owned()),
                _ => Cell::Null,
            };
        }
    }
    row
}

/// Writes all of it, or nothing.
async fn write(
    side: &mut WriterConnection,
    statements: Vec<(&'static str, Vec<Value<'_>>)>,
    asked: &Asked,
    (what, subject): (&str, &str),
) -> Result<()> {
    side.begin(None).await?;
    let written = async {
        for (sql, values) in statements {
            side.conn().query(sql, values).await?;
        }
        record(side, asked, what, subject).await
    };
    match written.await {
        Ok(()) => Ok(side.commit(None).await?),
        Err(error) => {
            side.rollback().await?;
            Err(error)
        }
    }
}

/// From now on no host works on the source.
pub(super) async fn moved(source: &mut WriterConnection, to: &str, asked: &Asked) -> Result<()> {
    const MOVED: &str = "UPDATE installation SET moved_to = ?1, moved_ms = ?2";
    let values = vec![Value::text(to), Value::int(asked.at_ms)];
    write(source, vec![(MOVED, values)], asked, ("ledger.move", to)).await
}

/// From now on hosts work on the target. Who worked on the source has ended: it was stopped.
pub(super) async fn finished(target: &mut WriterConnection, from: &str, asked: &Asked) -> Result<()> {
    const ENDED: &str = "UPDATE hosts SET ended_ms = ?1 WHERE ended_ms IS NULL";
    const WHOLE: &str = "UPDATE installation SET moving_from = NULL";
    let statements = vec![(ENDED, vec![Value::int(asked.at_ms)]), (WHOLE, Vec::new())];
    write(target, statements, asked, ("ledger.moved", from)).await
}

/// Hosts work on it again.
pub(super) async fn reopen(side: &mut WriterConnection, asked: &Asked) -> Result<()> {
    const REOPEN: &str = "UPDATE installation SET moved_to = NULL, moved_ms = NULL";
    let marks = marks(&mut side.conn()).await?.unwrap_or_default();
    let Some(to) = marks.moved_to.filter(|_| marks.moving_from.is_none()) else {
        return Err(LedgerError::Invalid {
            what: "to open it again",
            why: "it was not moved away".into(),
        });
    };
    write(side, vec![(REOPEN, Vec::new())], asked, ("ledger.reopen", &to)).await
}
