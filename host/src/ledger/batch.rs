//! Statements that are run once for each of many rows. In their text the row is called `v`.
//!
//! One row at a time: SQLite is in this process, and a statement over many rows would make a table for `v` and throw it
//! away. No `RETURNING` either, which makes one as well; how many rows a statement changed says enough.

use super::rows::Row;
use super::sqlite::{Conn, DbError, Value};
use std::sync::OnceLock;

/// A statement over rows of these columns.
pub(super) struct Template<const N: usize> {
    columns: &'static [&'static str; N],
    form: Form,
    built: OnceLock<String>,
}

enum Form {
    /// A new row of the table, and what follows `VALUES (…)`.
    Insert { table: &'static str, tail: &'static str },
    /// A text that names columns as `v.name`.
    Text(&'static str),
}

impl<const N: usize> Template<N> {
    /// `INSERT INTO table (columns) VALUES (…) tail`.
    pub(super) const fn insert(table: &'static str, columns: &'static [&'static str; N], tail: &'static str) -> Self {
        Self::new(columns, Form::Insert { table, tail })
    }

    /// A statement that names the columns of its row as `v.name`.
    pub(super) const fn over(columns: &'static [&'static str; N], text: &'static str) -> Self {
        Self::new(columns, Form::Text(text))
    }

    const fn new(columns: &'static [&'static str; N], form: Form) -> Self {
        Template {
            columns,
            form,
            built: OnceLock::new(),
        }
    }

    /// Runs the statement for a row; whether it changed anything.
    pub(super) async fn change(&'static self, conn: &mut Conn<'_>, row: [Value<'_>; N]) -> Result<bool, DbError> {
        Ok(conn.change(self.sql(), &row).await? > 0)
    }

    /// What the statement finds for a row.
    pub(super) async fn find(&'static self, conn: &mut Conn<'_>, row: [Value<'_>; N]) -> Result<Vec<Row>, DbError> {
        conn.query(self.sql(), Vec::from(row)).await
    }

    /// Its text, with a place for each column.
    pub(super) fn sql(&self) -> &str {
        self.built.get_or_init(|| match self.form {
            Form::Insert { table, tail } => {
                let places: Vec<String> = (1..=self.columns.len()).map(|place| format!("?{place}")).collect();
                let (columns, places) = (self.columns.join(", "), places.join(", "));
                format!("INSERT INTO {table} ({columns}) VALUES ({places}) {tail}")
            }
            Form::Text(text) => self.placed(text),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_place_for_each_column() {
        let over = Template::over(&["id", "state"], "UPDATE runs SET state = v.state WHERE runs.id = v.id");
        assert_eq!(over.sql(), "UPDATE runs SET state = ?2 WHERE runs.id = ?1");
        let insert = Template::insert("runs", &["id", "state"], "ON CONFLICT DO NOTHING");
        assert_eq!(
            insert.sql(),
            "INSERT INTO runs (id, state) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
        );
    }

    #[test]
    #[should_panic(expected = "no column \"status\"")]
    fn a_text_names_columns_of_its_row_alone() {
        Template::over(&["id", "state"], "UPDATE runs SET state = v.status WHERE runs.id = v.id").sql();
    }
}
