//! Many rows as one array per column, so that one statement with a fixed text takes any number of them.

use super::{storable, unbound};
use crate::ledger::database::{DbError, Value};
use sqlx::Arguments;
use sqlx::postgres::PgArguments;
use std::borrow::Cow;

/// One array per column.
pub(in crate::ledger) struct Columns<'a>(Vec<Column<'a>>);

/// The values of a column, all of one kind.
enum Column<'a> {
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<Cow<'a, str>>>),
    Bytes(Vec<Option<Cow<'a, [u8]>>>),
    Ids(Vec<Option<[u8; 16]>>),
}

impl<'a> Column<'a> {
    fn of_kind(value: &Value<'_>) -> Self {
        match value {
            Value::Int(_) => Column::Ints(Vec::new()),
            Value::Text(_) => Column::Texts(Vec::new()),
            Value::Bytes(_) => Column::Bytes(Vec::new()),
            Value::Id(_) => Column::Ids(Vec::new()),
        }
    }

    fn push(&mut self, value: Value<'a>) -> Result<(), DbError> {
        match (self, value) {
            (Column::Ints(values), Value::Int(value)) => values.push(value),
            (Column::Texts(values), Value::Text(value)) => values.push(value.map(storable)),
            (Column::Bytes(values), Value::Bytes(value)) => values.push(value),
            (Column::Ids(values), Value::Id(value)) => values.push(value),
            (Column::Ints(_) | Column::Texts(_) | Column::Bytes(_) | Column::Ids(_), _) => {
                return Err(DbError::Other("a column has values of two kinds".into()));
            }
        }
        Ok(())
    }

    fn kind(&self) -> &'static str {
        match self {
            Column::Ints(_) => "bigint[]",
            Column::Texts(_) => "text[]",
            Column::Bytes(_) | Column::Ids(_) => "bytea[]",
        }
    }
}

impl<'a> Columns<'a> {
    /// Turns rows into columns; `None`: there are no rows.
    pub(in crate::ledger) fn of<R>(rows: impl Iterator<Item = R>) -> Result<Option<Self>, DbError>
    where
        R: IntoIterator<Item = Value<'a>>,
    {
        let mut columns: Option<Vec<Column<'a>>> = None;
        for row in rows {
            let columns = columns.get_or_insert_default();
            for (place, value) in row.into_iter().enumerate() {
                if place == columns.len() {
                    columns.push(Column::of_kind(&value));
                }
                columns[place].push(value)?;
            }
        }
        Ok(columns.map(Columns))
    }

    /// `unnest($1::bigint[], …)`.
    pub(in crate::ledger) fn unnest(&self) -> String {
        let places = self.0.iter().enumerate();
        let places: Vec<String> = places
            .map(|(place, column)| format!("${}::{}", place + 1, column.kind()))
            .collect();
        format!("unnest({})", places.join(", "))
    }

    pub(super) fn arguments(self) -> Result<PgArguments, DbError> {
        let mut arguments = PgArguments::default();
        for column in self.0 {
            let added = match column {
                Column::Ints(values) => arguments.add(values),
                Column::Texts(values) => arguments.add(values),
                Column::Bytes(values) => {
                    let values: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                    arguments.add(values)
                }
                Column::Ids(values) => arguments.add(values),
            };
            added.map_err(unbound)?;
        }
        Ok(arguments)
    }
}
