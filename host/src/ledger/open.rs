//! Opening: the data directory, the database in it or elsewhere, the tables, a new lease epoch, and the writer.

use super::database::{Expected, Readers, WriterConnection};
use super::home::Home;
use super::hosts::Starting;
use super::lease::{Lease, LeaseTerm};
use super::memory::{Memory, Outside};
use super::neighbours::Neighbours;
use super::space::{Room, Space};
use super::store::Store;
use super::vouch::{Telling, Told, Voucher, keep_looking, keep_vouching};
use super::witness::Witness;
use super::writer::{COMMANDS_WAITING_MAX, Counters, Writer};
use super::{
    Inner, Installation, Ledger, LedgerError, Result, identity, moving, new_id, place, postgres, pulse, schema, sqlite,
    whereabouts,
};
use crate::clock::SharedClock;
use oncegate_domain::id::Id;
use serde::Deserialize;
use std::fs::File;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use tokio::sync::{mpsc, watch};

/// Which database holds the ledger.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Database {
    /// SQLite, in the data directory.
    #[default]
    Embedded,
    /// PostgreSQL, by its address. It may hold a password.
    Postgres(String),
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Database::Embedded => f.write_str("Embedded"),
            Database::Postgres(_) => f.write_str("Postgres(…)"),
        }
    }
}

impl Database {
    /// The address of a server; `None`: it is in the data directory.
    pub fn address(&self) -> Option<&str> {
        match self {
            Database::Embedded => None,
            Database::Postgres(address) => Some(address),
        }
    }

    /// Where it is, for people: never with what an address may hold beside the host and the name.
    fn place(&self, dir: &Path) -> String {
        match self {
            Database::Embedded => dir.display().to_string(),
            Database::Postgres(address) => postgres::place(address),
        }
    }
}

impl TryFrom<String> for Database {
    type Error = String;

    fn try_from(address: String) -> std::result::Result<Self, String> {
        address.parse()
    }
}

impl FromStr for Database {
    type Err = String;

    fn from_str(address: &str) -> std::result::Result<Self, String> {
        match address.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(Database::Postgres(address.to_owned())),
            Some(_) | None => Err(
                "a database is named by an address like postgres://user:password@host/name; without one the ledger is in the \
                 data directory"
                    .into(),
            ),
        }
    }
}

/// What a ledger is opened with.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Where it is.
    pub database: Database,
    /// How much room there should be on the disk of the data directory, where the ledger is in it.
    pub room: Room,
    /// For how long a lease of this host is given, where several may share the ledger.
    pub lease: LeaseTerm,
}

/// How often the lock is asked for, and how far apart: a host that was told to stop may just be closing.
const LOCK_TRIES_MAX: u32 = 10;
const LOCK_PAUSE_MS: u64 = 50;

pub(super) async fn take_lock(dir: &Path) -> std::result::Result<File, String> {
    for _ in 0..LOCK_TRIES_MAX {
        if let Some(lock) = place::lock(dir)? {
            return Ok(lock);
        }
        tokio::time::sleep(std::time::Duration::from_millis(LOCK_PAUSE_MS)).await;
    }
    Err(format!(
        "{} holds it; stop that host first, or give this one another --data directory",
        place::holder(dir)
    ))
}

/// A database that is open.
struct Opened {
    connection: WriterConnection,
    readers: Readers,
    store: Store,
    neighbours: Option<Neighbours>,
}

fn embedded(dir: &Path, room: Room) -> std::result::Result<Opened, String> {
    let store = Store::Disk(Space::open(dir, room));
    let (connection, readers) = sqlite::open(&dir.join("ledger.db")).map_err(|why| store.explain(why))?;
    Ok(Opened {
        connection: WriterConnection::Sqlite(connection),
        readers: Readers::Sqlite(readers),
        store,
        neighbours: None,
    })
}

async fn on_server(url: &str, host: Id, lease: LeaseTerm, home: &Home) -> std::result::Result<Opened, String> {
    let (connection, readers, side) = postgres::open(url, host, lease, home.runtime()).await?;
    Ok(Opened {
        store: Store::Server(connection.is_away()),
        connection: WriterConnection::Postgres(Box::new(connection)),
        readers: Readers::Postgres(readers),
        neighbours: Some(Neighbours::new(side)),
    })
}

/// What is known of the ledger without it.
fn outside(dir: &Path, database: &Database, connection: &WriterConnection) -> Outside {
    Outside {
        witness: Witness::read(dir).transpose(),
        place: match database {
            Database::Embedded => whereabouts::of(&dir.join("ledger.db")),
            Database::Postgres(_) => None,
        },
        server: connection.server(),
    }
}

/// Opening.
impl Ledger {
    /// Opens the ledger in `dir`, with what is usual: see [`Ledger::open_with`].
    pub async fn open(dir: &Path, clock: SharedClock) -> Result<Ledger> {
        Self::open_with(dir, clock, &Opening::default()).await
    }

    /// Takes the lock of the data directory, opens (and makes, and migrates) the ledger, and begins a new lease epoch.
    pub async fn open_with(dir: &Path, clock: SharedClock, opening: &Opening) -> Result<Ledger> {
        let refuse = |why: String| LedgerError::Open {
            place: opening.database.place(dir),
            why,
        };
        place::prepare(dir).map_err(refuse)?;
        let lock = take_lock(dir).await.map_err(refuse)?;
        let host = identity::of(dir, new_id(clock.now_ms())).map_err(refuse)?;
        let home = Home::new().map_err(|error| refuse(format!("its writer gets no thread: {error}")))?;
        let opened = match &opening.database {
            Database::Embedded => embedded(dir, opening.room),
            Database::Postgres(url) => on_server(url, host, opening.lease, &home).await,
        };
        let mut opened = opened.map_err(refuse)?;
        let starting = Starting {
            host: host.to_string(),
            term: opening.lease,
        };
        let outside = outside(dir, &opening.database, &opened.connection);
        let begun = begin(&mut opened.connection, &starting, &outside, &clock).await;
        let begun = begun.map_err(|error| refuse(opened.store.explain(error.to_string())))?;
        let voucher = Voucher {
            dir: dir.to_owned(),
            incarnation: AtomicI64::new(begun.installation.incarnation),
            server: outside.server,
            ended: tokio::sync::Mutex::new(false),
        };
        let (ledger, tells) = Self::at_work(opened, home, begun, voucher, starting.host.clone(), clock, lock);
        ledger.vouch_at_start().await;
        ledger.keep_watch(tells, starting);
        Ok(ledger)
    }

    /// With its writer, and what that tells of.
    fn at_work(
        opened: Opened,
        home: Home,
        begun: Begun,
        voucher: Voucher,
        host: String,
        clock: SharedClock,
        lock: File,
    ) -> (Ledger, watch::Receiver<Told>) {
        let lease = Arc::new(begun.lease);
        let mut connection = opened.connection;
        connection.expect(Expected {
            installation: begun.installation.id,
            lease: Arc::clone(&lease),
        });
        let (queue, commands) = mpsc::channel(COMMANDS_WAITING_MAX);
        let (told, tells) = watch::channel(Told::default());
        let failed = watch::Sender::new(None);
        let counters = Arc::new(Counters::default());
        let writer = Writer {
            connection,
            queue: commands,
            lease: Arc::clone(&lease),
            counters: counters.clone(),
            store: opened.store.clone(),
            telling: Telling::new(Arc::clone(&lease), clock.clone(), told),
            failed: failed.clone(),
            lock,
        };
        home.take_in(writer);
        opened.store.keep_looking();
        let inner = Arc::new(Inner {
            installation: begun.installation,
            host,
            lease,
            pulse: OnceLock::new(),
            clock,
            queue,
            readers: opened.readers,
            counters,
            counted: tokio::sync::Mutex::default(),
            store: opened.store,
            neighbours: opened.neighbours,
            failed,
            memory: watch::Sender::new(begun.memory),
            voucher,
        });
        (Ledger { inner }, tells)
    }

    /// What goes on beside the commands for as long as the ledger is open.
    fn keep_watch(&self, tells: watch::Receiver<Told>, starting: Starting) {
        let inner = || Arc::downgrade(&self.inner);
        tokio::spawn(keep_vouching(inner(), tells));
        if self.inner.store.is_shared() {
            tokio::spawn(keep_looking(inner()));
            let beating = tokio::spawn(pulse::keep(inner(), starting));
            self.inner.pulse.get_or_init(|| beating.abort_handle());
        }
    }
}

/// How a start of the host begins.
struct Begun {
    installation: Installation,
    lease: Lease,
    memory: Memory,
}

/// Makes the tables and begins an epoch. Where several share the ledger its time is the database's, and the epoch has a lease.
async fn begin(
    connection: &mut WriterConnection,
    starting: &Starting,
    outside: &Outside,
    clock: &SharedClock,
) -> Result<Begun> {
    let is_shared = connection.conn().is_postgres();
    if is_shared {
        clock.follow(postgres::hosts::now_ms(&mut connection.conn()).await?);
    }
    schema::migrate(connection, clock.now_ms()).await?;
    moving::refuse(connection).await?;
    let asked_boot_ms = Lease::now_boot_ms();
    let begun = schema::begin_epoch(connection, starting, outside, clock.now_ms()).await?;
    let until_boot_ms = asked_boot_ms.saturating_add_unsigned(starting.term.ms);
    Ok(Begun {
        installation: begun.installation,
        lease: Lease::new(begun.start, is_shared.then_some(until_boot_ms)),
        memory: begun.memory,
    })
}
