//! At the start: does the ledger remember what was seen of it?

use super::{Memory, Window, read};
use crate::ledger::database::{Conn, Value};
use crate::ledger::rows::Row;
use crate::ledger::schema::first;
use crate::ledger::witness::{Judged, Known, Server, Witness, judge};
use crate::ledger::{Installation, LedgerError, Result, random};

/// How far before the last thing that is remembered a forgotten one may have begun: it was on its way to the disk already.
const BEFORE_MS: i64 = 60_000;

/// What is known outside of the ledger.
#[derive(Clone, Debug, Default)]
pub(in crate::ledger) struct Outside {
    /// What this host has seen of it; `Err`: that cannot be read.
    pub witness: Option<std::result::Result<Witness, String>>,
    /// Where its file lies.
    pub place: Option<String>,
    /// Which server holds it.
    pub server: Option<Server>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(in crate::ledger) struct Recalled {
    pub incarnation: i64,
    pub memory: Memory,
    /// Starts of hosts with numbers up to this one may be forgotten: none of them is given again.
    pub above_epoch: i64,
}

/// Compares the two, and begins a new incarnation where the ledger may have forgotten. Within the transaction of the start.
pub(in crate::ledger) async fn recall(
    conn: &mut Conn<'_>,
    installation: &Installation,
    outside: &Outside,
    now_ms: i64,
) -> Result<Recalled> {
    const FIRST: &str = "INSERT INTO incarnations (incarnation, begun_ms, why, asks)
        SELECT incarnation, created_ms, 'made', 0 FROM installation WHERE one = 1 ON CONFLICT (incarnation) DO NOTHING";
    conn.query(FIRST, Vec::new()).await?;
    let found = found(conn, installation, outside).await?;
    if let Some(Found { why, asks }) = found {
        let window = Window {
            found_ms: now_ms,
            from_ms: remembers_until_ms(conn).await?.saturating_sub(BEFORE_MS).min(now_ms),
            until_ms: now_ms,
        };
        begin(conn, window, &why, asks).await?;
    }
    if let Some(place) = &outside.place {
        conn.query("UPDATE installation SET place = ?1", vec![Value::text(place.as_str())])
            .await?;
    }
    let above_epoch = match &outside.witness {
        Some(Ok(witness)) => witness.epoch,
        Some(Err(_)) | None => 0,
    };
    let (memory, incarnation) = read(conn).await?;
    Ok(Recalled {
        incarnation,
        memory,
        above_epoch,
    })
}

struct Found {
    why: String,
    asks: bool,
}

async fn found(conn: &mut Conn<'_>, installation: &Installation, outside: &Outside) -> Result<Option<Found>> {
    let forgot = |why: &str| {
        Some(Found {
            why: why.to_owned(),
            asks: false,
        })
    };
    match &outside.witness {
        None => {}
        Some(Err(why)) => {
            return Ok(forgot(&format!(
                "nobody can tell, for what this host had seen of it is lost: {why}"
            )));
        }
        Some(Ok(witness)) => match judge(witness, &known(conn, installation, witness, outside).await?) {
            Judged::Remembers => {}
            Judged::Forgot(why) => return Ok(forgot(why)),
            Judged::Another => return Err(another(witness, installation)),
        },
    }
    let place = conn.query("SELECT place FROM installation", Vec::new()).await?;
    let before = first(place, "installation")?.decode("installation", Row::opt_text)?;
    Ok(match (&before, &outside.place) {
        (Some(before), Some(now)) if before != now => Some(Found {
            why: "its file was moved, copied, or put back from a backup".to_owned(),
            asks: true,
        }),
        _ => None,
    })
}

/// Its keys are others, so that nothing which the other one has sent could be told: neither by asking nor by sending again.
fn another(witness: &Witness, installation: &Installation) -> LedgerError {
    LedgerError::Invalid {
        what: "this data directory",
        why: format!(
            "it has worked with the ledger of installation {}, and this is that of {}: put the first one back, or, where \
             another one is meant to begin, give it another --data directory",
            witness.installation, installation.id
        ),
    }
}

async fn known(
    conn: &mut Conn<'_>,
    installation: &Installation,
    witness: &Witness,
    outside: &Outside,
) -> Result<Known> {
    const HOST: &str = "SELECT epoch, COALESCE(position, 0) FROM hosts WHERE epoch = ?1 AND started_ms = ?2";
    const LIFE: &str = "SELECT incarnation FROM incarnations WHERE incarnation = ?1";
    let values = vec![Value::int(witness.epoch), Value::int(witness.started_ms)];
    let position = conn.query(HOST, values).await?.pop().map(|row| {
        row.decode("hosts", |row| {
            row.skip()?;
            row.int()
        })
    });
    let life = conn.query(LIFE, vec![Value::int(witness.incarnation)]).await?;
    Ok(Known {
        installation: installation.id,
        incarnation: installation.incarnation,
        incarnation_is_known: !life.is_empty(),
        position: position.transpose()?,
        server: outside.server.clone(),
    })
}

/// When the last thing happened that the ledger knows of.
async fn remembers_until_ms(conn: &mut Conn<'_>) -> Result<i64> {
    const LAST: &str = "SELECT COALESCE(MAX(started_ms), 0), COALESCE(MAX(ended_ms), 0), COALESCE(MAX(seen_ms), 0),
        COALESCE((SELECT received_ms FROM events ORDER BY id DESC LIMIT 1), 0) FROM hosts";
    let last = conn.query(LAST, Vec::new()).await?;
    first(last, "hosts")?.decode("hosts", |row| {
        Ok(row.int()?.max(row.int()?).max(row.int()?).max(row.int()?))
    })
}

/// Begins a new incarnation, whose window is open.
pub(super) async fn begin(conn: &mut Conn<'_>, window: Window, why: &str, asks: bool) -> Result<()> {
    const BEGIN: &str = "INSERT INTO incarnations (incarnation, begun_ms, why, from_ms, until_ms, asks)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    // Not negative: people read it.
    let incarnation = i64::from_le_bytes(random()) & i64::MAX;
    let values = vec![
        Value::int(incarnation),
        Value::int(window.found_ms),
        Value::text(why),
        Value::int(window.from_ms),
        Value::int(window.until_ms),
        Value::flag(asks),
    ];
    conn.query(BEGIN, values).await?;
    let values = vec![Value::int(incarnation), Value::int(window.found_ms)];
    let current = "UPDATE installation SET incarnation = ?1, reconcile_since_ms = ?2";
    conn.query(current, values).await?;
    Ok(())
}
