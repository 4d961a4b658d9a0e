//! What is SQLite's own: how the file is opened, which errors mean what, how values are bound and read. Everything else
//! in the ledger speaks to it in [`Value`]s, so that a second backend is a second file like this one.

use super::LedgerError;
use super::rows::{Cell, Row};
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteRow, SqliteSynchronous,
};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Connection, Row as _, Sqlite, Transaction, TypeInfo, ValueRef};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Older ones can lose a WAL write in a race between a writer and readers.
const VERSION_MIN: (u32, u32, u32) = (3, 51, 3);
/// Another connection holds the write lock only for a checkpoint.
const BUSY_MS_MAX: u64 = 5_000;
/// Every statement of the ledger in every one of its sizes stays prepared.
const STATEMENTS_MAX: usize = 400;
const READERS_MAX: u32 = 4;
const PAGES_MAX: u32 = 4_294_967_294;

/// A value for a placeholder. Each kind has its own null, which other backends need.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

/// A statement: fixed text, or text that was built once for a number of rows.
#[derive(Clone, Debug)]
pub(super) enum Sql {
    Fixed(&'static str),
    Built(Arc<str>),
}

impl From<&'static str> for Sql {
    fn from(text: &'static str) -> Self {
        Sql::Fixed(text)
    }
}

/// A failed statement, told apart by what must follow.
#[derive(Clone, Debug)]
pub(super) enum DbError {
    /// Disk full, quota, read-only: an ordinary error.
    Unwritable(String),
    /// A rule of the schema was broken: a fault of the one command.
    Constraint(String),
    /// The disk failed: the process must end.
    Io(String),
    /// Anything else.
    Other(String),
}

impl From<DbError> for LedgerError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Unwritable(why) => LedgerError::Unwritable(why),
            DbError::Constraint(why) => LedgerError::Invalid { what: "a row", why },
            DbError::Io(why) => LedgerError::Fatal(why),
            DbError::Other(why) => LedgerError::Database(why),
        }
    }
}

impl From<sqlx::Error> for DbError {
    fn from(error: sqlx::Error) -> Self {
        let text = error.to_string();
        let code = error
            .as_database_error()
            .and_then(|e| e.code())
            .and_then(|code| code.parse::<u32>().ok());
        // The low byte is the primary result code, see https://sqlite.org/rescode.html.
        match code.map(|code| code & 0xff) {
            Some(8 | 13) => DbError::Unwritable(text), // SQLITE_READONLY, SQLITE_FULL
            Some(19) => DbError::Constraint(text),     // SQLITE_CONSTRAINT
            Some(10 | 11 | 26) => DbError::Io(text),   // SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB
            _ if matches!(error, sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed) => DbError::Io(text),
            _ => DbError::Other(text),
        }
    }
}

/// How the place of the next value is written in a statement that is built, where values come in the order of their places.
/// Without its number: SQLite takes `$7` for a name, and sqlx asks it for the name of each place, for which it goes through
/// all of them. A statement over 64 rows has a thousand.
pub(super) fn placeholder(_number: usize) -> &'static str {
    "?"
}

/// Something that statements can be run on: the writer's connection, or a reader's snapshot.
pub(super) struct Conn<'a>(&'a mut SqliteConnection);

impl Conn<'_> {
    /// Runs a prepared statement and returns its rows.
    pub(super) async fn query(&mut self, sql: impl Into<Sql>, values: Vec<Value>) -> Result<Vec<Row>, DbError> {
        let query = match sql.into() {
            Sql::Fixed(text) => sqlx::query_with(text, arguments(values)?),
            Sql::Built(text) => sqlx::query_with(AssertSqlSafe(text), arguments(values)?),
        };
        query.fetch_all(&mut *self.0).await?.into_iter().map(row).collect()
    }

    /// Runs statements without placeholders.
    pub(super) async fn script(&mut self, text: &'static str) -> Result<(), DbError> {
        sqlx::raw_sql(text).execute(&mut *self.0).await?;
        Ok(())
    }
}

fn arguments(values: Vec<Value>) -> Result<SqliteArguments, DbError> {
    let mut arguments = SqliteArguments::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        let added = match value {
            Value::Int(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value),
            Value::Bytes(value) => arguments.add(value),
        };
        added.map_err(|error| DbError::Other(format!("a value cannot be bound: {error}")))?;
    }
    Ok(arguments)
}

fn row(row: SqliteRow) -> Result<Row, DbError> {
    let mut cells = Vec::with_capacity(row.len());
    for place in 0..row.len() {
        let raw = row.try_get_raw(place)?;
        // The value's own type, not the column's: it is what was stored.
        let cell = if raw.is_null() {
            Cell::Null
        } else {
            match raw.type_info().name() {
                "INTEGER" => Cell::Int(row.try_get_unchecked(place)?),
                "TEXT" => Cell::Text(row.try_get_unchecked(place)?),
                _ => Cell::Bytes(row.try_get_unchecked(place)?),
            }
        };
        cells.push(cell);
    }
    Ok(Row::new(cells))
}

/// The one connection that writes.
pub(super) struct WriterConnection(SqliteConnection);

impl WriterConnection {
    pub(super) fn conn(&mut self) -> Conn<'_> {
        Conn(&mut self.0)
    }

    /// The write lock is taken at once, so that no statement in between can find the ledger busy.
    pub(super) async fn begin(&mut self) -> Result<(), DbError> {
        self.conn().query("BEGIN IMMEDIATE", Vec::new()).await.map(drop)
    }

    pub(super) async fn commit(&mut self) -> Result<(), DbError> {
        self.conn().query("COMMIT", Vec::new()).await.map(drop)
    }

    /// Ends the transaction without it. SQLite has done so by itself after some errors; that is no error here.
    pub(super) async fn rollback(&mut self) -> Result<(), DbError> {
        match self.conn().query("ROLLBACK", Vec::new()).await {
            Err(DbError::Other(why)) if why.contains("no transaction is active") => Ok(()),
            other => other.map(drop),
        }
    }

    pub(super) async fn close(self) -> Result<(), DbError> {
        Ok(self.0.close().await?)
    }
}

/// Connections that only read, each in its own snapshot.
#[derive(Clone, Debug)]
pub(super) struct Readers(SqlitePool);

/// A consistent view: all its statements see one commit.
pub(super) struct Snapshot(Transaction<'static, Sqlite>);

impl Readers {
    pub(super) async fn snapshot(&self) -> Result<Snapshot, DbError> {
        Ok(Snapshot(self.0.begin().await?))
    }

    pub(super) async fn close(&self) {
        self.0.close().await;
    }
}

impl Snapshot {
    pub(super) fn conn(&mut self) -> Conn<'_> {
        Conn(&mut self.0)
    }
}

/// The most pages that the file may have; `None`: SQLite's own limit. How tests make the disk full.
pub(super) fn page_limit(pages: Option<u32>) -> Sql {
    let pages = pages.unwrap_or(PAGES_MAX);
    Sql::Built(format!("PRAGMA max_page_count = {pages}").into())
}

/// Opens the file for the writer and its readers.
pub(super) async fn open(file: &Path) -> Result<(WriterConnection, Readers), String> {
    check_version(&sqlite_version())?;
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_millis(BUSY_MS_MAX))
        .statement_cache_capacity(STATEMENTS_MAX)
        .pragma("cache_size", "-16000")
        .pragma("temp_store", "memory")
        .disable_statement_logging();
    let writer = options
        .connect()
        .await
        .map_err(|error| format!("{}: {error}", file.display()))?;
    // Not opened read-only: a reader of a WAL must be able to write its shared index.
    let readers = options.pragma("query_only", "1").pragma("cache_size", "-4000");
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS_MAX)
        .connect_lazy_with(readers);
    Ok((WriterConnection(writer), Readers(readers)))
}

fn sqlite_version() -> String {
    libsqlite3_sys::SQLITE_VERSION.to_str().unwrap_or_default().to_owned()
}

fn check_version(version: &str) -> Result<(), String> {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut part = || parts.next().unwrap_or(0);
    if (part(), part(), part()) >= VERSION_MIN {
        return Ok(());
    }
    let (a, b, c) = VERSION_MIN;
    Err(format!(
        "it is built with SQLite {version}, which can lose writes; build it with {a}.{b}.{c} or newer"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_that_can_lose_writes_is_refused() {
        assert!(check_version(&sqlite_version()).is_ok());
        assert!(check_version("3.51.3").is_ok());
        assert!(check_version("4.0").is_ok());
        assert!(check_version("3.51.2").unwrap_err().contains("3.51.3"));
        assert!(check_version("3.9.99").is_err());
    }
}
