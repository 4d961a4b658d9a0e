//! Which tables there are, and what their rows are made of.

use super::super::database::{Conn, WriterConnection};
use super::super::rows::{Cell, Row};
use super::super::{LedgerError, Result, postgres, sqlite};

/// Each side has its own: it says which migrations ran there.
const OWN: &str = "migrations";
/// Those that others refer to, before them. A table that is not named here refers to none, and comes after.
const FIRST: [&str; 9] = [
    // With it the mark that a move has begun.
    "installation",
    "hosts",
    "flows",
    "flow_revisions",
    "connections",
    "connection_revisions",
    "events",
    "runs",
    "steps",
];

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Text,
    Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// The columns that tell its rows apart, by their places.
    pub key: Vec<usize>,
}

impl Table {
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        names.join(", ")
    }

    /// Why a row is not what the table says.
    pub(super) fn corrupt(&self, column: &Column, cell: &Cell) -> LedgerError {
        let is = match cell {
            Cell::Null => "nothing",
            Cell::Int(_) => "a number",
            Cell::Text(_) => "text",
            Cell::Bytes(_) => "bytes",
        };
        LedgerError::Invalid {
            what: "a row",
            why: format!(
                "{}.{} holds {is}, and should hold {:?}",
                self.name, column.name, column.kind
            ),
        }
    }
}

/// The tables, those first that others refer to.
pub(super) async fn read(connection: &mut WriterConnection) -> Result<Vec<Table>> {
    let sql = match connection {
        WriterConnection::Sqlite(_) => sqlite::COLUMNS,
        WriterConnection::Postgres(_) => postgres::COLUMNS,
    };
    let mut tables: Vec<Table> = Vec::new();
    let mut keys: Vec<Vec<(i64, usize)>> = Vec::new();
    for row in connection.conn().query(sql, Vec::new()).await? {
        let (name, column, kind, place_in_key) = column(row)?;
        if name == OWN {
            continue;
        }
        if tables.last().is_none_or(|table| table.name != name) {
            keys.push(Vec::new());
            tables.push(Table {
                name,
                columns: Vec::new(),
                key: Vec::new(),
            });
        }
        if let (Some(table), Some(key)) = (tables.last_mut(), keys.last_mut()) {
            if place_in_key > 0 {
                key.push((place_in_key, table.columns.len()));
            }
            table.columns.push(Column { name: column, kind });
        }
    }
    for (table, mut key) in tables.iter_mut().zip(keys) {
        key.sort_unstable();
        table.key = key.into_iter().map(|(_, place)| place).collect();
    }
    let rank = |table: &Table| FIRST.iter().position(|name| *name == table.name).unwrap_or(FIRST.len());
    tables.sort_by_key(rank);
    Ok(tables)
}

fn column(row: Row) -> Result<(String, String, Kind, i64)> {
    row.decode("columns", |row| {
        let (table, column) = (row.text()?, row.text()?);
        let kind = match row.text()?.to_ascii_lowercase().as_str() {
            "bigint" => Kind::Int,
            "text" => Kind::Text,
            "bytea" => Kind::Bytes,
            other => return Err(row.bad(format_args!("is {other}, which no column of ours is"))),
        };
        Ok((table, column, kind, row.int()?))
    })
}

/// Whether there is such a table.
pub(super) async fn has(conn: &mut Conn<'_>, sql: &'static str, names: &[Table]) -> Result<Option<String>> {
    for row in conn.query(sql, Vec::new()).await? {
        let (name, ..) = column(row)?;
        if name == OWN || names.iter().any(|table| table.name == name) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// # Errors
/// The two sides do not have the same tables.
pub(super) fn same(source: &[Table], target: &[Table]) -> Result<()> {
    let sorted = |tables: &[Table]| {
        let mut tables = tables.to_vec();
        for table in &mut tables {
            table.columns.sort_by(|one, other| one.name.cmp(&other.name));
            table.key.clear();
        }
        tables.sort_by(|one, other| one.name.cmp(&other.name));
        tables
    };
    let (source, target) = (sorted(source), sorted(target));
    // The target may be shared with tables of somebody else.
    match source.iter().find(|table| !target.contains(table)) {
        None => Ok(()),
        Some(table) => Err(LedgerError::Invalid {
            what: "the target",
            why: format!("its table {} is another one than the source's", table.name),
        }),
    }
}
