//! Runs, one at a time: what people read of one, and its result.

use super::database::{Conn, Value};
use super::rows::{Bad, Row, run_is_final};
use super::{Delivery, RunDetail, RunResult, RunSummary, StoredAttempt, StoredEvent, StoredStep};
use super::{PAGE_ITEMS_MAX, Result, read_audit, read_review};
use super::{Place, StoredRequest};
use crate::flow::RawBody;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use serde_json::Value as Json;

/// A run's duplicates are counted up to this number: each is a row that is looked at, and one whose event comes a million times must
/// not make a listing slow.
pub const DUPLICATES_COUNTED_MAX: u64 = 1_000;

/// How often the event of a run came again, up to [`DUPLICATES_COUNTED_MAX`]. A macro, because statements are fixed text.
macro_rules! duplicates {
    () => {
        "(SELECT COUNT(*) FROM (SELECT 1 FROM events WHERE events.run_id = runs.id AND events.kind <> 'first'
           AND events.kind = 'duplicate' LIMIT 1000) AS counted)"
    };
}
pub(super) use duplicates;

pub(super) const SUMMARY: &str = concat!(
    "SELECT runs.id, runs.flow_id, flows.name, runs.event_key, runs.context, runs.state, ",
    duplicates!(),
    ", runs.created_ms, runs.finished_ms, runs.erased_ms, runs.flow_revision, runs.event_id
    FROM runs JOIN flows ON flows.id = runs.flow_id WHERE runs.id = ?1"
);
pub(super) const EVENT: &str = "SELECT id, received_ms, source, verified_by, signed_digest, headers, query,
      content_type, content_encoding, body, erased_ms
    FROM events WHERE id = ?1";
pub(super) const STEPS: &str = "SELECT id, run_id, ordinal, name, role, item, correction, connection, action, standing,
      state, in_doubt_since_ms, version, epoch, due_ms, last_number, key_window_end_ms, natural_key, last_error, input,
      output, reference
    FROM steps WHERE run_id = ?1 ORDER BY ordinal";
pub(super) const ATTEMPTS: &str = "SELECT number, kind, connector_digest, connection, connection_revision, origin,
      account, intent_ms, send_by_ms, request_head, request_body, evidence, status, report, outcome, finding, message,
      started_ms, ended_ms, late_evidence, late_ms
    FROM attempts WHERE step_id = ?1 ORDER BY number";
pub(super) const AGAIN: &str = "SELECT id, received_ms, source, verified_by, kind FROM events
    WHERE run_id = ?1 AND kind <> 'first' ORDER BY id LIMIT ?2";
pub(super) const RESULT: &str = "SELECT steps.id, runs.state, runs.erased_ms, steps.name, steps.role, steps.output
    FROM runs JOIN steps ON steps.run_id = runs.id WHERE runs.id = ?1 ORDER BY steps.ordinal";

async fn summary(conn: &mut Conn<'_>, run: Id) -> Result<Option<(RunSummary, u32, Id)>> {
    let row = conn.query(SUMMARY, vec![Value::id(run)]).await?.pop();
    let read = |row: Row| row.decode("runs", |row| Ok((read_summary(row)?, row.small()?, row.id()?)));
    row.map(read).transpose()
}

/// A run as listed, from the first ten cells of [`SUMMARY`].
pub(super) fn read_summary(row: &mut Row) -> std::result::Result<RunSummary, Bad> {
    Ok(RunSummary {
        id: row.id()?,
        flow_id: row.id()?,
        flow: row.text()?,
        key: row.text()?,
        context: row.json()?,
        state: row.word()?,
        duplicates: row.small()?,
        created_ms: row.int()?,
        finished_ms: row.opt_int()?,
        erased_ms: row.opt_int()?,
    })
}

/// A stored event, whole.
pub(super) async fn event_of(conn: &mut Conn<'_>, event: Id) -> Result<StoredEvent> {
    let row = conn.query(EVENT, vec![Value::id(event)]).await?.pop();
    let missing = || super::LedgerError::NotFound {
        what: "event",
        id: event.to_string(),
    };
    row.ok_or_else(missing)?.decode("events", read_event)
}

/// An event, from the cells of [`EVENT`].
pub(super) fn read_event(row: &mut Row) -> std::result::Result<StoredEvent, Bad> {
    Ok(StoredEvent {
        id: row.id()?,
        received_ms: row.int()?,
        source: row.text()?,
        verified_by: row.text()?,
        signed_digest: row.opt_digest()?,
        headers: row.json()?,
        query: row.json()?,
        body: RawBody {
            content_type: row.text()?,
            encoding: row.word()?,
            bytes: row.bytes()?,
        },
        erased_ms: row.opt_int()?,
    })
}

async fn steps(conn: &mut Conn<'_>, run: Id) -> Result<Vec<StoredStep>> {
    let rows = conn.query(STEPS, vec![Value::id(run)]).await?;
    rows.into_iter().map(step).collect()
}

/// A step, from the cells of [`STEPS`].
pub(super) fn step(row: Row) -> Result<StoredStep> {
    row.decode("steps", |row| {
        Ok(StoredStep {
            id: row.id()?,
            run: row.id()?,
            ordinal: row.small()?,
            step_id: row.text()?,
            role: row.word()?,
            item: row.text()?,
            correction: row.small()?,
            connection: row.text()?,
            action: row.text()?,
            state: row.standing()?,
            version: row.int()?,
            epoch: row.int()?,
            due_ms: row.opt_int()?,
            last_number: row.small()?,
            key_window_end_ms: row.opt_int()?,
            natural_key: row.opt_digest()?,
            last_error: row.opt_text()?,
            input: row.opt_text()?,
            output: row.opt_json()?,
            reference: row.opt_text()?,
        })
    })
}

/// A run with all that is known of it.
pub(super) async fn show(conn: &mut Conn<'_>, run: Id) -> Result<Option<RunDetail>> {
    let Some((summary, flow_revision, event)) = summary(conn, run).await? else {
        return Ok(None);
    };
    let event = event_of(conn, event).await?;
    let mut detailed = Vec::new();
    for step in steps(conn, run).await? {
        let attempts = attempts(conn, step.id).await?;
        detailed.push((step, attempts));
    }
    let first = Delivery {
        id: event.id,
        received_ms: event.received_ms,
        source: event.source.clone(),
        verified_by: event.verified_by.clone(),
        kind: super::DeliveryKind::First,
    };
    let mut deliveries = vec![first];
    deliveries.append(&mut again(conn, run).await?);
    Ok(Some(RunDetail {
        run: summary,
        flow_revision,
        event,
        deliveries,
        steps: detailed,
        reviews: read_review::of_run(conn, run).await?,
        audit: read_audit::of_subject(conn, &run.to_string()).await?,
    }))
}

async fn again(conn: &mut Conn<'_>, run: Id) -> Result<Vec<Delivery>> {
    let rows = conn
        .query(AGAIN, vec![Value::id(run), Value::number(PAGE_ITEMS_MAX)])
        .await?;
    let read = |row: Row| {
        row.decode("events", |row| {
            Ok(Delivery {
                id: row.id()?,
                received_ms: row.int()?,
                source: row.text()?,
                verified_by: row.text()?,
                kind: row.word()?,
            })
        })
    };
    rows.into_iter().map(read).collect()
}

async fn attempts(conn: &mut Conn<'_>, step: Id) -> Result<Vec<StoredAttempt>> {
    let rows = conn.query(ATTEMPTS, vec![Value::id(step)]).await?;
    rows.into_iter().map(attempt).collect()
}

fn attempt(row: Row) -> Result<StoredAttempt> {
    row.decode("attempts", |row| {
        Ok(StoredAttempt {
            number: row.small()?,
            kind: row.word()?,
            place: Place {
                connector_digest: row.opt_text()?.unwrap_or_default(),
                connection: row.opt_text()?.unwrap_or_default(),
                connection_revision: row
                    .opt_int()?
                    .and_then(|number| u32::try_from(number).ok())
                    .unwrap_or_default(),
                origin: row.opt_text()?.unwrap_or_default(),
                account: row.opt_text()?.unwrap_or_default(),
            },
            intent_ms: row.opt_int()?,
            send_by_ms: row.opt_int()?,
            request: {
                let head: Option<super::due::RequestHead> = row.opt_json()?;
                let body = row.opt_bytes()?.unwrap_or_default();
                head.map(|(method, path_and_query, headers)| StoredRequest {
                    method,
                    path_and_query,
                    headers,
                    body,
                })
            },
            evidence: row.opt_json()?,
            status: match row.opt_int()? {
                None => None,
                Some(status) => Some(u16::try_from(status).map_err(|_| row.bad("is no status"))?),
            },
            report: row.opt_json()?,
            outcome: row.opt_json()?,
            finding: row.opt_json()?,
            message: row.opt_text()?,
            started_ms: row.int()?,
            ended_ms: row.opt_int()?,
            late: row.opt_json()?.zip(row.opt_int()?),
        })
    })
}

/// The state and the outputs of a run.
pub(super) async fn result(conn: &mut Conn<'_>, run: Id) -> Result<Option<RunResult>> {
    let rows = conn.query(RESULT, vec![Value::id(run)]).await?;
    let mut found = None;
    let mut outputs = serde_json::Map::new();
    for row in rows {
        let (state, erased_ms, name, role, output) = row.decode("steps", |row| {
            row.id()?;
            Ok((
                row.word::<run::State>()?,
                row.opt_int()?,
                row.text()?,
                row.text()?,
                row.opt_json::<Json>()?,
            ))
        })?;
        found = Some((state, erased_ms));
        // What tells people about a review is no result.
        if let (Some(output), "do") = (output, role.as_str()) {
            outputs.insert(name, output);
        }
    }
    Ok(found.map(|(state, erased_ms)| RunResult {
        state,
        finished: run_is_final(state),
        outputs: Json::Object(outputs),
        erased_ms,
    }))
}
