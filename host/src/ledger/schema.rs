//! The tables: migrations in order, each run once, in a transaction of its own. A ledger from a newer version is refused.

use super::database::{Conn, Value, WriterConnection};
use super::hosts::{self, Starting};
use super::lease::Start;
use super::memory::{Memory, Outside, Recalled, recall};
use super::rows::Row;
use super::{Installation, LedgerError, Result, new_id, random};
use oncegate_domain::id::Id;
use oncegate_domain::key::InstallationSecret;

/// One step from a version to the next.
pub(super) struct Migration {
    /// Run on every database.
    pub everywhere: &'static str,
    /// Run after it on PostgreSQL alone; may be empty.
    pub on_postgres: &'static str,
}

/// One that is the same on every database.
const fn everywhere(text: &'static str) -> Migration {
    Migration {
        everywhere: text,
        on_postgres: "",
    }
}

/// Every migration, oldest first. Released ones are never changed.
pub(super) const MIGRATIONS: &[Migration] = &[
    everywhere(include_str!("migrations/0001.sql")),
    everywhere(include_str!("migrations/0002.sql")),
    Migration {
        everywhere: include_str!("migrations/0003.sql"),
        on_postgres: include_str!("migrations/0003.postgres.sql"),
    },
    everywhere(include_str!("migrations/0004.sql")),
    everywhere(include_str!("migrations/0005.sql")),
    everywhere(include_str!("migrations/0006.sql")),
    everywhere(include_str!("migrations/0007.sql")),
    Migration {
        everywhere: "",
        on_postgres: include_str!("migrations/0008.postgres.sql"),
    },
    everywhere(include_str!("migrations/0009.sql")),
    everywhere(include_str!("migrations/0010.sql")),
];

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, applied_ms BIGINT NOT NULL)";

/// How often it is tried to change tables that hosts at work use, which lock them in another order.
const TRIES_MAX: u32 = 10;

/// Brings the tables up to date.
pub(super) async fn migrate(connection: &mut WriterConnection, now_ms: i64) -> Result<()> {
    for tries in 1..TRIES_MAX {
        match migrate_once(connection, now_ms).await {
            Err(error) if error.may_pass() => tracing::info!(%error, tries, "others were in the way of new tables"),
            done => return done,
        }
    }
    migrate_once(connection, now_ms).await
}

async fn migrate_once(connection: &mut WriterConnection, now_ms: i64) -> Result<()> {
    connection.begin(None).await?;
    let done = migrate_within(connection, now_ms).await;
    match done {
        Ok(()) => Ok(connection.commit(None).await?),
        Err(error) => {
            connection.rollback().await?;
            Err(error)
        }
    }
}

async fn migrate_within(connection: &mut WriterConnection, now_ms: i64) -> Result<()> {
    let mut conn = connection.conn();
    // Of hosts that start together one makes the tables, and the others find them.
    conn.hold_starts().await?;
    conn.query(VERSIONS, Vec::new()).await?;
    let version = version(&mut conn).await?;
    if version > MIGRATIONS.len() {
        let why = format!(
            "it was written by a newer version of Oncegate (schema {version}, this one knows {}); start that one",
            MIGRATIONS.len()
        );
        return Err(LedgerError::Invalid {
            what: "the ledger",
            why,
        });
    }
    for (place, migration) in MIGRATIONS.iter().enumerate().skip(version) {
        conn.script(migration.everywhere).await?;
        if conn.is_postgres() && !migration.on_postgres.is_empty() {
            conn.script(migration.on_postgres).await?;
        }
        let values = vec![Value::int(place as i64 + 1), Value::int(now_ms)];
        conn.query("INSERT INTO migrations (version, applied_ms) VALUES (?1, ?2)", values)
            .await?;
    }
    Ok(())
}

/// Which migrations ran.
pub(super) async fn version(conn: &mut Conn<'_>) -> Result<usize> {
    let rows = conn
        .query("SELECT COALESCE(MAX(version), 0) FROM migrations", Vec::new())
        .await?;
    first(rows, "migrations")?.decode("migrations", Row::small)
}

/// How a start of the host begins.
pub(super) struct Begun {
    pub installation: Installation,
    pub start: Start,
    pub memory: Memory,
}

/// Makes the installation at the first start; asks at every start what the ledger remembers, and begins a new epoch.
pub(super) async fn begin_epoch(
    connection: &mut WriterConnection,
    starting: &Starting,
    outside: &Outside,
    now_ms: i64,
) -> Result<Begun> {
    const MAKE: &str = "INSERT INTO installation (one, id, secret, incarnation, position, created_ms)
        VALUES (1, ?1, ?2, 1, 0, ?3) ON CONFLICT (one) DO NOTHING";
    let id: Id = new_id(now_ms);
    let secret: [u8; 32] = random();
    connection.begin(None).await?;
    let mut conn = connection.conn();
    conn.hold_starts().await?;
    conn.query(MAKE, vec![Value::id(id), Value::bytes(&secret), Value::int(now_ms)])
        .await?;
    let rows = conn
        .query("SELECT id, secret, incarnation FROM installation", Vec::new())
        .await?;
    let mut installation = first(rows, "installation")?.decode("installation", |row| {
        Ok(Installation {
            id: row.id()?,
            secret: InstallationSecret(row.digest()?),
            incarnation: row.int()?,
        })
    })?;
    let Recalled {
        incarnation,
        memory,
        above_epoch,
    } = recall(&mut conn, &installation, outside, now_ms).await?;
    installation.incarnation = incarnation;
    let start = hosts::begin(&mut conn, starting, above_epoch, now_ms).await?;
    connection.commit(None).await?;
    Ok(Begun {
        installation,
        start,
        memory,
    })
}

/// The only row there is.
pub(super) fn first(rows: Vec<Row>, table: &'static str) -> Result<Row> {
    let missing = || LedgerError::Corrupt {
        table,
        id: String::new(),
        why: "it has no row".into(),
    };
    rows.into_iter().next().ok_or_else(missing)
}
