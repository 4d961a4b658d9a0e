//! The one connection that writes, through rusqlite: statements run on the writer's own thread.

use super::checkpoint::Checkpoints;
use super::{BUSY_MAX, DbError, STATEMENTS_MAX, Sql, Value};
use crate::ledger::rows::{Cell, Row};
use crate::ledger::vouch::Told;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql};
use std::path::Path;

/// The page cache, in KiB. Not larger: a COMMIT after which a page of an index was split goes through all of it.
const CACHE_KIB: u32 = 4_000;

/// The one connection that writes.
pub(in crate::ledger) struct WriterConnection {
    connection: Connection,
    checkpoints: Checkpoints,
    /// The texts of all statements so far: a test looks at the plan of each.
    #[cfg(test)]
    pub(in crate::ledger) texts: std::collections::BTreeSet<String>,
}

impl WriterConnection {
    pub(super) fn open(file: &Path) -> Result<Self, DbError> {
        let connection = Connection::open(file)?;
        connection.busy_timeout(BUSY_MAX)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = 1; PRAGMA temp_store = memory;
             PRAGMA cache_size = -{CACHE_KIB};"
        ))?;
        let checkpoints = Checkpoints::of(file, &connection)?;
        Ok(WriterConnection {
            connection,
            checkpoints,
            #[cfg(test)]
            texts: Default::default(),
        })
    }

    /// The write lock is taken at once, so that no statement in between can find the ledger busy.
    pub(in crate::ledger) fn begin(&mut self, told: Option<Told>) -> Result<(), DbError> {
        self.change("BEGIN IMMEDIATE", &[])?;
        match told {
            Some(told) => {
                let said = self.change(Told::STATEMENT, &told.values().map(Value::int));
                said.map(drop).inspect_err(|_| drop(self.rollback()))
            }
            None => Ok(()),
        }
    }

    pub(in crate::ledger) fn commit(&mut self) -> Result<(), DbError> {
        self.change("COMMIT", &[]).map(drop)
    }

    /// Between transactions: sees to it that a long log is moved into the database. Returns how often that was done.
    pub(in crate::ledger) fn move_log(&self) -> u64 {
        self.checkpoints.look_at(&self.connection)
    }

    /// Ends the transaction without it. SQLite has done so by itself after some errors; that is no error here.
    pub(in crate::ledger) fn rollback(&mut self) -> Result<(), DbError> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.change("ROLLBACK", &[]).map(drop)
    }

    pub(in crate::ledger) fn close(self) -> Result<(), DbError> {
        self.checkpoints.end();
        self.connection.close().map_err(|(_, error)| error.into())
    }

    pub(in crate::ledger) fn query(&mut self, sql: Sql, values: &[Value<'_>]) -> Result<Vec<Row>, DbError> {
        #[cfg(test)]
        self.texts.insert(sql.text().to_owned());
        let mut statement = match &sql {
            Sql::Fixed(text) => self.connection.prepare_cached(text)?,
            Sql::Built(text) => self.connection.prepare_cached(text)?,
        };
        bind(&mut statement, values)?;
        let width = statement.column_count();
        let (mut rows, mut read) = (statement.raw_query(), Vec::new());
        while let Some(row) = rows.next()? {
            let cells = (0..width).map(|place| row.get_ref(place).map(cell));
            read.push(Row::new(cells.collect::<Result<_, _>>()?));
        }
        Ok(read)
    }

    pub(in crate::ledger) fn change(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<usize, DbError> {
        #[cfg(test)]
        self.texts.insert(sql.to_owned());
        let mut statement = self.connection.prepare_cached(sql)?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    /// Runs a statement for each row; whether it changed anything.
    pub(in crate::ledger) fn change_each<'a, const N: usize>(
        &mut self,
        sql: &'static str,
        rows: impl Iterator<Item = [Value<'a>; N]>,
    ) -> Result<Vec<bool>, DbError> {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return Ok(Vec::new());
        }
        #[cfg(test)]
        self.texts.insert(sql.to_owned());
        let mut statement = self.connection.prepare_cached(sql)?;
        let changed = rows.map(|row| {
            bind(&mut statement, &row)?;
            Ok(statement.raw_execute()? > 0)
        });
        changed.collect()
    }

    pub(in crate::ledger) fn script(&mut self, text: &str) -> Result<(), DbError> {
        Ok(self.connection.execute_batch(text)?)
    }
}

fn bind(statement: &mut CachedStatement<'_>, values: &[Value<'_>]) -> Result<(), DbError> {
    for (place, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(place + 1, value)?;
    }
    Ok(())
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Value::Int(Some(value)) => ValueRef::Integer(*value),
            Value::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
            Value::Id(Some(id)) => ValueRef::Blob(id),
            Value::Int(None) | Value::Text(None) | Value::Bytes(None) | Value::Id(None) => ValueRef::Null,
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
        // The ledger stores no floating-point numbers: as text it is an error wherever a number is expected.
        ValueRef::Real(value) => Cell::Text(value.to_string()),
    }
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error().map(|error| error.extended_code);
        DbError::of_code(code, error.to_string())
    }
}
