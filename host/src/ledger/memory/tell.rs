//! What people say about a ledger that may have forgotten. Each is recorded with who, when and why.

use super::recall::begin;
use super::{Memory, Window, read};
use crate::ledger::database::{Conn, Value};
use crate::ledger::{AuditEntry, Ledger, LedgerError, Result, decide};
use std::sync::atomic::Ordering;

/// What a person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// What happened in between may be forgotten: also where nothing of it was noticed.
    Forgot {
        /// From when on.
        from_ms: i64,
        /// Until when.
        until_ms: i64,
    },
    /// It is over: what begins from now on was not sent before.
    Ended,
    /// The ledger was moved as it was, and nobody works with it at the old place: nothing is forgotten.
    Moved,
    /// It is a copy, or comes from a backup.
    Copied,
}

impl Ledger {
    /// A person says what is known about a ledger that may have forgotten. What is so from then on.
    ///
    /// # Errors
    /// It does not fit how the ledger stands, or could not be stored; nothing was changed.
    pub async fn tell_memory(&self, statement: Statement, who: &str, why: &str) -> Result<Memory> {
        let entry = AuditEntry {
            at_ms: self.inner.clock.now_ms(),
            who: who.to_owned(),
            what: format!("ledger.{}", statement.word()),
            subject: self.inner.installation.id.to_string(),
            why: why.to_owned(),
        };
        let told = self.rare_with((statement, entry), |mut conn, input| {
            Box::pin(async move { tell(&mut conn, input.0, &input.1).await })
        });
        let (memory, incarnation) = told.await?;
        self.inner.voucher.incarnation.store(incarnation, Ordering::Relaxed);
        self.inner.memory.send_replace(memory.clone());
        Ok(memory)
    }
}

impl Statement {
    fn word(self) -> &'static str {
        match self {
            Statement::Forgot { .. } => "forgot",
            Statement::Ended => "reconciled",
            Statement::Moved => "moved",
            Statement::Copied => "copied",
        }
    }
}

async fn tell(conn: &mut Conn<'_>, statement: Statement, entry: &AuditEntry) -> Result<(Memory, i64)> {
    const END: &str = "UPDATE incarnations SET ended_ms = ?1, ended_by = ?2, ended_why = ?3, asks = 0
        WHERE ended_ms IS NULL AND from_ms IS NOT NULL";
    const END_MOVED: &str = "UPDATE incarnations SET ended_ms = ?1, ended_by = ?2, ended_why = ?3, asks = 0
        WHERE ended_ms IS NULL AND from_ms IS NOT NULL AND asks = 1";
    const COPIED: &str = "UPDATE incarnations SET asks = 0 WHERE asks = 1";
    let ending = || {
        vec![
            Value::int(entry.at_ms),
            Value::text(entry.who.as_str()),
            Value::text(entry.why.as_str()),
        ]
    };
    let (before, _) = read(conn).await?;
    match (statement, &before) {
        (Statement::Forgot { from_ms, until_ms }, before) => {
            let window = Window {
                found_ms: entry.at_ms,
                from_ms,
                until_ms,
            };
            forgot(conn, window, before, entry).await?;
        }
        (Statement::Ended, Memory::Reconcile(_)) => drop(conn.query(END, ending()).await?),
        (Statement::Moved, Memory::Elsewhere(_)) => drop(conn.query(END_MOVED, ending()).await?),
        (Statement::Copied, Memory::Elsewhere(_)) => drop(conn.query(COPIED, Vec::new()).await?),
        (Statement::Ended, Memory::Elsewhere(_)) => {
            return refuse("say first whether the ledger was moved or copied");
        }
        (Statement::Ended, Memory::Whole) => return refuse("nothing of the ledger is in question"),
        (Statement::Moved | Statement::Copied, Memory::Whole | Memory::Reconcile(_)) => {
            return refuse("the ledger lies where it lay before; nobody has to say why");
        }
    }
    decide::audit(conn, entry).await?;
    let (memory, incarnation) = read(conn).await?;
    if memory == Memory::Whole {
        conn.query("UPDATE installation SET reconcile_since_ms = NULL", Vec::new())
            .await?;
    }
    Ok((memory, incarnation))
}

/// A window that is wider than before, or the first one, puts in doubt once more what is not finished: what was settled with
/// the old one may not be. A narrower one only changes what follows from now on.
async fn forgot(conn: &mut Conn<'_>, window: Window, before: &Memory, entry: &AuditEntry) -> Result<()> {
    const NARROW: &str =
        "UPDATE incarnations SET from_ms = ?1, until_ms = ?2 WHERE ended_ms IS NULL AND from_ms IS NOT NULL";
    if window.from_ms >= window.until_ms || window.from_ms > entry.at_ms {
        return refuse("a window ends after it begins, and begins in the past");
    }
    match before {
        Memory::Reconcile(old) | Memory::Elsewhere(old)
            if old.window.from_ms <= window.from_ms && window.until_ms <= old.window.until_ms =>
        {
            let values = vec![Value::int(window.from_ms), Value::int(window.until_ms)];
            conn.query(NARROW, values).await?;
        }
        Memory::Whole | Memory::Reconcile(_) | Memory::Elsewhere(_) => {
            begin(conn, window, &format!("{} says so: {}", entry.who, entry.why), false).await?;
        }
    }
    Ok(())
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(LedgerError::Invalid {
        what: "the statement",
        why: why.to_owned(),
    })
}
