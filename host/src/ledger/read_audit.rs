//! The audit trail.

use super::AuditEntry;
use super::database::{Conn, Value};
use super::read_list::{limit, paged};
use super::rows::Row;
use super::{AuditLine, Items, Page};
use super::{PAGE_ITEMS_MAX, Result};
use oncegate_domain::id::Id;

pub(super) const ALL: &str =
    "SELECT id, at_ms, who, what, subject, why FROM audit WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
pub(super) const OF_SUBJECT: &str =
    "SELECT id, at_ms, who, what, subject, why FROM audit WHERE subject = ?1 ORDER BY id LIMIT ?2";

fn line(row: Row) -> Result<AuditLine> {
    row.decode("audit", |row| {
        let id = row.id()?;
        let entry = AuditEntry {
            at_ms: row.int()?,
            who: row.text()?,
            what: row.text()?,
            subject: row.text()?,
            why: row.text()?,
        };
        Ok(AuditLine { id, entry })
    })
}

/// Newest first.
pub(super) async fn list(conn: &mut Conn<'_>, page: Page) -> Result<Items<AuditLine>> {
    let after = page.after.unwrap_or(Id::from_bytes([0xff; 16]));
    let rows = conn
        .query(ALL, vec![Value::id(after), Value::number(limit(page) + 1)])
        .await?;
    Ok(paged(
        rows.into_iter().map(line).collect::<Result<_>>()?,
        page,
        |line: &AuditLine| line.id,
    ))
}

/// What was done to one thing, oldest first.
pub(super) async fn of_subject(conn: &mut Conn<'_>, subject: &str) -> Result<Vec<AuditLine>> {
    let values = vec![Value::text(subject), Value::number(PAGE_ITEMS_MAX)];
    conn.query(OF_SUBJECT, values).await?.into_iter().map(line).collect()
}

/// The smallest question there is.
pub(super) async fn answers(conn: &mut Conn<'_>) -> Result<()> {
    conn.query("SELECT one FROM installation", Vec::new()).await?;
    Ok(())
}
