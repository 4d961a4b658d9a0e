//! What the ledger asks of a database, and which one it has: SQLite in this process, or PostgreSQL behind a connection. All
//! else in the ledger speaks in [`Value`]s and places `?1`, `?2`, …; what differs stands in [`super::sqlite`] and
//! [`super::postgres`].

use super::LedgerError;
use super::error::A_ROW;
use super::lease::Lease;
use super::rows::Row;
use super::vouch::Told;
use super::witness::Server;
use super::{postgres, sqlite};
use oncegate_domain::id::Id;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A value for a place. Each kind has its own null, which PostgreSQL needs.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Int(Option<i64>),
    Text(Option<Cow<'a, str>>),
    Bytes(Option<Cow<'a, [u8]>>),
    Id(Option<[u8; 16]>),
}

/// A statement: fixed text, or text that was built for what is asked.
#[derive(Clone, Debug)]
pub(super) enum Sql {
    Fixed(&'static str),
    Built(Arc<str>),
}

impl Sql {
    pub(super) fn text(&self) -> &str {
        match self {
            Sql::Fixed(text) => text,
            Sql::Built(text) => text,
        }
    }
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
    /// Others were in the way (a lock, a deadlock): the transaction is undone, and the same again may pass.
    InTheWay(String),
    /// The connection to the database is gone; another one may tell what became of a COMMIT.
    Lost(String),
    /// The disk failed: the process must end.
    Io(String),
    /// Anything else.
    Other(String),
}

impl From<DbError> for LedgerError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Unwritable(why) => LedgerError::Unwritable(why),
            DbError::Lost(why) => LedgerError::Away(why),
            DbError::Constraint(why) => LedgerError::Invalid { what: A_ROW, why },
            DbError::Io(why) => LedgerError::Fatal(why),
            DbError::InTheWay(why) => LedgerError::InTheWay(why),
            DbError::Other(why) => LedgerError::Database(why),
        }
    }
}

impl std::fmt::Display for DbError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DbError::Unwritable(why)
            | DbError::Constraint(why)
            | DbError::InTheWay(why)
            | DbError::Lost(why)
            | DbError::Io(why)
            | DbError::Other(why) => f.write_str(why),
        }
    }
}

/// Something that statements can be run on.
pub(super) enum Conn<'a> {
    /// The writer's connection.
    Writer(&'a mut WriterConnection),
    /// A reader's snapshot.
    Reader(&'a mut Snapshot),
}

impl Conn<'_> {
    /// Runs a prepared statement and returns its rows.
    pub(super) async fn query(&mut self, sql: impl Into<Sql>, values: Vec<Value<'_>>) -> Result<Vec<Row>, DbError> {
        let sql = sql.into();
        match self {
            // A statement runs on this thread, and no future of it ever waits.
            Conn::Writer(WriterConnection::Sqlite(writer)) => writer.query(sql, &values),
            Conn::Writer(WriterConnection::Postgres(writer)) => writer.query(&sql, values).await,
            Conn::Reader(Snapshot::Sqlite(snapshot)) => snapshot.query(sql, values).await,
            Conn::Reader(Snapshot::Postgres(snapshot)) => snapshot.query(&sql, values).await,
        }
    }

    /// How many events the ledger has ever had.
    pub(super) fn events_ever(&self) -> &'static str {
        match self.is_postgres() {
            true => postgres::EVENTS_EVER,
            false => sqlite::EVENTS_EVER,
        }
    }

    /// How many runs the ledger has ever had.
    pub(super) fn runs_ever(&self) -> &'static str {
        match self.is_postgres() {
            true => postgres::RUNS_EVER,
            false => sqlite::RUNS_EVER,
        }
    }

    /// Until the end of the transaction no other host starts: the tables and the numbers of epochs are made one host at a time.
    pub(super) async fn hold_starts(&mut self) -> Result<(), DbError> {
        match self.is_postgres() {
            true => self.query(postgres::HOLD_STARTS, Vec::new()).await.map(drop),
            // The lock of the data directory has seen to it.
            false => Ok(()),
        }
    }

    pub(super) fn is_postgres(&self) -> bool {
        match self {
            Conn::Writer(WriterConnection::Sqlite(_)) | Conn::Reader(Snapshot::Sqlite(_)) => false,
            Conn::Writer(WriterConnection::Postgres(_)) | Conn::Reader(Snapshot::Postgres(_)) => true,
        }
    }

    /// Runs statements without places.
    pub(super) async fn script(&mut self, text: &'static str) -> Result<(), DbError> {
        match self {
            Conn::Writer(WriterConnection::Sqlite(writer)) => writer.script(text),
            Conn::Writer(WriterConnection::Postgres(writer)) => writer.script(text).await,
            Conn::Reader(_) => Err(a_reader_changes_nothing()),
        }
    }
}

pub(super) fn a_reader_changes_nothing() -> DbError {
    DbError::Other("a reader changes nothing".into())
}

/// What a new connection to a server must find there: the ledger that this process has worked with, whole.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub installation: Id,
    /// Under which it works, and what it knows to be durable there.
    pub lease: Arc<Lease>,
}

/// The one connection that writes.
pub(super) enum WriterConnection {
    Sqlite(sqlite::WriterConnection),
    Postgres(Box<postgres::WriterConnection>),
}

impl WriterConnection {
    pub(super) fn conn(&mut self) -> Conn<'_> {
        Conn::Writer(self)
    }

    /// `told`: what the transaction says of itself, if anything.
    pub(super) async fn begin(&mut self, told: Option<Told>) -> Result<(), DbError> {
        match self {
            Self::Sqlite(writer) => writer.begin(told),
            Self::Postgres(writer) => writer.begin(told).await,
        }
    }

    /// `told`: what it began with.
    pub(super) async fn commit(&mut self, told: Option<Told>) -> Result<(), DbError> {
        match self {
            Self::Sqlite(writer) => writer.commit(),
            Self::Postgres(writer) => writer.commit(told).await,
        }
    }

    /// What is to be done between transactions, where the senders of the last one have been woken already. Returns how often a log
    /// was moved into its database by this process.
    pub(super) fn move_log(&self) -> u64 {
        match self {
            Self::Sqlite(writer) => writer.move_log(),
            // The server does so by itself.
            Self::Postgres(_) => 0,
        }
    }

    /// Ends the transaction without it. The database may have done so by itself after an error; that is no error here.
    pub(super) async fn rollback(&mut self) -> Result<(), DbError> {
        match self {
            Self::Sqlite(writer) => writer.rollback(),
            Self::Postgres(writer) => writer.rollback().await,
        }
    }

    /// From now on a new connection must find this there.
    pub(super) fn expect(&mut self, expected: Expected) {
        match self {
            // Nothing comes between a process and a file that it holds open.
            Self::Sqlite(_) => {}
            Self::Postgres(writer) => writer.expect(expected),
        }
    }

    /// Who the server is, where there is one.
    pub(super) fn server(&self) -> Option<Server> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(writer) => Some(writer.server()),
        }
    }

    /// How soon to look for a database that was lost; `None`: it is there, as far as is known.
    pub(super) fn lost(&self) -> Option<Duration> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(writer) => writer.lost(),
        }
    }

    /// Looks for it once.
    ///
    /// # Errors
    /// What was found is not the ledger of this process.
    pub(super) async fn look_for(&mut self) -> Result<(), String> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(writer) => writer.look_for().await,
        }
    }

    pub(super) async fn close(self) -> Result<(), DbError> {
        match self {
            Self::Sqlite(writer) => writer.close(),
            Self::Postgres(writer) => writer.close().await,
        }
    }
}

/// Connections that only read, each in its own snapshot.
#[derive(Clone, Debug)]
pub(super) enum Readers {
    Sqlite(sqlite::Readers),
    Postgres(postgres::Readers),
}

/// A consistent view: all its statements see one commit.
pub(super) enum Snapshot {
    Sqlite(sqlite::Snapshot),
    Postgres(postgres::Snapshot),
}

impl Readers {
    pub(super) async fn snapshot(&self) -> Result<Snapshot, DbError> {
        match self {
            Self::Sqlite(readers) => readers.snapshot().await.map(Snapshot::Sqlite),
            Self::Postgres(readers) => readers.snapshot().await.map(Snapshot::Postgres),
        }
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite(readers) => readers.close().await,
            Self::Postgres(readers) => readers.close().await,
        }
    }
}

impl Snapshot {
    pub(super) fn conn(&mut self) -> Conn<'_> {
        Conn::Reader(self)
    }
}
