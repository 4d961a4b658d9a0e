//! Which steps somebody should look at. Every scan goes by the index of unfinished steps, so history costs it nothing.

use super::database::{Conn, Value};
use super::intend::{LATER_INTENT, later_values};
use super::rows::Row;
use super::{ConnectionWait, DueCursor, DueStep, OpenIntent, StoredIntent, UnderWay};
use super::{Place, StoredRequest};
use super::{Result, postgres};
use oncegate_domain::id::Id;

pub(super) const DUE: &str = "SELECT id, run_id, due_ms, epoch, version FROM steps
    WHERE connection = ?1 AND due_ms IS NOT NULL AND due_ms <= ?2 AND (due_ms, id) > (?3, ?4)
    ORDER BY due_ms, id LIMIT ?5";
/// Who waits until later for a connection that was found to be blocked or away, or was paused. In the order of their time, for
/// which the index by reason is of no use: hence the function around it.
pub(super) const WAITING: &str = "SELECT id, run_id, due_ms, epoch, version FROM steps
    WHERE connection = ?1 AND due_ms IS NOT NULL AND (due_ms, id) > (?2, ?3)
      AND state = 'waiting' AND COALESCE(wait_reason, '') IN ('connection_blocked', 'breaker_open', 'paused')
    ORDER BY due_ms, id LIMIT ?4";
/// From one connection to the next by the index, however many steps each has.
pub(super) const BACKLOGS: &str = "WITH RECURSIVE waiting(connection) AS (
      SELECT MIN(connection) FROM steps WHERE due_ms IS NOT NULL
      UNION ALL
      SELECT (SELECT MIN(steps.connection) FROM steps
        WHERE steps.due_ms IS NOT NULL AND steps.connection > waiting.connection)
      FROM waiting WHERE waiting.connection IS NOT NULL)
    SELECT connection, (SELECT MIN(steps.due_ms) FROM steps
        WHERE steps.due_ms IS NOT NULL AND steps.connection = waiting.connection)
    FROM waiting WHERE connection IS NOT NULL";
/// An intent leaves a step in one of these two states until its end is stored. They have an index of their own: a start must
/// not read the whole backlog to find them. Those of hosts that live are not left behind.
pub(super) const UNDER_WAY: &str = "SELECT steps.id, steps.run_id, steps.due_ms, steps.epoch, steps.version,
      attempts.number, attempts.kind, attempts.intent_ms, attempts.send_by_ms, attempts.epoch
    FROM steps JOIN attempts ON attempts.step_id = steps.id AND attempts.number = (
      SELECT MAX(latest.number) FROM attempts AS latest
      WHERE latest.step_id = steps.id AND latest.intent_ms IS NOT NULL AND latest.ended_ms IS NULL)
    WHERE steps.state IN ('processing', 'cancelling') AND steps.due_ms IS NOT NULL AND steps.id > ?1
      AND EXISTS (SELECT 1 FROM hosts WHERE hosts.epoch = steps.epoch AND hosts.ended_ms IS NOT NULL)
    ORDER BY steps.id LIMIT ?2";
/// From one connection to the next by the index of waiting steps, and in each to the four reasons that are about the
/// connection: however many steps wait, few are read. Why it waits is what some of the first ones were told; a step that
/// came later may have been told nothing.
pub(super) const WAITS: &str = "WITH RECURSIVE waiting(connection) AS (
      SELECT MIN(connection) FROM steps WHERE state = 'waiting'
      UNION ALL
      SELECT (SELECT MIN(steps.connection) FROM steps
        WHERE steps.state = 'waiting' AND steps.connection > waiting.connection)
      FROM waiting WHERE waiting.connection IS NOT NULL),
    reasons(reason) AS (VALUES ('rate_limited'), ('breaker_open'), ('connection_blocked'), ('paused')),
    found(connection, reason, until_ms) AS (
      SELECT waiting.connection, reasons.reason, (SELECT MAX(steps.due_ms) FROM steps
        WHERE steps.state = 'waiting' AND steps.connection = waiting.connection AND steps.wait_reason = reasons.reason)
      FROM waiting CROSS JOIN reasons WHERE waiting.connection IS NOT NULL)
    SELECT connection, reason, until_ms, (SELECT MAX(told.last_error) FROM (
        SELECT steps.last_error FROM steps
        WHERE steps.state = 'waiting' AND steps.connection = found.connection AND steps.wait_reason = found.reason
        ORDER BY steps.due_ms LIMIT 100) AS told)
    FROM found WHERE until_ms IS NOT NULL";
pub(super) const LAST_INTENT: &str = "SELECT attempts.number, attempts.kind, attempts.intent_ms, attempts.send_by_ms,
      attempts.send_by_boot_ms, attempts.epoch, attempts.connector_digest, attempts.connection,
      attempts.connection_revision, attempts.origin, attempts.account, attempts.action, steps.input,
      attempts.natural_key, attempts.request_head, attempts.request_body, attempts.evidence, hosts.name
    FROM attempts JOIN steps ON steps.id = attempts.step_id LEFT JOIN hosts ON hosts.epoch = attempts.epoch
    WHERE attempts.step_id = ?1 AND attempts.intent_ms IS NOT NULL ORDER BY attempts.number DESC LIMIT 1";

/// A stored request without its body: method, path and query, headers.
pub(super) type RequestHead = (String, String, Vec<(String, String)>);

/// What hosts were called while each worked alone.
const ALONE: &str = "host";

/// `conn`'s own statement about the backlog of the host of `epoch`. On SQLite the host is alone, and all of it is its own.
async fn of_owner(
    conn: &mut Conn<'_>,
    (alone, of_owner): (&'static str, &'static str),
    epoch: i64,
    mut values: Vec<Value<'_>>,
) -> Result<Vec<Row>> {
    let sql = match conn.is_postgres() {
        true => {
            values.insert(0, Value::int(epoch));
            of_owner
        }
        false => alone,
    };
    Ok(conn.query(sql, values).await?)
}

/// Steps of a connection that are due by then, oldest first, of this host and of those that have ended.
pub(super) async fn due(
    conn: &mut Conn<'_>,
    epoch: i64,
    connection: &str,
    until_ms: i64,
    after: Option<DueCursor>,
    limit: u32,
) -> Result<Vec<DueStep>> {
    let after = after.unwrap_or_else(DueCursor::first);
    let values = vec![
        Value::text(connection),
        Value::int(until_ms),
        Value::int(after.due_ms),
        Value::id(after.step),
        Value::number(limit.clamp(1, super::PAGE_ITEMS_MAX)),
    ];
    let rows = of_owner(conn, (DUE, postgres::hosts::DUE), epoch, values).await?;
    rows.into_iter().map(due_step).collect()
}

/// Steps of a connection that wait for it until after `now_ms`, a page of them.
pub(super) async fn waiting(
    conn: &mut Conn<'_>,
    epoch: i64,
    connection: &str,
    now_ms: i64,
    after: Option<DueCursor>,
) -> Result<Vec<DueStep>> {
    // No id is greater than this one: from the next millisecond on.
    let after = after.unwrap_or(DueCursor {
        due_ms: now_ms,
        step: Id::from_bytes([u8::MAX; 16]),
    });
    let values = vec![
        Value::text(connection),
        Value::int(after.due_ms),
        Value::id(after.step),
        Value::number(super::PAGE_ITEMS_MAX),
    ];
    let rows = of_owner(conn, (WAITING, postgres::hosts::WAITING), epoch, values).await?;
    rows.into_iter().map(due_step).collect()
}

fn due_step(row: Row) -> Result<DueStep> {
    row.decode("steps", |row| {
        Ok(DueStep {
            id: row.id()?,
            run: row.id()?,
            due_ms: row.int()?,
            epoch: row.int()?,
            version: row.int()?,
        })
    })
}

/// The connections that have steps with a due time, each with the earliest.
pub(super) async fn backlogs(conn: &mut Conn<'_>, epoch: i64) -> Result<Vec<(String, i64)>> {
    let backlog = |row: Row| row.decode("steps", |row| Ok((row.text()?, row.int()?)));
    let rows = of_owner(conn, (BACKLOGS, postgres::hosts::BACKLOGS), epoch, Vec::new()).await?;
    rows.into_iter().map(backlog).collect()
}

/// Steps with an open intent, after this one.
pub(super) async fn under_way(conn: &mut Conn<'_>, after: Option<Id>, limit: u32) -> Result<Vec<UnderWay>> {
    let values = vec![
        Value::id(after.unwrap_or(Id::from_bytes([0; 16]))),
        Value::number(limit.clamp(1, super::PAGE_ITEMS_MAX)),
    ];
    let step = |row: Row| {
        row.decode("steps", |row| {
            Ok(UnderWay {
                step: DueStep {
                    id: row.id()?,
                    run: row.id()?,
                    due_ms: row.int()?,
                    epoch: row.int()?,
                    version: row.int()?,
                },
                open: OpenIntent {
                    number: row.small()?,
                    kind: row.word()?,
                    at_ms: row.int()?,
                    send_by_ms: row.int()?,
                    epoch: row.int()?,
                },
            })
        })
    };
    conn.query(UNDER_WAY, values).await?.into_iter().map(step).collect()
}

/// Which connections have steps that wait because of the connection, each reason with the latest end.
pub(super) async fn waits(conn: &mut Conn<'_>) -> Result<Vec<ConnectionWait>> {
    let wait = |row: Row| {
        row.decode("steps", |row| {
            Ok(ConnectionWait {
                connection: row.text()?,
                reason: row.word()?,
                until_ms: row.int()?,
                why: row.opt_text()?,
            })
        })
    };
    conn.query(WAITS, Vec::new()).await?.into_iter().map(wait).collect()
}

/// The latest intent of a step, as `host` sees it.
pub(super) async fn last_intent(conn: &mut Conn<'_>, host: &str, step: Id) -> Result<Option<StoredIntent>> {
    let is_shared = conn.is_postgres();
    let row = conn.query(LAST_INTENT, vec![Value::id(step)]).await?.pop();
    let intent = row.map(|row| {
        row.decode("attempts", |row| {
            let mut intent = StoredIntent {
                number: row.small()?,
                kind: row.word()?,
                at_ms: row.int()?,
                send_by_ms: row.int()?,
                send_by_boot_ms: row.int()?,
                epoch: row.int()?,
                by_other_host: false,
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
            };
            let by = row.opt_text()?;
            intent.by_other_host = is_shared && by.is_none_or(|by| by != host && by != ALONE);
            Ok(intent)
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
