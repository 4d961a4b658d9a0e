//! Runs as the executor goes on with them, many at a time: a page costs two statements, however many runs it has. Reading
//! each by itself would cost more than carrying it out, where a backlog is read back.

use super::Result;
use super::database::{Conn, Sql, Value};
use super::read_runs::{read_event, step};
use super::rows::Row;
use super::{StoredRun, StoredStep};
use oncegate_domain::id::Id;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Runs of one page at most. Their events' bodies are in memory together until they are parsed.
pub const RUNS_PER_PAGE: usize = 100;

/// The event is joined from the left: a run without one is an error that names it, and not a run that nobody finds.
pub(super) static RUNS: LazyLock<Arc<str>> = LazyLock::new(|| {
    of_page(
        "SELECT runs.id, runs.flow_id, runs.flow_revision, runs.event_key, runs.state, runs.created_ms, runs.version,
           events.id, events.received_ms, events.source, events.verified_by, events.signed_digest, events.headers,
           events.query, events.content_type, events.content_encoding, events.body,
           events.erased_ms
         FROM runs LEFT JOIN events ON events.id = runs.event_id WHERE runs.id IN (…)",
    )
});
pub(super) static STEPS: LazyLock<Arc<str>> = LazyLock::new(|| {
    of_page(
        "SELECT id, run_id, ordinal, name, role, item, correction, connection, action, standing, state,
           in_doubt_since_ms, version, epoch, due_ms, last_number, key_window_end_ms, natural_key, last_error, input,
           output, reference
         FROM steps WHERE run_id IN (…) ORDER BY run_id, ordinal",
    )
});

/// One text for pages of any size, so that it stays prepared: places that a page does not need are null, which no id equals.
fn of_page(text: &str) -> Arc<str> {
    let places: Vec<String> = (1..=RUNS_PER_PAGE).map(|place| format!("?{place}")).collect();
    text.replace('…', &places.join(", ")).into()
}

/// The runs of these ids that there are, at most [`RUNS_PER_PAGE`], in no order.
pub(super) async fn load(conn: &mut Conn<'_>, runs: &[Id]) -> Result<Vec<StoredRun>> {
    debug_assert!(runs.len() <= RUNS_PER_PAGE, "more runs than a page has");
    let places = || -> Vec<Value<'static>> {
        (0..RUNS_PER_PAGE)
            .map(|place| Value::opt_id(runs.get(place).copied()))
            .collect()
    };
    let mut steps = HashMap::<Id, Vec<StoredStep>>::new();
    for row in conn.query(Sql::Built(STEPS.clone()), places()).await? {
        let step = step(row)?;
        steps.entry(step.run).or_default().push(step);
    }
    let read = |row: Row| {
        row.decode("runs", |row| {
            let id = row.id()?;
            Ok(StoredRun {
                id,
                flow_id: row.id()?,
                flow_revision: row.small()?,
                key: row.text()?,
                state: row.word()?,
                created_ms: row.int()?,
                version: row.int()?,
                event: read_event(row)?,
                steps: steps.remove(&id).unwrap_or_default(),
            })
        })
    };
    let rows = conn.query(Sql::Built(RUNS.clone()), places()).await?;
    rows.into_iter().map(read).collect()
}
