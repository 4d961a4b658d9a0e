//! Whether a new connection leads to the ledger that this process has worked with, and that whole. A server may have been set
//! back, or a copy that lagged may have taken its place: what this process holds in memory is then of a ledger that is no more.

use super::{Sql, Value, query};
use crate::ledger::database::{DbError, Expected};
use crate::ledger::rows::Row;
use crate::ledger::witness::Server;
use sqlx::PgConnection;

/// Who the server is. Ordinary users may ask; a service that does not let them tells nothing, and is told apart from another
/// by what is in it alone.
pub(super) async fn server(connection: &mut PgConnection) -> Result<Server, DbError> {
    const SYSTEM: &str = "SELECT system_identifier::text FROM pg_control_system()";
    // That of the last checkpoint (`pg_control_checkpoint`) may be the one before for a while after a copy took over.
    const TIMELINE: &str = "SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint";
    let system = told(query(connection, &Sql::Fixed(SYSTEM), Vec::new()).await)?;
    let timeline = told(query(connection, &Sql::Fixed(TIMELINE), Vec::new()).await)?;
    Ok(Server {
        system: system.and_then(|row| row.decode("servers", Row::text).ok()),
        timeline: timeline.and_then(|row| row.decode("servers", Row::int).ok()),
    })
}

/// What a server does not tell is no error, unless it is gone.
fn told(asked: Result<Vec<Row>, DbError>) -> Result<Option<Row>, DbError> {
    match asked {
        Ok(rows) => Ok(rows.into_iter().next()),
        Err(error @ DbError::Lost(_)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Refuses a database that does not hold what this process knows to be durable.
///
/// # Errors
/// [`DbError::Io`]: the process must end, and the next start compares anew and says what follows.
pub(super) async fn check(connection: &mut PgConnection, expected: &Expected) -> Result<(), DbError> {
    const HELD: &str = "SELECT installation.id, hosts.started_ms, COALESCE(hosts.position, 0)
        FROM installation LEFT JOIN hosts ON hosts.epoch = ?1";
    let (start, vouched) = (expected.lease.start(), expected.lease.vouched());
    let held = asked(query(connection, &Sql::Fixed(HELD), vec![Value::int(start.epoch)]).await)?;
    let held = held.into_iter().next().map(|row| {
        row.decode("installation", |row| {
            let (installation, started_ms, position) = (row.id()?, row.opt_int()?, row.int()?);
            Ok((installation, started_ms, position))
        })
    });
    match held {
        Some(Ok((installation, _, _))) if installation != expected.installation => Err(DbError::Io(format!(
            "the database is now that of another installation ({installation}, and not {})",
            expected.installation
        ))),
        Some(Ok((_, Some(started_ms), position))) if started_ms == start.started_ms && position >= vouched => Ok(()),
        Some(_) | None => Err(forgotten()),
    }
}

/// A database without our tables is not ours; one that is gone can be asked later.
fn asked(asked: Result<Vec<Row>, DbError>) -> Result<Vec<Row>, DbError> {
    match asked {
        Err(DbError::Other(_)) => Err(forgotten()),
        asked => asked,
    }
}

fn forgotten() -> DbError {
    DbError::Io("the database is there again and does not know what was committed before: it was set back".into())
}
