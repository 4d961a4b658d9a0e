//! Connections that a person paused, until a person lets them go on.

use super::database::{Conn, Value};
use super::decide::audit;
use super::news::{self, News};
use super::rows::Row;
use super::{AuditEntry, Ledger, LedgerError, PersonPause, Result};

/// A connection that is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paused {
    /// Its name.
    pub connection: String,
    /// Since when.
    pub since_ms: i64,
    /// Who paused it.
    pub who: String,
    /// Why, in their words; may be empty.
    pub why: String,
}

impl Ledger {
    /// Pauses a connection; `false`: it is paused already, and stays so as it was.
    pub async fn pause(&self, pause: PersonPause) -> Result<bool> {
        self.rare_with(pause, |mut conn, pause| {
            Box::pin(async move { begin(&mut conn, &pause).await })
        })
        .await
    }

    /// Ends a pause; `false`: there is none.
    pub async fn resume(&self, pause: PersonPause) -> Result<bool> {
        self.rare_with(pause, |mut conn, pause| {
            Box::pin(async move { end(&mut conn, &pause).await })
        })
        .await
    }

    /// The connections that are paused.
    pub async fn pauses(&self) -> Result<Vec<Paused>> {
        self.noted(read(&mut self.snapshot().await?.conn()).await)
    }
}

async fn begin(conn: &mut Conn<'_>, pause: &PersonPause) -> Result<bool> {
    const BEGIN: &str = "UPDATE connections SET paused_ms = ?2, paused_by = ?3, paused_why = ?4
        WHERE name = ?1 AND paused_ms IS NULL RETURNING name";
    let values = vec![
        Value::text(pause.connection.as_str()),
        Value::int(pause.at_ms),
        Value::text(pause.who.as_str()),
        Value::text(pause.why.as_str()),
    ];
    let begun = !conn.query(BEGIN, values).await?.is_empty();
    note(conn, pause, "connection.pause", begun).await
}

async fn end(conn: &mut Conn<'_>, pause: &PersonPause) -> Result<bool> {
    const END: &str = "UPDATE connections SET paused_ms = NULL, paused_by = NULL, paused_why = NULL
        WHERE name = ?1 AND paused_ms IS NOT NULL RETURNING name";
    let values = vec![Value::text(pause.connection.as_str())];
    let ended = !conn.query(END, values).await?.is_empty();
    note(conn, pause, "connection.resume", ended).await
}

/// Writes down and tells what was changed; where nothing was, whether there is such a connection at all.
async fn note(conn: &mut Conn<'_>, pause: &PersonPause, what: &str, is_changed: bool) -> Result<bool> {
    const IS_THERE: &str = "SELECT name FROM connections WHERE name = ?1";
    let name = pause.connection.as_str();
    if !is_changed {
        let found = conn.query(IS_THERE, vec![Value::text(name)]).await?;
        return match found.is_empty() {
            true => Err(LedgerError::NotFound {
                what: "connection",
                id: name.to_owned(),
            }),
            false => Ok(false),
        };
    }
    let entry = AuditEntry {
        at_ms: pause.at_ms,
        who: pause.who.clone(),
        what: what.to_owned(),
        subject: name.to_owned(),
        why: pause.why.clone(),
    };
    audit(conn, &entry).await?;
    news::tell(conn, News::Gates).await?;
    Ok(true)
}

async fn read(conn: &mut Conn<'_>) -> Result<Vec<Paused>> {
    const PAUSED: &str = "SELECT name, paused_ms, COALESCE(paused_by, ''), COALESCE(paused_why, '') FROM connections
        WHERE paused_ms IS NOT NULL ORDER BY name";
    let paused = |row: Row| {
        row.decode("connections", |row| {
            Ok(Paused {
                connection: row.text()?,
                since_ms: row.int()?,
                who: row.text()?,
                why: row.text()?,
            })
        })
    };
    conn.query(PAUSED, Vec::new()).await?.into_iter().map(paused).collect()
}
