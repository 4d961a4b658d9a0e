//! Moving a stopped installation to another database: every table in batches, verified by counts and a checksum from both sides.
//! The target is marked before its first row and the source after its last, so that at no time a host can work on both.
//!
//! Tables and columns are read from the database: what a later version adds moves as well.

mod copy;
mod mark;
mod sum;
mod tables;

pub(super) use mark::{refuse, why_not};

use super::database::WriterConnection;
use super::decide::audit;
use super::lease::LeaseTerm;
use super::{AuditEntry, Database, LedgerError, Result, new_id, open, place, postgres, schema, sqlite};
use crate::clock::{Clock, SystemClock};
use std::fs::File;
use std::path::PathBuf;
use std::str::FromStr;
use sum::Sum;
use tables::Table;
use tokio::runtime::Handle;

/// A ledger, by where it is.
#[derive(Clone, PartialEq, Eq)]
pub enum LedgerPlace {
    /// SQLite, in this data directory.
    Embedded(PathBuf),
    /// PostgreSQL, by its address. It may hold a password.
    Postgres(String),
}

impl std::fmt::Debug for LedgerPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.told())
    }
}

impl FromStr for LedgerPlace {
    type Err = String;

    /// `sqlite:DIR`, `sqlite:DIR/ledger.db`, or `postgres://…`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
            return match path.parent() {
                Some(dir) if path.file_name() == Some(FILE.as_ref()) => Ok(LedgerPlace::Embedded(dir.to_owned())),
                Some(_) => Ok(LedgerPlace::Embedded(path)),
                None => Err("sqlite: names no directory".into()),
            };
        }
        match text.parse() {
            Ok(Database::Postgres(address)) => Ok(LedgerPlace::Postgres(address)),
            Ok(Database::Embedded) | Err(_) => Err(
                "a ledger is named like sqlite:./oncegate-data (the data directory) or postgres://user:password@host/name"
                    .into(),
            ),
        }
    }
}

impl LedgerPlace {
    /// For people: never with what an address may hold beside the host and the name.
    pub fn told(&self) -> String {
        match self {
            LedgerPlace::Embedded(dir) => dir.display().to_string(),
            LedgerPlace::Postgres(address) => postgres::place(address),
        }
    }
}

/// The ledger's file in its data directory.
const FILE: &str = "ledger.db";

/// One table, moved and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedTable {
    /// Its name.
    pub name: String,
    /// Rows on either side.
    pub rows: u64,
    /// Over all values of all rows, the same on either side.
    pub checksum: String,
    /// Texts with a NUL character, which PostgreSQL cannot hold: they have U+FFFD in its place, and the checksum is over that.
    pub texts_changed: u64,
}

/// How far a move is.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    /// So many rows of a table are copied.
    Copied {
        /// The table.
        table: &'a str,
        /// Rows so far.
        rows: u64,
    },
    /// A table is being read back.
    Verifying {
        /// The table.
        table: &'a str,
    },
}

/// Who asks, and when.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Who.
    pub who: String,
    /// Why, in their words.
    pub why: String,
    /// When.
    pub at_ms: i64,
}

/// One of the two ledgers, with nobody else at work on it.
struct Side {
    connection: WriterConnection,
    /// Of the data directory, where it is in one.
    lock: Option<File>,
}

impl Side {
    async fn open(at: &LedgerPlace) -> std::result::Result<Side, String> {
        match at {
            LedgerPlace::Embedded(dir) => {
                place::prepare(dir)?;
                let lock = open::take_lock(dir).await?;
                let (connection, _) = sqlite::open(&dir.join(FILE))?;
                Ok(Side {
                    connection: WriterConnection::Sqlite(connection),
                    lock: Some(lock),
                })
            }
            LedgerPlace::Postgres(url) => {
                let host = new_id(SystemClock.now_ms());
                let (connection, ..) = postgres::open(url, host, LeaseTerm::default(), &Handle::current()).await?;
                let mut connection = WriterConnection::Postgres(Box::new(connection));
                // Whoever begins to work meanwhile waits, and then finds what was decided.
                let mut conn = connection.conn();
                let held = conn.query(postgres::HOLD_STARTS_WHILE_CONNECTED, Vec::new()).await;
                held.map_err(|error| error.to_string())?;
                Ok(Side { connection, lock: None })
            }
        }
    }

    async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::warn!(?error, "closing a ledger failed; nothing is lost");
        }
        drop(self.lock);
    }
}

fn refused(at: &LedgerPlace, why: impl std::fmt::Display) -> LedgerError {
    LedgerError::Open {
        place: at.told(),
        why: why.to_string(),
    }
}

/// Moves the ledger at `from` to `to`, which must be empty.
///
/// # Errors
/// One of them cannot be opened or is in use, the target is not empty, or a table differs afterwards. The source is as it was;
/// a target in which the move had begun says so and takes no host.
pub async fn move_ledger(
    from: &LedgerPlace,
    to: &LedgerPlace,
    asked: &Asked,
    mut say: impl FnMut(Progress<'_>),
) -> Result<Vec<MovedTable>> {
    if from == to {
        return Err(refused(from, "source and target are the same"));
    }
    if let LedgerPlace::Embedded(dir) = from
        && !dir.join(FILE).is_file()
    {
        return Err(refused(from, format!("there is no {FILE} in it")));
    }
    let mut source = Side::open(from).await.map_err(|why| refused(from, why))?;
    let tables = mark::movable(&mut source.connection).await;
    let tables = tables.map_err(|error| refused(from, error))?;
    let mut target = Side::open(to).await.map_err(|why| refused(to, why))?;
    let empty = mark::empty(&mut target.connection, &tables).await;
    empty.map_err(|error| refused(to, error))?;
    let moved = fill(
        &mut source.connection,
        &mut target.connection,
        &tables,
        (from, to),
        asked,
        &mut say,
    )
    .await;
    let moved = moved.map_err(|error| {
        let why = format!(
            "the move was not finished, and it takes no host like this: empty it and begin again; the source is as it was. {error}"
        );
        refused(to, why)
    })?;
    // The source first: whatever happens in between, never are there two that a host would work on.
    let (from_told, to_told) = (from.told(), to.told());
    let closed = mark::moved(&mut source.connection, &to_told, asked).await;
    closed.map_err(|error| refused(from, error))?;
    let opened = mark::finished(&mut target.connection, &from_told, asked).await;
    opened.map_err(|error| {
        let why = format!(
            "it is whole, but could not be opened for hosts: {error}. Open the source again with `oncegate ledger reopen`, \
             empty this one and begin again"
        );
        refused(to, why)
    })?;
    source.close().await;
    target.close().await;
    Ok(moved)
}

async fn fill(
    source: &mut WriterConnection,
    target: &mut WriterConnection,
    tables: &[Table],
    (from, to): (&LedgerPlace, &LedgerPlace),
    asked: &Asked,
    say: &mut impl FnMut(Progress<'_>),
) -> Result<Vec<MovedTable>> {
    schema::migrate(target, asked.at_ms).await?;
    tables::same(tables, &tables::read(target).await?)?;
    let nul_is_lost = matches!(to, LedgerPlace::Postgres(_));
    let sum = || Sum::new(nul_is_lost);
    let from_told = from.told();
    let mut copied = Vec::with_capacity(tables.len());
    for table in tables {
        copied.push(copy::table(source, target, table, &from_told, sum(), &mut *say).await?);
    }
    let mut moved = Vec::with_capacity(tables.len());
    for (table, copied) in tables.iter().zip(copied) {
        say(Progress::Verifying { table: &table.name });
        let there = copy::read_back(target, table, sum()).await?;
        if there.rows != copied.rows || there.total != copied.total {
            let why = format!(
                "the table {} has {} rows with the checksum {} in the source, and {} rows with {} in the target",
                table.name,
                copied.rows,
                copied.hex(),
                there.rows,
                there.hex()
            );
            return Err(LedgerError::Invalid {
                what: "what was moved",
                why,
            });
        }
        moved.push(MovedTable {
            name: table.name.clone(),
            rows: copied.rows,
            checksum: copied.hex(),
            texts_changed: copied.texts_changed,
        });
    }
    Ok(moved)
}

/// Lets hosts work again on a ledger that was moved away. Whoever asks for it must know that no host works on the copy: two
/// ledgers carry everything out twice.
///
/// # Errors
/// It cannot be opened, is in use, or was not moved.
pub async fn reopen(at: &LedgerPlace, asked: &Asked) -> Result<()> {
    if let LedgerPlace::Embedded(dir) = at
        && !dir.join(FILE).is_file()
    {
        return Err(refused(at, format!("there is no {FILE} in it")));
    }
    let mut side = Side::open(at).await.map_err(|why| refused(at, why))?;
    let reopened = mark::reopen(&mut side.connection, asked).await;
    reopened.map_err(|error| refused(at, error))?;
    side.close().await;
    Ok(())
}

/// A line in the trail of the ledger that `connection` leads to.
async fn record(connection: &mut WriterConnection, asked: &Asked, what: &str, subject: &str) -> Result<()> {
    let entry = AuditEntry {
        at_ms: asked.at_ms,
        who: asked.who.clone(),
        what: what.to_owned(),
        subject: subject.to_owned(),
        why: asked.why.clone(),
    };
    audit(&mut connection.conn(), &entry).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_named_by_its_directory_its_file_or_its_address() {
        let dir = |path: &str| Ok(LedgerPlace::Embedded(path.into()));
        for text in ["sqlite:/a/b", "sqlite:///a/b", "sqlite:/a/b/ledger.db"] {
            assert_eq!(text.parse(), dir("/a/b"), "{text}");
        }
        assert_eq!("sqlite:./data".parse(), dir("./data"));
        let place: LedgerPlace = "postgres://anna:secret@db:5433/orders".parse().unwrap();
        assert_eq!(format!("{place:?}"), "the database orders at db:5433");
        assert!(
            "mysql://x"
                .parse::<LedgerPlace>()
                .unwrap_err()
                .contains("sqlite:./oncegate-data")
        );
    }
}
