//! Runs: as the executor loads them, as people list and read them.

use super::rows::{Row, run_is_final, run_state_word};
use super::sqlite::{Conn, Sql, Value};
use super::{
    Delivery, Items, Page, RunDetail, RunFilter, RunResult, RunSummary, StoredAttempt, StoredEvent, StoredRun,
    StoredStep,
};
use super::{PAGE_ITEMS_MAX, Result, read_audit, read_review};
use super::{Place, StoredRequest};
use crate::flow::RawBody;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use serde_json::Value as Json;

pub(super) const SUMMARY: &str = "SELECT runs.id, runs.flow_id, flows.name, runs.event_key, runs.context, runs.state,
      runs.duplicates, runs.created_ms, runs.finished_ms, runs.flow_revision, runs.event_id
    FROM runs JOIN flows ON flows.id = runs.flow_id WHERE runs.id = ?1";
pub(super) const EVENT: &str = "SELECT id, received_ms, source, verified_by, signed_digest, headers, query,
      content_type, content_encoding, body
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
pub(super) const RESULT: &str = "SELECT steps.id, runs.state, steps.name, steps.role, steps.output
    FROM runs JOIN steps ON steps.run_id = runs.id WHERE runs.id = ?1 ORDER BY steps.ordinal";

/// A run with what the executor needs to go on.
pub(super) async fn load(conn: &mut Conn<'_>, run: Id) -> Result<Option<StoredRun>> {
    let Some((summary, flow_revision, event)) = summary(conn, run).await? else {
        return Ok(None);
    };
    Ok(Some(StoredRun {
        id: summary.id,
        flow_id: summary.flow_id,
        flow_revision,
        key: summary.key,
        state: summary.state,
        created_ms: summary.created_ms,
        event: event_of(conn, event).await?,
        steps: steps(conn, run).await?,
    }))
}

async fn summary(conn: &mut Conn<'_>, run: Id) -> Result<Option<(RunSummary, u32, Id)>> {
    let row = conn.query(SUMMARY, vec![Value::id(run)]).await?.pop();
    let read = |row: Row| row.decode("runs", |row| Ok((read_summary(row)?, row.small()?, row.id()?)));
    row.map(read).transpose()
}

fn read_summary(row: &mut Row) -> std::result::Result<RunSummary, super::rows::Bad> {
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
    })
}

/// A stored event, whole.
pub(super) async fn event_of(conn: &mut Conn<'_>, event: Id) -> Result<StoredEvent> {
    let row = conn.query(EVENT, vec![Value::id(event)]).await?.pop();
    let missing = || super::LedgerError::NotFound {
        what: "event",
        id: event.to_string(),
    };
    row.ok_or_else(missing)?.decode("events", |row| {
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
        })
    })
}

async fn steps(conn: &mut Conn<'_>, run: Id) -> Result<Vec<StoredStep>> {
    let rows = conn.query(STEPS, vec![Value::id(run)]).await?;
    rows.into_iter().map(step).collect()
}

fn step(row: Row) -> Result<StoredStep> {
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
        let (state, name, role, output) = row.decode("steps", |row| {
            row.id()?;
            Ok((
                row.word::<run::State>()?,
                row.text()?,
                row.text()?,
                row.opt_json::<Json>()?,
            ))
        })?;
        found = Some(state);
        // What tells people about a review is no result.
        if let (Some(output), "do") = (output, role.as_str()) {
            outputs.insert(name, output);
        }
    }
    Ok(found.map(|state| RunResult {
        state,
        finished: run_is_final(state),
        outputs: Json::Object(outputs),
    }))
}

/// The listing's statement and values: only the conditions that were asked for, so that each finds its index.
pub(super) fn list_query(filter: &RunFilter, page: Page) -> (String, Vec<Value<'static>>) {
    let mut sql = String::from(
        "SELECT runs.id, runs.flow_id, flows.name, runs.event_key, runs.context, runs.state, runs.duplicates,
           runs.created_ms, runs.finished_ms
         FROM runs JOIN flows ON flows.id = runs.flow_id WHERE TRUE",
    );
    let mut values = Vec::new();
    let mut and = |condition: &str, value: Value<'static>| {
        values.push(value);
        sql.push_str(" AND ");
        sql.push_str(&condition.replace('#', &format!("?{}", values.len())));
    };
    if let Some(after) = page.after {
        and("runs.id < #", Value::id(after));
    }
    if let Some(flow_id) = filter.flow_id {
        and("runs.flow_id = #", Value::id(flow_id));
    }
    match filter.state {
        None => {}
        Some(run::State::Completed) => and("runs.state = #", Value::text("completed")),
        // Said twice, so that the index of runs that are not completed is used.
        Some(state) => and(
            "runs.state <> 'completed' AND runs.state = #",
            Value::text(run_state_word(state)),
        ),
    }
    if let Some(text) = &filter.text {
        let pattern = Value::text(contains(text));
        and(
            "(runs.event_key LIKE # ESCAPE '\\' OR runs.context LIKE # ESCAPE '\\')",
            pattern,
        );
    }
    and("TRUE ORDER BY runs.id DESC LIMIT #", Value::number(limit(page) + 1));
    (sql, values)
}

/// A LIKE pattern for texts that contain this one.
fn contains(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// How many items a page has.
pub(super) fn limit(page: Page) -> u32 {
    page.limit.clamp(1, PAGE_ITEMS_MAX)
}

/// A page out of one row more than fits: that one tells whether there is a next page.
pub(super) fn paged<T>(mut items: Vec<T>, page: Page, id: impl Fn(&T) -> Id) -> Items<T> {
    let more = items.len() > limit(page) as usize;
    items.truncate(limit(page) as usize);
    Items {
        next: items.last().filter(|_| more).map(id),
        items,
    }
}

/// Runs, newest first.
pub(super) async fn list(conn: &mut Conn<'_>, filter: &RunFilter, page: Page) -> Result<Items<RunSummary>> {
    let (sql, values) = list_query(filter, page);
    let rows = conn.query(Sql::Built(sql.into()), values).await?;
    let read = rows.into_iter().map(|row| row.decode("runs", read_summary));
    Ok(paged(read.collect::<Result<_>>()?, page, |run: &RunSummary| run.id))
}
