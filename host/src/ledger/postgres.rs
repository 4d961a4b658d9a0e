//! What is PostgreSQL's own: how a connection is made and what must hold of the server, which errors mean what, how values are
//! bound and read.

mod columns;
pub(super) mod hosts;
mod identity;
mod reader;
mod scratch;
mod server;
mod side;
mod stored;
mod writer;

pub(super) use columns::Columns;
pub(super) use reader::{Readers, Snapshot};
pub use scratch::Scratch;
pub(super) use side::Side;
pub use stored::{STORED_KEY, store as store_history};
pub(super) use writer::WriterConnection;

use super::database::{DbError, Sql, Value};
use super::lease::LeaseTerm;
use super::rows::{Cell, Row};
use oncegate_domain::id::Id;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, PgConnection, Row as _, TypeInfo, ValueRef};
use std::borrow::Cow;
use std::str::FromStr;
use tokio::runtime::Handle;

/// Every statement of the ledger stays prepared.
const STATEMENTS_MAX: usize = 200;

/// How many rows these tables have ever had. It reads the whole index, and who asks often is given a count that is kept.
pub(super) const EVENTS_EVER: &str = "SELECT COUNT(*) FROM events";
/// The same.
pub(super) const RUNS_EVER: &str = "SELECT COUNT(*) FROM runs";

/// Waits for its turn to start, and keeps it until the end of the transaction. The number is the letters `ogstarts`.
pub(super) const HOLD_STARTS: &str = "SELECT pg_advisory_xact_lock(8027511804499489907)::text";

/// The same, until the connection ends.
pub(super) const HOLD_STARTS_WHILE_CONNECTED: &str = "SELECT pg_advisory_lock(8027511804499489907)::text";

/// Every column of every table of the schema that names go to: table, column, type, and its place in the key, counted from 1
/// (0: it is not in the key).
pub(super) const COLUMNS: &str = "SELECT tables.relname::text, columns.attname::text,
      format_type(columns.atttypid, NULL), COALESCE(array_position(keys.indkey::int2[], columns.attnum)::bigint, -1) + 1
    FROM pg_class AS tables
    JOIN pg_attribute AS columns ON columns.attrelid = tables.oid AND columns.attnum > 0 AND NOT columns.attisdropped
    LEFT JOIN pg_index AS keys ON keys.indrelid = tables.oid AND keys.indisprimary
    WHERE tables.relkind = 'r' AND tables.relnamespace = current_schema()::text::regnamespace
    ORDER BY tables.relname, columns.attnum";

/// Tells all who listen, once the transaction is committed. (The function gives nothing back, which is no type of ours.)
pub(super) const NOTIFY: &str = "SELECT pg_notify('oncegate', ?1)::text";

/// Connects the writer, its readers and what hosts tell each other to the database that `url` names, for the host of this id. The
/// connections of the writer are made on `runtime`.
pub(super) async fn open(
    url: &str,
    host: Id,
    lease: LeaseTerm,
    runtime: &Handle,
) -> Result<(WriterConnection, Readers, Side), String> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|error| format!("the address of the database is not understood: {error}"))?
        .application_name("oncegate")
        .statement_cache_capacity(STATEMENTS_MAX)
        // A COMMIT that is answered is on the disk, whatever the server's own default is.
        // Our statements are short: to compile one takes longer than to run it a thousand times.
        .options([("synchronous_commit", "on"), ("jit", "off")])
        .disable_statement_logging();
    let writer = WriterConnection::open(options.clone(), host, lease, runtime).await?;
    let side = Side::of(options.clone(), writer.has_standby());
    Ok((writer, Readers::of(options), side))
}

/// Where the database is, for people: host and name, without user and password.
pub(super) fn place(url: &str) -> String {
    match PgConnectOptions::from_str(url) {
        Ok(options) => format!(
            "the database {} at {}:{}",
            options.get_database().unwrap_or("of the user's name"),
            options.get_host(),
            options.get_port()
        ),
        Err(_) => "a database".to_owned(),
    }
}

/// Runs a prepared statement and returns its rows.
async fn query(connection: &mut PgConnection, sql: &Sql, values: Vec<Value<'_>>) -> Result<Vec<Row>, DbError> {
    let mut arguments = PgArguments::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        let added = match value {
            Value::Int(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value.map(storable)),
            Value::Bytes(value) => arguments.add(value.as_deref()),
            Value::Id(value) => arguments.add(value),
        };
        added.map_err(unbound)?;
    }
    let text = translated(sql.text());
    let query = sqlx::query_with(AssertSqlSafe(text), arguments);
    let rows = query.fetch_all(connection).await.map_err(db_error)?;
    rows.into_iter().map(row).collect()
}

/// PostgreSQL's text has no NUL character. What we store has none of its own (JSON escapes it); only words of others might,
/// and a word that cannot be stored must not keep an outcome from being stored.
fn storable(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}").into(),
        false => text,
    }
}

fn unbound(error: impl std::fmt::Display) -> DbError {
    DbError::Other(format!("a value cannot be bound: {error}"))
}

/// PostgreSQL calls a place `$1`, all else in the ledger `?1`, and its `LIKE` tells capital letters from small ones, which
/// SQLite's does not. No text of ours has either of them in a string.
fn translated(text: &str) -> String {
    text.replace('?', "$").replace(" LIKE ", " ILIKE ")
}

fn row(row: PgRow) -> Result<Row, DbError> {
    let mut cells = Vec::with_capacity(row.len());
    for place in 0..row.len() {
        let raw = row.try_get_raw(place).map_err(db_error)?;
        let kind = raw.type_info();
        let cell = match kind.name() {
            _ if raw.is_null() => Cell::Null,
            "INT8" => Cell::Int(row.try_get(place).map_err(db_error)?),
            "INT4" => Cell::Int(row.try_get::<i32, _>(place).map_err(db_error)?.into()),
            "BYTEA" => Cell::Bytes(row.try_get(place).map_err(db_error)?),
            "TEXT" | "VARCHAR" | "NAME" => Cell::Text(row.try_get(place).map_err(db_error)?),
            other => {
                return Err(DbError::Other(format!(
                    "value {place} is of the type {other}, which none of ours has"
                )));
            }
        };
        cells.push(cell);
    }
    Ok(Row::new(cells))
}

impl DbError {
    /// By SQLSTATE, see <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
    fn of_state(state: &str, text: String) -> Self {
        match (state.get(..2).unwrap_or_default(), state) {
            // Serialization failure, deadlock; a lock that was not given in time.
            ("40", _) | (_, "55P03") => DbError::InTheWay(text),
            ("23", _) => DbError::Constraint(text),
            // A COMMIT whose row this is: nothing was written. Insufficient resources (disk full, too many connections), a
            // server that only reads.
            ("53", _) | (_, "25006") => DbError::Unwritable(text),
            // The server goes down, or this session was ended: by somebody, or for it was idle for too long.
            ("08", _) | (_, "57P01" | "57P02" | "57P03" | "57P05" | "25P03") => DbError::Lost(text),
            // The server's disk or its data are broken.
            ("58" | "XX", _) => DbError::Io(text),
            _ => DbError::Other(text),
        }
    }
}

/// An error of a connection to PostgreSQL.
fn db_error(error: sqlx::Error) -> DbError {
    let text = error.to_string();
    match error {
        sqlx::Error::Database(error) => DbError::of_state(&error.code().unwrap_or_default(), text),
        sqlx::Error::PoolTimedOut => DbError::Lost("the database cannot be reached".into()),
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => {
            DbError::Lost(format!("the database cannot be reached: {text}"))
        }
        sqlx::Error::PoolClosed => DbError::Lost(text),
        _ => DbError::Other(text),
    }
}
