//! What is SQLite's own: how the file is opened, which errors mean what, how values are bound and read.
//!
//! Two libraries stand before the one SQLite: readers go through sqlx, which hands each statement to a thread of its own
//! and each row back; the writer, which runs a dozen small statements per event, calls SQLite where it stands
//! (docs/decisions/0009).

mod checkpoint;
mod reader;
mod writer;

pub(super) use reader::{Readers, Snapshot};
pub(super) use writer::WriterConnection;

use super::database::{DbError, Sql, Value};
use std::path::Path;
use std::time::Duration;

/// Older ones can lose a WAL write in a race between a writer and readers.
const VERSION_MIN: (u32, u32, u32) = (3, 51, 3);
/// Another connection holds the write lock only for a checkpoint.
const BUSY_MAX: Duration = Duration::from_secs(5);
/// Every statement of the ledger stays prepared.
const STATEMENTS_MAX: usize = 200;
const PAGES_MAX: u32 = 4_294_967_294;

/// How many rows these tables have ever had, found at the end of each and not by counting: SQLite numbers the rows of a table
/// without gaps, and from these none is ever deleted. (Were old ones, this would still be how many there were.)
pub(super) const EVENTS_EVER: &str = "SELECT COALESCE(MAX(rowid), 0) FROM events";
/// The same.
pub(super) const RUNS_EVER: &str = "SELECT COALESCE(MAX(rowid), 0) FROM runs";

/// Every column of every table: table, column, type, and its place in the key, counted from 1 (0: it is not in the key).
pub(super) const COLUMNS: &str = "SELECT tables.name, columns.name, columns.type, columns.pk
    FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%' ORDER BY tables.name, columns.cid";

impl DbError {
    /// By SQLite's result code; the low byte is the primary one, see <https://sqlite.org/rescode.html>.
    fn of_code(code: Option<i32>, text: String) -> Self {
        match code.map(|code| code & 0xff) {
            Some(8 | 13) => DbError::Unwritable(text), // SQLITE_READONLY, SQLITE_FULL
            Some(19) => DbError::Constraint(text),     // SQLITE_CONSTRAINT
            Some(10 | 11 | 26) => DbError::Io(text),   // SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB
            Some(_) | None => DbError::Other(text),
        }
    }
}

/// The most pages that the file may have; `None`: SQLite's own limit. How tests make the disk full.
pub(super) fn page_limit(pages: Option<u32>) -> Sql {
    let pages = pages.unwrap_or(PAGES_MAX);
    Sql::Built(format!("PRAGMA max_page_count = {pages}").into())
}

/// Opens the file for the writer and its readers.
pub(super) fn open(file: &Path) -> Result<(WriterConnection, Readers), String> {
    check_version(rusqlite::version())?;
    let writer = WriterConnection::open(file).map_err(|error| format!("{}: {error:?}", file.display()))?;
    Ok((writer, Readers::of(file)))
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
        assert!(check_version(rusqlite::version()).is_ok());
        assert!(check_version("3.51.3").is_ok());
        assert!(check_version("4.0").is_ok());
        assert!(check_version("3.51.2").unwrap_err().contains("3.51.3"));
        assert!(check_version("3.9.99").is_err());
    }
}
