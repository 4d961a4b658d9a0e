//! The audit trail, and what is in the ledger, counted.

use super::AuditEntry;
use super::read_runs::{limit, paged};
use super::rows::Row;
use super::sqlite::{Conn, Value};
use super::{AuditLine, Counts, EffectCount, Items, Page};
use super::{PAGE_ITEMS_MAX, Result};
use oncegate_domain::id::Id;
use serde_json::Value as Json;

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

/// Counts everything.
pub(super) async fn counts(conn: &mut Conn<'_>) -> Result<Counts> {
    let mut counts = Counts::default();
    for row in conn
        .query("SELECT kind, COUNT(*) FROM events GROUP BY kind", Vec::new())
        .await?
    {
        let (kind, number): (String, u64) = row.decode("events", |row| Ok((row.text()?, row.small()?)))?;
        counts.events += number;
        match kind.as_str() {
            "duplicate" => counts.duplicates = number,
            "conflict" => counts.conflicts = number,
            _ => {}
        }
    }
    let runs = conn
        .query(
            "SELECT state, COUNT(*) FROM runs GROUP BY state ORDER BY state",
            Vec::new(),
        )
        .await?;
    for row in runs {
        counts
            .runs
            .push(row.decode("runs", |row| Ok((row.word()?, row.small()?)))?);
    }
    counts.effects = effects(conn).await?;
    let open = "SELECT reason, COUNT(*) FROM review_items WHERE closed_ms IS NULL GROUP BY reason ORDER BY reason";
    for row in conn.query(open, Vec::new()).await? {
        let (reason, number): (Json, u64) = row.decode("review_items", |row| Ok((row.json()?, row.small()?)))?;
        counts.review.push((reason_words(&reason), number));
    }
    Ok(counts)
}

async fn effects(conn: &mut Conn<'_>) -> Result<Vec<EffectCount>> {
    const EFFECTS: &str = "SELECT flows.name, steps.name, steps.connection, steps.action, COUNT(*)
        FROM steps JOIN runs ON runs.id = steps.run_id JOIN flows ON flows.id = runs.flow_id
        WHERE steps.state = 'completed' GROUP BY flows.name, steps.name, steps.connection, steps.action
        ORDER BY flows.name, MIN(steps.ordinal)";
    let rows = conn.query(EFFECTS, Vec::new()).await?;
    let read = |row: Row| {
        row.decode("steps", |row| {
            Ok(EffectCount {
                flow: row.text()?,
                step: row.text()?,
                connection: row.text()?,
                action: row.text()?,
                completed: row.small()?,
            })
        })
    };
    rows.into_iter().map(read).collect()
}

/// A stored reason as words with colons between them: `{"doubt":"no_way_to_ask"}` is `doubt:no_way_to_ask`.
fn reason_words(reason: &Json) -> String {
    match reason {
        Json::String(word) => word.clone(),
        Json::Object(map) => {
            let words = map.iter().map(|(name, rest)| format!("{name}:{}", reason_words(rest)));
            words.collect::<Vec<_>>().join(",")
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => reason.to_string(),
    }
}

/// The smallest question there is.
pub(super) async fn answers(conn: &mut Conn<'_>) -> Result<()> {
    conn.query("SELECT one FROM installation", Vec::new()).await?;
    Ok(())
}
