//! Connections that only read, through sqlx.

use super::{BUSY_MAX, DbError, STATEMENTS_MAX, Sql, Value};
use crate::ledger::rows::{Cell, Row};
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Row as _, Sqlite, Transaction, TypeInfo, ValueRef};
use std::path::Path;

const READERS_MAX: u32 = 4;

/// Connections that only read, each in its own snapshot.
#[derive(Clone, Debug)]
pub(in crate::ledger) struct Readers(SqlitePool);

/// A consistent view: all its statements see one commit.
pub(in crate::ledger) struct Snapshot(Transaction<'static, Sqlite>);

impl Readers {
    pub(super) fn of(file: &Path) -> Self {
        // Not opened read-only: a reader of a WAL must be able to write its shared index.
        let options = SqliteConnectOptions::new()
            .filename(file)
            .busy_timeout(BUSY_MAX)
            .statement_cache_capacity(STATEMENTS_MAX)
            .pragma("query_only", "1")
            .pragma("cache_size", "-4000")
            .pragma("temp_store", "memory")
            .disable_statement_logging();
        let pool = SqlitePoolOptions::new().max_connections(READERS_MAX);
        Readers(pool.connect_lazy_with(options))
    }

    pub(in crate::ledger) async fn snapshot(&self) -> Result<Snapshot, DbError> {
        // Large, and part of every future that may once read.
        Box::pin(self.0.begin()).await.map(Snapshot).map_err(db_error)
    }

    pub(in crate::ledger) async fn close(&self) {
        self.0.close().await;
    }
}

impl Snapshot {
    pub(in crate::ledger) async fn query(&mut self, sql: Sql, values: Vec<Value<'_>>) -> Result<Vec<Row>, DbError> {
        let query = match sql {
            Sql::Fixed(text) => sqlx::query_with(text, arguments(values)?),
            Sql::Built(text) => sqlx::query_with(AssertSqlSafe(text), arguments(values)?),
        };
        let rows = query.fetch_all(&mut *self.0).await.map_err(db_error)?;
        rows.into_iter().map(row).collect()
    }
}

fn arguments(values: Vec<Value<'_>>) -> Result<SqliteArguments, DbError> {
    let mut arguments = SqliteArguments::default();
    arguments.reserve(values.len(), 0);
    for value in values {
        let added = match value {
            Value::Int(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value.map(std::borrow::Cow::into_owned)),
            Value::Bytes(value) => arguments.add(value.map(std::borrow::Cow::into_owned)),
            Value::Id(value) => arguments.add(value.map(|id| id.to_vec())),
        };
        added.map_err(|error| DbError::Other(format!("a value cannot be bound: {error}")))?;
    }
    Ok(arguments)
}

fn row(row: SqliteRow) -> Result<Row, DbError> {
    let mut cells = Vec::with_capacity(row.len());
    for place in 0..row.len() {
        let raw = row.try_get_raw(place).map_err(db_error)?;
        // The value's own type, not the column's: it is what was stored.
        let cell = if raw.is_null() {
            Cell::Null
        } else {
            match raw.type_info().name() {
                "INTEGER" => Cell::Int(row.try_get_unchecked(place).map_err(db_error)?),
                "TEXT" => Cell::Text(row.try_get_unchecked(place).map_err(db_error)?),
                _ => Cell::Bytes(row.try_get_unchecked(place).map_err(db_error)?),
            }
        };
        cells.push(cell);
    }
    Ok(Row::new(cells))
}

/// Not `From`: the same library speaks to PostgreSQL, where the codes mean something else.
fn db_error(error: sqlx::Error) -> DbError {
    let text = error.to_string();
    if matches!(error, sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed) {
        return DbError::Io(text);
    }
    let code = error.as_database_error().and_then(|error| error.code());
    DbError::of_code(code.and_then(|code| code.parse().ok()), text)
}
