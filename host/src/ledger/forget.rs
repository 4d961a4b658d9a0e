//! Forgetting a person: which runs are about them, and erasing those now. There is no index for it: it would cost every event.
//! So a search goes through history from the oldest run to the newest, a part at a time, and says how far it came.

use super::database::{Conn, Value};
use super::decide::audit;
use super::erase::{self, RUNS_PER_ERASING_MAX, Standing};
use super::rows::Row;
use super::{AuditEntry, Result};
use crate::flow::ContextItem;
use oncegate_domain::id::Id;

/// Runs that one part of a search looks through.
pub const RUNS_PER_SEARCH: u32 = 5_000;
/// Runs that are in memory together while it does.
const RUNS_AT_ONCE: u32 = 500;
/// Conflicting events of one page.
pub const CONFLICTS_PER_PAGE: u32 = 500;

pub(super) const CONTEXTS: &str = "SELECT id, context, erased_ms FROM runs WHERE id > ?1 ORDER BY id LIMIT ?2";
/// Those that became runs of their own are found as such.
pub(super) const CONFLICTS: &str = "SELECT review_items.event_id, review_items.id, review_items.run_id,
      review_items.closed_ms
    FROM review_items JOIN events ON events.id = review_items.event_id
    WHERE review_items.event_id > ?1 AND review_items.event_id <= ?2 AND review_items.new_run_id IS NULL
      AND events.erased_ms IS NULL
    ORDER BY review_items.event_id LIMIT ?3";
pub(super) const ERASE_EVENT: &str = "UPDATE events SET headers = '{}', query = '{}', body = ?3, files = NULL, erased_ms = ?2
    WHERE id = ?1 AND erased_ms IS NULL AND EXISTS (SELECT 1 FROM review_items
      WHERE review_items.event_id = events.id AND review_items.closed_ms IS NOT NULL AND review_items.new_run_id IS NULL)
    RETURNING id";

/// A business word that a run must be about, as it stands: name and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its name in the flow's context.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Word {
    /// Whether all of the words are among these.
    pub fn are_all_in(words: &[Word], context: &[ContextItem]) -> bool {
        let is_in = |word: &Word| {
            let mut items = context.iter();
            items.any(|item| item.name == word.name && item.value == word.value)
        };
        words.iter().all(is_in)
    }
}

/// One part of a search.
#[derive(Clone, Debug)]
pub struct RunsAbout {
    /// Runs that are about it and are not erased, oldest first.
    pub runs: Vec<Id>,
    /// Runs that this part looked through.
    pub looked_at: u32,
    /// This part ends with this id, and the next one begins behind it.
    pub up_to: Id,
    /// There is a next part.
    pub more: bool,
}

/// A conflicting event that has its body.
#[derive(Clone, Copy, Debug)]
pub struct ConflictingEvent {
    /// The event.
    pub event: Id,
    /// Its review item.
    pub item: Id,
    /// The run that holds the key.
    pub run: Id,
    /// Nobody has decided about it.
    pub is_open: bool,
}

/// What is to be erased now.
#[derive(Clone, Debug)]
pub struct Forget {
    /// Runs; at most [`RUNS_PER_ERASING_MAX`].
    pub runs: Vec<Id>,
    /// Conflicting events that made no run.
    pub events: Vec<Id>,
    /// Who.
    pub who: String,
    /// Why, without the personal value.
    pub why: String,
    /// When.
    pub at_ms: i64,
}

/// Why a run was not erased: on what somebody, or the host, must end first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It, or a conflicting event under its key, is in front of a person.
    InReview,
    /// Whether a step took effect is not known.
    InDoubt,
    /// It is not over.
    NotOver,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// Runs that were erased, or would be.
    pub runs: Vec<Id>,
    /// Runs that were not.
    pub kept: Vec<(Id, Kept)>,
    /// Conflicting events that were erased, or would be.
    pub events: Vec<Id>,
}

/// Looks through one part of history.
pub(super) async fn search(conn: &mut Conn<'_>, words: &[Word], after: Option<Id>) -> Result<RunsAbout> {
    let mut part = RunsAbout {
        runs: Vec::new(),
        looked_at: 0,
        up_to: after.unwrap_or(Id::from_bytes([0; 16])),
        more: true,
    };
    while part.more && part.looked_at < RUNS_PER_SEARCH {
        let rows = conn
            .query(CONTEXTS, vec![Value::id(part.up_to), Value::number(RUNS_AT_ONCE)])
            .await?;
        part.more = rows.len() == RUNS_AT_ONCE as usize;
        for row in rows {
            let (run, context, erased_ms) = row.decode("runs", |row| {
                let (run, context): (Id, Vec<ContextItem>) = (row.id()?, row.json()?);
                Ok((run, context, row.opt_int()?))
            })?;
            part.looked_at += 1;
            part.up_to = run;
            if erased_ms.is_none() && Word::are_all_in(words, &context) {
                part.runs.push(run);
            }
        }
    }
    if !part.more {
        part.up_to = Id::from_bytes([u8::MAX; 16]);
    }
    Ok(part)
}

/// Conflicting events with their bodies behind `after`, up to `up_to`, oldest first: a page of [`CONFLICTS_PER_PAGE`].
pub(super) async fn conflicts(conn: &mut Conn<'_>, after: Id, up_to: Id) -> Result<Vec<ConflictingEvent>> {
    let values = vec![Value::id(after), Value::id(up_to), Value::number(CONFLICTS_PER_PAGE)];
    let read = |row: Row| {
        row.decode("review_items", |row| {
            Ok(ConflictingEvent {
                event: row.id()?,
                item: row.id()?,
                run: row.id()?,
                is_open: row.opt_int()?.is_none(),
            })
        })
    };
    conn.query(CONFLICTS, values).await?.into_iter().map(read).collect()
}

/// Which of these runs could be erased now; those that are erased are in neither list.
pub(super) async fn sorted(conn: &mut Conn<'_>, runs: &[Id]) -> Result<Forgotten> {
    let mut sorted = Forgotten::default();
    for part in runs.chunks(RUNS_PER_ERASING_MAX) {
        for standing in erase::standings(conn, part).await? {
            match kept(&standing) {
                Some(why) => sorted.kept.push((standing.run, why)),
                None if standing.erased_ms.is_none() => sorted.runs.push(standing.run),
                None => {}
            }
        }
    }
    Ok(sorted)
}

fn kept(standing: &Standing) -> Option<Kept> {
    match standing {
        Standing { in_review: true, .. } => Some(Kept::InReview),
        Standing { in_doubt: true, .. } => Some(Kept::InDoubt),
        Standing { is_over: false, .. } => Some(Kept::NotOver),
        Standing { is_over: true, .. } => None,
    }
}

/// Erases what can be, with a line in the trail for each.
pub(super) async fn forget(conn: &mut Conn<'_>, forget: &Forget) -> Result<Forgotten> {
    let mut forgotten = sorted(conn, &forget.runs).await?;
    for part in forgotten.runs.chunks(RUNS_PER_ERASING_MAX) {
        erase::erase(conn, part, forget.at_ms).await?;
    }
    for run in &forgotten.runs {
        audit(conn, &entry(forget, "run.forget", *run)).await?;
    }
    for event in &forget.events {
        let values = vec![Value::id(*event), Value::int(forget.at_ms), Value::bytes(&[])];
        if !conn.query(ERASE_EVENT, values).await?.is_empty() {
            audit(conn, &entry(forget, "event.forget", *event)).await?;
            forgotten.events.push(*event);
        }
    }
    Ok(forgotten)
}

fn entry(forget: &Forget, what: &str, subject: Id) -> AuditEntry {
    AuditEntry {
        at_ms: forget.at_ms,
        who: forget.who.clone(),
        what: what.to_owned(),
        subject: subject.to_string(),
        why: forget.why.clone(),
    }
}
