//! What must hold of a server before work is entrusted to it.

use super::{Sql, Value, query};
use crate::ledger::database::DbError;
use crate::ledger::rows::Row;
use oncegate_domain::id::Id;
use sqlx::PgConnection;

/// Older ones are not tested any more.
const VERSION_MIN: i64 = 150_000;
/// Of the advisory lock that all hosts of a database share: the letters of the name. A host of a version that worked alone
/// takes it for itself.
const SHARED: i64 = 0x006f_6e63_6567_6174;

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    version: i64,
    fsync: String,
    full_page_writes: String,
    read_only: String,
    synchronous_standbys: String,
}

/// Asks the server and refuses one that forgets; whether it has a synchronous standby.
pub(super) async fn check(connection: &mut PgConnection) -> Result<bool, DbError> {
    const SAID: &str = "SELECT current_setting('server_version_num')::bigint, current_setting('fsync'),
        current_setting('full_page_writes'), current_setting('transaction_read_only'),
        current_setting('synchronous_standby_names')";
    let rows = query(connection, &Sql::Fixed(SAID), Vec::new()).await?;
    let said = rows.into_iter().next().map(|row| {
        row.decode("settings", |row: &mut Row| {
            Ok(Said {
                version: row.int()?,
                fsync: row.text()?,
                full_page_writes: row.text()?,
                read_only: row.text()?,
                synchronous_standbys: row.text()?,
            })
        })
    });
    let Some(Ok(said)) = said else {
        return Err(DbError::Other("the server does not tell its settings".into()));
    };
    refuse(&said).map_err(DbError::Unwritable)?;
    Ok(!said.synchronous_standbys.is_empty())
}

/// Why a host may not work on a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// A host of an older version works on it, which has to be alone.
    Alone,
    /// Another process has the identity of this host.
    Identity,
}

impl Taken {
    pub(super) fn why(self) -> String {
        match self {
            Taken::Alone => "a host of an older version works on this database, and that one must be alone; stop it first".into(),
            Taken::Identity => {
                "another process works on this database with the identity of this data directory (the file `host` in it): a \
                 second process, or a copy of the directory. Stop that one, or remove the file from the copy"
                    .into()
            }
        }
    }
}

/// Takes the locks of a host: one that all share, and one on its own identity, so that nobody else has it. They are free
/// again when the session ends.
pub(super) async fn lock(connection: &mut PgConnection, host: Id) -> Result<Result<(), Taken>, DbError> {
    const SHARE: &str = "SELECT CASE WHEN pg_try_advisory_lock_shared(?1) THEN 1::bigint ELSE 0::bigint END";
    const OWN: &str = "SELECT CASE WHEN pg_try_advisory_lock(?1) THEN 1::bigint ELSE 0::bigint END";
    if !try_lock(connection, SHARE, SHARED).await? {
        return Ok(Err(Taken::Alone));
    }
    match try_lock(connection, OWN, number_of(host)).await? {
        true => Ok(Ok(())),
        false => Ok(Err(Taken::Identity)),
    }
}

async fn try_lock(connection: &mut PgConnection, text: &'static str, number: i64) -> Result<bool, DbError> {
    let rows = query(connection, &Sql::Fixed(text), vec![Value::int(number)]).await?;
    let taken = rows.into_iter().next().map(|row| row.decode("locks", Row::flag));
    Ok(matches!(taken, Some(Ok(true))))
}

/// The random half of an id.
fn number_of(host: Id) -> i64 {
    let bytes = host.to_bytes();
    let (_, random) = bytes.split_at(8);
    random.iter().fold(0, |number, byte| (number << 8) | i64::from(*byte))
}

/// A session, told apart from a later one whose process has the same number.
#[derive(Clone, Debug)]
pub(super) struct Session {
    process: i64,
    started: String,
}

impl Session {
    pub(super) async fn of(connection: &mut PgConnection) -> Result<Session, DbError> {
        const OWN: &str = "SELECT pid::bigint, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()";
        let rows = query(connection, &Sql::Fixed(OWN), Vec::new()).await?;
        let session = rows.into_iter().next().map(|row| {
            row.decode("sessions", |row: &mut Row| {
                let (process, started) = (row.int()?, row.text()?);
                Ok(Session { process, started })
            })
        });
        match session {
            Some(Ok(session)) => Ok(session),
            Some(Err(_)) | None => Err(DbError::Other("the server does not tell our session".into())),
        }
    }

    /// Ends it, if it is still there.
    pub(super) async fn end(&self, connection: &mut PgConnection) -> Result<(), DbError> {
        const END: &str = "SELECT CASE WHEN pg_terminate_backend(pid) THEN 1::bigint ELSE 0::bigint END
            FROM pg_stat_activity WHERE pid = ?1::int AND backend_start::text = ?2";
        let values = vec![Value::int(self.process), Value::text(self.started.as_str())];
        query(connection, &Sql::Fixed(END), values).await.map(drop)
    }
}

fn refuse(said: &Said) -> Result<(), String> {
    if said.version < VERSION_MIN {
        return Err(format!(
            "the server is PostgreSQL {}, and {} or newer is needed",
            said.version / 10_000,
            VERSION_MIN / 10_000
        ));
    }
    for (name, value) in [("fsync", &said.fsync), ("full_page_writes", &said.full_page_writes)] {
        if value != "on" {
            return Err(format!(
                "the server runs with {name} = {value}, and a crash of its machine could lose what it acknowledged; set it to \
                 on and restart the server"
            ));
        }
    }
    if said.read_only != "off" {
        return Err("the server only reads (a standby, or default_transaction_read_only); name the primary".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_forgets_is_refused() {
        let good = Said {
            version: 150_004,
            fsync: "on".into(),
            full_page_writes: "on".into(),
            read_only: "off".into(),
            synchronous_standbys: String::new(),
        };
        assert_eq!(refuse(&good), Ok(()));
        let why = |change: fn(&mut Said)| {
            let mut said = good.clone();
            change(&mut said);
            refuse(&said).unwrap_err()
        };
        assert!(why(|said| said.version = 149_999).contains("PostgreSQL 14"));
        assert!(why(|said| said.fsync = "off".into()).contains("fsync = off"));
        assert!(why(|said| said.full_page_writes = "off".into()).contains("full_page_writes = off"));
        assert!(why(|said| said.read_only = "on".into()).contains("only reads"));
    }
}
