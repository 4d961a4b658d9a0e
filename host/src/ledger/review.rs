//! Review items: what waits for a person. A step that enters review opens one, a step that leaves it closes it.

use super::StepWrite;
use super::database::{Conn, Value};
use super::{LedgerError, Result, new_id};
use oncegate_domain::id::Id;
use oncegate_domain::step::State;

const OPEN: &str = "INSERT INTO review_items (id, version, run_id, step_id, reason, may_exist, opened_ms)
    VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6)";
const CHANGE: &str = "UPDATE review_items SET version = version + 1, reason = ?2, may_exist = ?3
    WHERE id = ?1 AND closed_ms IS NULL";
const CLOSE: &str = "UPDATE review_items SET version = version + 1, closed_ms = ?3, action = ?4, who = ?5, why = ?6,
    stated_absent = ?7, new_run_id = ?8 WHERE id = ?1 AND version = COALESCE(?2, version) AND closed_ms IS NULL
    RETURNING id, run_id, step_id, event_id";
const LINK: &str = "UPDATE steps SET review_item = ?2 WHERE id = ?1";

/// How an item is closed.
pub(super) struct Closing<'a> {
    pub at_ms: i64,
    pub action: &'a str,
    pub who: &'a str,
    pub why: &'a str,
    pub stated_absent: bool,
    pub new_run: Option<Id>,
}

impl Closing<'static> {
    /// The host found out by itself.
    pub(super) fn settled(at_ms: i64) -> Self {
        Closing {
            at_ms,
            action: "settled",
            who: "host",
            why: "",
            stated_absent: false,
            new_run: None,
        }
    }
}

/// What a closed item was about.
pub(super) struct About {
    pub run: Id,
    pub step: Option<Id>,
    pub event: Option<Id>,
}

/// Opens, changes or closes the item of a step that was just written; returns the item that was opened.
pub(super) async fn follow(
    conn: &mut Conn<'_>,
    run: Id,
    write: &StepWrite,
    open: Option<Id>,
    closing: &Closing<'_>,
) -> Result<Option<Id>> {
    let step = &write.after;
    // Not a wildcard: a new state must say whether it is a person's.
    let reason = match &step.state {
        State::NeedsReview { reason } => Some(reason),
        State::Pending
        | State::Processing
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelling { .. }
        | State::Cancelled => None,
    };
    match (reason, open) {
        (None, None) => Ok(None),
        (None, Some(item)) => {
            close(conn, item, None, closing).await?;
            conn.query(LINK, vec![Value::id(write.id), Value::opt_id(None)]).await?;
            Ok(None)
        }
        (Some(reason), Some(item)) => {
            conn.query(
                CHANGE,
                vec![Value::id(item), Value::json(reason), Value::flag(step.in_doubt())],
            )
            .await?;
            Ok(None)
        }
        (Some(reason), None) => {
            let item = new_id(closing.at_ms);
            let values = vec![
                Value::id(item),
                Value::id(run),
                Value::id(write.id),
                Value::json(reason),
                Value::flag(step.in_doubt()),
                Value::int(closing.at_ms),
            ];
            conn.query(OPEN, values).await?;
            conn.query(LINK, vec![Value::id(write.id), Value::id(item)]).await?;
            Ok(Some(item))
        }
    }
}

/// Closes an item, where `version` is given by compare-and-set: two people cannot both win.
pub(super) async fn close(conn: &mut Conn<'_>, item: Id, version: Option<i64>, closing: &Closing<'_>) -> Result<About> {
    let values = vec![
        Value::id(item),
        Value::Int(version),
        Value::int(closing.at_ms),
        Value::text(closing.action),
        Value::text(closing.who),
        Value::text(closing.why),
        Value::flag(closing.stated_absent),
        Value::opt_id(closing.new_run),
    ];
    if let Some(row) = conn.query(CLOSE, values).await?.pop() {
        return row.decode("review_items", |row| {
            row.id()?;
            Ok(About {
                run: row.id()?,
                step: row.opt_id()?,
                event: row.opt_id()?,
            })
        });
    }
    let known = conn
        .query("SELECT id FROM review_items WHERE id = ?1", vec![Value::id(item)])
        .await?;
    Err(if known.is_empty() {
        LedgerError::NotFound {
            what: "review item",
            id: item.to_string(),
        }
    } else {
        LedgerError::Stale {
            what: "review item",
            id: item,
            version: version.unwrap_or_default(),
        }
    })
}
