//! Review items, with what a person needs to decide.

use super::Result;
use super::database::{Conn, Value};
use super::read_list::{limit, paged};
use super::read_runs;
use super::rows::{Bad, Row};
use super::{Closed, Items, Page, ReviewDetail, ReviewItem, ReviewSubject};
use oncegate_domain::id::Id;

/// The columns of an item. A macro, because statements are fixed text.
macro_rules! items {
    ($rest:literal) => {
        concat!(
            "SELECT review_items.id, review_items.version, review_items.run_id, runs.flow_id, flows.name, runs.event_key,
               runs.context, review_items.event_id, review_items.step_id, steps.name, steps.connection, steps.action,
               steps.last_error, steps.key_window_end_ms,
               (SELECT MAX(attempts.started_ms) FROM attempts WHERE attempts.step_id = review_items.step_id),
               (SELECT COUNT(*) FROM attempts WHERE attempts.step_id = review_items.step_id AND attempts.kind <> 'lookup'),
               review_items.reason, review_items.may_exist, review_items.opened_ms, review_items.closed_ms,
               review_items.action, review_items.who, review_items.why
             FROM review_items JOIN runs ON runs.id = review_items.run_id JOIN flows ON flows.id = runs.flow_id
             LEFT JOIN steps ON steps.id = review_items.step_id ",
            $rest
        )
    };
}

pub(super) const OPEN: &str =
    items!("WHERE review_items.closed_ms IS NULL AND review_items.id < ?1 ORDER BY review_items.id DESC LIMIT ?2");
pub(super) const ALL: &str = items!("WHERE review_items.id < ?1 ORDER BY review_items.id DESC LIMIT ?2");
pub(super) const ONE: &str = items!("WHERE review_items.id = ?1");
pub(super) const OF_RUN: &str = items!("WHERE review_items.run_id = ?1 ORDER BY review_items.id");
pub(super) const OF_STEP: &str =
    items!("WHERE review_items.step_id = ?1 AND review_items.step_id IS NOT NULL AND review_items.closed_ms IS NULL");

fn item(row: Row) -> Result<ReviewItem> {
    row.decode("review_items", |row| {
        let (id, version, run, flow_id) = (row.id()?, row.int()?, row.id()?, row.id()?);
        let (flow, key, context) = (row.text()?, row.text()?, row.json()?);
        let event = row.opt_id()?;
        let step = row.opt_id()?;
        let subject = match (event, step) {
            (Some(event), None) => {
                for _ in 0..9 {
                    row.skip()?;
                }
                ReviewSubject::Conflict { event }
            }
            (None, Some(step)) => about_step(row, step)?,
            (Some(_), Some(_)) | (None, None) => return Err(row.bad("leaves open whether it is about a step")),
        };
        let (opened_ms, closed_ms) = (row.int()?, row.opt_int()?);
        let closed = match closed_ms {
            None => None,
            Some(at_ms) => Some(Closed {
                at_ms,
                action: row.text()?,
                who: row.text()?,
                why: row.text()?,
            }),
        };
        Ok(ReviewItem {
            id,
            version,
            run,
            flow_id,
            flow,
            key,
            context,
            subject,
            opened_ms,
            closed,
        })
    })
}

fn about_step(row: &mut Row, step: Id) -> std::result::Result<ReviewSubject, Bad> {
    let (name, connection, action) = (row.text()?, row.text()?, row.text()?);
    let (last_error, resend_until_ms, last_try_ms) = (row.opt_text()?, row.opt_int()?, row.opt_int()?);
    // All tries, also those before a person allowed more.
    let attempts = row.small()?;
    let (reason, may_exist) = (row.json()?, row.flag()?);
    Ok(ReviewSubject::Step {
        step,
        name,
        connection,
        action,
        reason,
        may_exist,
        last_error,
        attempts,
        last_try_ms,
        resend_until_ms,
    })
}

/// Items, newest first.
pub(super) async fn list(conn: &mut Conn<'_>, all: bool, page: Page) -> Result<Items<ReviewItem>> {
    let after = page.after.unwrap_or(Id::from_bytes([0xff; 16]));
    let values = vec![Value::id(after), Value::number(limit(page) + 1)];
    let rows = conn.query(if all { ALL } else { OPEN }, values).await?;
    Ok(paged(
        rows.into_iter().map(item).collect::<Result<_>>()?,
        page,
        |item: &ReviewItem| item.id,
    ))
}

/// An item with its run.
pub(super) async fn show(conn: &mut Conn<'_>, id: Id) -> Result<Option<ReviewDetail>> {
    let Some(row) = conn.query(ONE, vec![Value::id(id)]).await?.pop() else {
        return Ok(None);
    };
    let item = item(row)?;
    let Some(run) = read_runs::show(conn, item.run).await? else {
        return Ok(None);
    };
    let conflicting = match &item.subject {
        ReviewSubject::Conflict { event } => Some(read_runs::event_of(conn, *event).await?),
        ReviewSubject::Step { .. } => None,
    };
    Ok(Some(ReviewDetail { item, run, conflicting }))
}

/// The items of a run, oldest first.
pub(super) async fn of_run(conn: &mut Conn<'_>, run: Id) -> Result<Vec<ReviewItem>> {
    conn.query(OF_RUN, vec![Value::id(run)])
        .await?
        .into_iter()
        .map(item)
        .collect()
}

/// The open item of a step.
pub(super) async fn of_step(conn: &mut Conn<'_>, step: Id) -> Result<Option<ReviewItem>> {
    conn.query(OF_STEP, vec![Value::id(step)])
        .await?
        .pop()
        .map(item)
        .transpose()
}
