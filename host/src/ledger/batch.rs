//! Statements that are run for each of many rows. In their text the row is called `v`.
//!
//! On SQLite one row at a time: it is in this process, and a statement over many rows would make a table for `v` and throw
//! it away. No `RETURNING` either, which makes one as well; how many rows a statement changed says enough. On PostgreSQL all
//! rows at once, for there each statement is a journey.

use super::database::{Conn, DbError, Sql, Value, WriterConnection, a_reader_changes_nothing};
use super::postgres::{self, Columns};
use super::rows::{Cell, Row};
use std::sync::OnceLock;

/// A statement over rows of these columns.
pub(super) struct Template<const N: usize> {
    columns: &'static [&'static str; N],
    form: Form,
    built: OnceLock<String>,
    built_for_all: OnceLock<String>,
}

/// Parts that name columns as `v.name`.
enum Form {
    /// `INSERT INTO table (columns) VALUES (…) tail`: a new row.
    Insert { table: &'static str, tail: &'static str },
    /// `UPDATE table SET set WHERE condition`.
    Update {
        table: &'static str,
        set: &'static str,
        condition: &'static str,
    },
    /// `SELECT what FROM from WHERE condition`.
    Find {
        what: &'static str,
        from: &'static str,
        condition: &'static str,
    },
}

impl<const N: usize> Template<N> {
    /// A new row of the table. The first column tells the rows apart.
    pub(super) const fn insert(table: &'static str, columns: &'static [&'static str; N], tail: &'static str) -> Self {
        Self::new(columns, Form::Insert { table, tail })
    }

    /// A change of rows that are there.
    pub(super) const fn update(
        table: &'static str,
        columns: &'static [&'static str; N],
        set: &'static str,
        condition: &'static str,
    ) -> Self {
        let form = Form::Update { table, set, condition };
        Self::new(columns, form)
    }

    /// What belongs to each row.
    pub(super) const fn find(
        what: &'static str,
        from: &'static str,
        columns: &'static [&'static str; N],
        condition: &'static str,
    ) -> Self {
        let form = Form::Find { what, from, condition };
        Self::new(columns, form)
    }

    const fn new(columns: &'static [&'static str; N], form: Form) -> Self {
        Template {
            columns,
            form,
            built: OnceLock::new(),
            built_for_all: OnceLock::new(),
        }
    }

    /// Runs the statement for each row; whether it changed anything, by the place of the row.
    pub(super) async fn change(
        &'static self,
        conn: &mut Conn<'_>,
        rows: impl Iterator<Item = [Value<'_>; N]>,
    ) -> Result<Vec<bool>, DbError> {
        match conn {
            Conn::Writer(WriterConnection::Sqlite(writer)) => writer.change_each(self.sql(), rows),
            Conn::Writer(WriterConnection::Postgres(writer)) => self.change_all(writer, rows).await,
            Conn::Reader(_) => Err(a_reader_changes_nothing()),
        }
    }

    /// The same for one row.
    pub(super) async fn change_one(&'static self, conn: &mut Conn<'_>, row: [Value<'_>; N]) -> Result<bool, DbError> {
        Ok(self.change(conn, std::iter::once(row)).await?.contains(&true))
    }

    async fn change_all(
        &'static self,
        writer: &mut postgres::WriterConnection,
        rows: impl Iterator<Item = [Value<'_>; N]>,
    ) -> Result<Vec<bool>, DbError> {
        let mut ids = Vec::new();
        let Some(columns) = Columns::of(rows.inspect(|row| ids.push(id(row))))? else {
            return Ok(Vec::new());
        };
        let sql = self.built_for_all.get_or_init(|| self.sql_for_all(&columns.unnest()));
        let back = writer.query_all(sql, columns).await?;
        match self.form {
            // Without a tail each row is inserted, or there is an error.
            Form::Insert { tail: "", .. } => Ok(vec![true; ids.len()]),
            Form::Insert { .. } => {
                let inserted = back.into_iter().filter_map(|row| row.into_cells().into_iter().next());
                let inserted: Vec<Vec<u8>> = inserted.filter_map(Cell::into_bytes).collect();
                let is_inserted = |id: Option<[u8; 16]>| id.is_some_and(|id| inserted.iter().any(|other| other == &id));
                Ok(ids.into_iter().map(is_inserted).collect())
            }
            Form::Update { .. } | Form::Find { .. } => {
                let mut changed = vec![false; ids.len()];
                for row in back {
                    if let Some(changed) = changed.get_mut(placed(row)?.0) {
                        *changed = true;
                    }
                }
                Ok(changed)
            }
        }
    }

    /// What the statement finds for each row, by the place of the row.
    pub(super) async fn find_each(
        &'static self,
        conn: &mut Conn<'_>,
        rows: impl Iterator<Item = [Value<'_>; N]>,
    ) -> Result<Vec<Vec<Row>>, DbError> {
        let mut found = Vec::new();
        let Conn::Writer(WriterConnection::Postgres(writer)) = conn else {
            for row in rows {
                found.push(conn.query(self.sql(), Vec::from(row)).await?);
            }
            return Ok(found);
        };
        let Some(columns) = Columns::of(rows.inspect(|_| found.push(Vec::new())))? else {
            return Ok(found);
        };
        let sql = self.built_for_all.get_or_init(|| self.sql_for_all(&columns.unnest()));
        for row in writer.query_all(sql, columns).await? {
            let (place, row) = placed(row)?;
            if let Some(found) = found.get_mut(place) {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// The same for one row.
    pub(super) async fn find_one(&'static self, conn: &mut Conn<'_>, row: [Value<'_>; N]) -> Result<Vec<Row>, DbError> {
        conn.query(self.sql(), Vec::from(row)).await
    }

    /// Its text for one row, with a place for each column.
    pub(super) fn sql(&self) -> &str {
        self.built.get_or_init(|| match self.form {
            Form::Insert { table, tail } => {
                let places: Vec<String> = (1..=N).map(|place| format!("?{place}")).collect();
                let (columns, places) = (self.columns.join(", "), places.join(", "));
                format!("INSERT INTO {table} ({columns}) VALUES ({places}) {tail}")
            }
            Form::Update { table, set, condition } => {
                self.placed(&format!("UPDATE {table} SET {set} WHERE {condition}"))
            }
            Form::Find { what, from, condition } => {
                self.placed(&format!("SELECT {what} FROM {from} WHERE {condition}"))
            }
        })
    }

    /// Its text for all rows of `v` at once; what comes back begins with the place of a row that changed or found something. An
    /// INSERT cannot tell that: where it may pass over rows, it gives back the ids of those that it did not.
    fn sql_for_all(&self, unnest: &str) -> String {
        let columns = self.columns.join(", ");
        let rows = format!("{unnest} WITH ORDINALITY AS v({columns}, place)");
        match self.form {
            Form::Insert { table, tail } => {
                let back = match tail {
                    "" => String::new(),
                    tail => format!("{tail} RETURNING {}", self.columns[0]),
                };
                format!("INSERT INTO {table} ({columns}) SELECT * FROM {unnest} {back}")
            }
            Form::Update { table, set, condition } => {
                format!("UPDATE {table} SET {set} FROM {rows} WHERE {condition} RETURNING v.place")
            }
            Form::Find { what, from, condition } => {
                format!("SELECT v.place, {what} FROM {rows}, {from} WHERE {condition}")
            }
        }
    }

    /// `v.name` becomes the place of that column. A name that is no column is a mistake in the text, which would otherwise be
    /// found when the statement first runs.
    fn placed(&self, text: &str) -> String {
        let mut parts = text.split("v.");
        let mut placed = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let (name, rest) = part.split_at(end.unwrap_or(part.len()));
            let place = self.columns.iter().position(|column| *column == name);
            let place = place.unwrap_or_else(|| panic!("no column {name:?} in a row of {:?}: {text}", self.columns));
            placed.push_str(&format!("?{}", place + 1));
            placed.push_str(rest);
        }
        placed
    }
}

/// The first column of an INSERT that may pass over rows.
fn id(row: &[Value<'_>]) -> Option<[u8; 16]> {
    match row.first() {
        Some(Value::Id(id)) => *id,
        _ => None,
    }
}

/// The place at the head of what came back, counted from 0, and the rest.
fn placed(row: Row) -> Result<(usize, Row), DbError> {
    let mut cells = row.into_cells().into_iter();
    match cells.next() {
        Some(Cell::Int(place @ 1..)) => Ok((
            usize::try_from(place - 1).unwrap_or(usize::MAX),
            Row::new(cells.collect()),
        )),
        _ => Err(DbError::Other("a row came back without its place".into())),
    }
}

/// Inserts rows into any table; all of them have the same columns.
pub(super) async fn insert_rows(
    connection: &mut WriterConnection,
    table: &str,
    columns: &str,
    rows: Vec<Vec<Value<'_>>>,
) -> Result<(), DbError> {
    match connection {
        WriterConnection::Sqlite(writer) => {
            let Some(width) = rows.first().map(Vec::len) else {
                return Ok(());
            };
            let places: Vec<String> = (1..=width).map(|place| format!("?{place}")).collect();
            let sql = format!("INSERT INTO {table} ({columns}) VALUES ({})", places.join(", "));
            let sql = Sql::Built(sql.into());
            rows.iter().try_for_each(|row| writer.query(sql.clone(), row).map(drop))
        }
        WriterConnection::Postgres(writer) => {
            let Some(all) = Columns::of(rows.into_iter())? else {
                return Ok(());
            };
            let sql = format!("INSERT INTO {table} ({columns}) SELECT * FROM {}", all.unnest());
            writer.query_all(&sql, all).await.map(drop)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_place_for_each_column() {
        let update = Template::update("runs", &["id", "state"], "state = v.state", "runs.id = v.id");
        assert_eq!(update.sql(), "UPDATE runs SET state = ?2 WHERE runs.id = ?1");
        let insert = Template::insert("runs", &["id", "state"], "ON CONFLICT DO NOTHING");
        assert_eq!(
            insert.sql(),
            "INSERT INTO runs (id, state) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
        );
        let find = Template::find("runs.state", "runs", &["id"], "runs.id = v.id");
        assert_eq!(find.sql(), "SELECT runs.state FROM runs WHERE runs.id = ?1");
    }

    #[test]
    #[should_panic(expected = "no column \"status\"")]
    fn a_text_names_columns_of_its_row_alone() {
        Template::update("runs", &["id", "state"], "state = v.status", "runs.id = v.id").sql();
    }
}
