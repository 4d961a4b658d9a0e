//! Which steps somebody should look at. The scan reads an index of unfinished steps only, so history costs it nothing.

use super::Result;
use super::intend::{LATER_INTENT, later_values};
use super::rows::Row;
use super::sqlite::{Conn, Value};
use super::{DueCursor, DueStep, OpenIntent, StoredIntent};
use super::{Place, StoredRequest};
use oncegate_domain::id::Id;

pub(super) const DUE: &str = "SELECT steps.id, steps.run_id, steps.due_ms, steps.epoch, steps.connection, steps.action,
      steps.version, steps.standing, steps.state, steps.in_doubt_since_ms,
      attempts.number, attempts.kind, attempts.intent_ms, attempts.send_by_ms, attempts.epoch
    FROM steps LEFT JOIN attempts ON attempts.step_id = steps.id AND attempts.number = (
      SELECT MAX(latest.number) FROM attempts AS latest
      WHERE latest.step_id = steps.id AND latest.intent_ms IS NOT NULL AND latest.ended_ms IS NULL)
    WHERE steps.due_ms IS NOT NULL AND steps.due_ms <= ?1 AND (steps.due_ms, steps.id) > (?2, ?3)
    ORDER BY steps.due_ms, steps.id LIMIT ?4";
pub(super) const NEXT_DUE: &str = "SELECT due_ms FROM steps WHERE due_ms IS NOT NULL ORDER BY due_ms LIMIT 1";
pub(super) const LAST_INTENT: &str = "SELECT attempts.number, attempts.kind, attempts.intent_ms, attempts.send_by_ms,
      attempts.send_by_boot_ms, attempts.epoch, attempts.connector_digest, attempts.connection,
      attempts.connection_revision, attempts.origin, attempts.account, attempts.action, steps.input,
      attempts.natural_key, attempts.request_head, attempts.request_body, attempts.evidence
    FROM attempts JOIN steps ON steps.id = attempts.step_id
    WHERE attempts.step_id = ?1 AND attempts.intent_ms IS NOT NULL ORDER BY attempts.number DESC LIMIT 1";

/// A stored request without its body: method, path and query, headers.
pub(super) type RequestHead = (String, String, Vec<(String, String)>);

/// Steps that are due by then, oldest first.
pub(super) async fn due(
    conn: &mut Conn<'_>,
    until_ms: i64,
    after: Option<DueCursor>,
    limit: u32,
) -> Result<Vec<DueStep>> {
    let after = after.unwrap_or(DueCursor {
        due_ms: i64::MIN,
        step: Id::from_bytes([0; 16]),
    });
    let values = vec![
        Value::int(until_ms),
        Value::int(after.due_ms),
        Value::id(after.step),
        Value::number(limit.clamp(1, super::PAGE_ITEMS_MAX)),
    ];
    conn.query(DUE, values).await?.into_iter().map(due_step).collect()
}

fn due_step(row: Row) -> Result<DueStep> {
    row.decode("steps", |row| {
        Ok(DueStep {
            id: row.id()?,
            run: row.id()?,
            due_ms: row.int()?,
            epoch: row.int()?,
            connection: row.text()?,
            action: row.text()?,
            version: row.int()?,
            state: row.standing()?,
            open: match row.opt_int()? {
                None => None,
                Some(number) => Some(OpenIntent {
                    number: u32::try_from(number).map_err(|_| row.bad("is out of range"))?,
                    kind: row.word()?,
                    at_ms: row.int()?,
                    send_by_ms: row.int()?,
                    epoch: row.int()?,
                }),
            },
        })
    })
}

/// When the next step is due.
pub(super) async fn next_due_ms(conn: &mut Conn<'_>) -> Result<Option<i64>> {
    let row = conn.query(NEXT_DUE, Vec::new()).await?.pop();
    row.map(|row| row.decode("steps", Row::int)).transpose()
}

/// The latest intent of a step.
pub(super) async fn last_intent(conn: &mut Conn<'_>, step: Id) -> Result<Option<StoredIntent>> {
    let row = conn.query(LAST_INTENT, vec![Value::id(step)]).await?.pop();
    let intent = row.map(|row| {
        row.decode("attempts", |row| {
            Ok(StoredIntent {
                number: row.small()?,
                kind: row.word()?,
                at_ms: row.int()?,
                send_by_ms: row.int()?,
                send_by_boot_ms: row.int()?,
                epoch: row.int()?,
                place: Place {
                    connector_digest: row.text()?,
                    connection: row.text()?,
                    connection_revision: row.small()?,
                    origin: row.text()?,
                    account: row.text()?,
                },
                action: row.text()?,
                input: row.text()?,
                natural_key: row.opt_digest()?,
                request: {
                    let (method, path_and_query, headers): RequestHead = row.json()?;
                    StoredRequest {
                        method,
                        path_and_query,
                        headers,
                        body: row.bytes()?,
                    }
                },
                evidence: row.opt_json()?,
            })
        })
    });
    intent.transpose()
}

/// Another step has an intent with this natural key, as late as `after_ms` or later.
pub(super) async fn later_intent(
    conn: &mut Conn<'_>,
    connection: &str,
    action: &str,
    natural_key: &[u8; 32],
    after_ms: i64,
    step: Id,
) -> Result<bool> {
    let values = later_values(connection, action, natural_key, after_ms, step);
    Ok(!conn.query(LATER_INTENT, values).await?.is_empty())
}
