//! Erasing what runs held: payloads, answers and words. What stays is small and stays for ever: the key as its HMAC, the
//! fingerprint, the final state, ids and times, so that a late duplicate is still known. A run on which anything is left to do
//! is never touched.
//!
//! A batch is one transaction of few rows. It goes through history by id, which is by time, from where the batch before ended;
//! what it has to pass by is kept in a small table, so that nobody goes through history twice.

use super::Result;
use super::batch::Template;
use super::database::{Conn, Sql, Value};
use super::rows::Row;
use crate::clock::monotonic_ns;
use oncegate_domain::id::Id;
use std::sync::{Arc, LazyLock};

/// Runs of one transaction at most.
pub const RUNS_PER_ERASING_MAX: usize = 32;
/// When a run that was not over is looked at again.
const LOOK_AGAIN_MS: i64 = 6 * 3_600_000;

/// Takes the turn: on a shared database two hosts never go through the same part at once.
pub(super) const TURN: &str = "UPDATE erasing SET turns = turns + 1 WHERE one = 1 RETURNING position";
pub(super) const POSITION: &str = "SELECT position FROM erasing WHERE one = 1";
pub(super) const MOVE_ON: &str = "UPDATE erasing SET position = ?1 WHERE one = 1";
pub(super) const FRESH: &str = "SELECT id FROM runs WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3";
pub(super) const LATER: &str = "SELECT run_id FROM erasing_later WHERE due_ms <= ?1 ORDER BY due_ms, run_id LIMIT ?2";
static PUT_OFF: Template<2> = Template::insert(
    "erasing_later",
    &["run_id", "due_ms"],
    "ON CONFLICT (run_id) DO UPDATE SET due_ms = excluded.due_ms",
);

/// A statement over the runs of a batch: `…` stands for their ids, the first [`RUNS_PER_ERASING_MAX`] places. Places that a
/// batch does not need are null, which no id equals.
fn of_runs(text: &str) -> Arc<str> {
    let places: Vec<String> = (1..=RUNS_PER_ERASING_MAX).map(|place| format!("?{place}")).collect();
    text.replace('…', &places.join(", ")).into()
}

/// How a run stands, as far as erasing goes by it. Unknown words are not final: what cannot be read is not erased.
pub(super) static STANDING: LazyLock<Arc<str>> = LazyLock::new(|| {
    of_runs(
        "SELECT runs.id, runs.erased_ms,
           CASE WHEN runs.state IN ('completed', 'failed', 'cancelled') AND NOT EXISTS (SELECT 1 FROM steps
               WHERE steps.run_id = runs.id AND (steps.due_ms IS NOT NULL OR steps.in_doubt_since_ms IS NOT NULL
                 OR steps.review_item IS NOT NULL OR steps.state NOT IN ('completed', 'failed', 'skipped', 'cancelled')))
             THEN 1 ELSE 0 END,
           CASE WHEN EXISTS (SELECT 1 FROM steps WHERE steps.run_id = runs.id AND steps.in_doubt_since_ms IS NOT NULL)
             THEN 1 ELSE 0 END,
           CASE WHEN EXISTS (SELECT 1 FROM review_items
               WHERE review_items.run_id = runs.id AND review_items.closed_ms IS NULL) THEN 1 ELSE 0 END,
           COALESCE(runs.finished_ms, runs.created_ms),
           (SELECT MAX(review_items.closed_ms) FROM review_items WHERE review_items.run_id = runs.id)
         FROM runs WHERE runs.id IN (…)",
    )
});
const NOW: usize = RUNS_PER_ERASING_MAX + 1;
const NOTHING: usize = RUNS_PER_ERASING_MAX + 2;
/// Each statement with how many places it has: behind the ids the moment, then the empty body.
pub(super) static ERASE: LazyLock<Vec<(Arc<str>, usize)>> = LazyLock::new(|| {
    // The event of a run that a person made of a conflicting event goes with that run, not with the one that held the key.
    let emptied = format!(
        "headers = '{{}}', query = '{{}}', body = ?{NOTHING}, files = NULL, erased_ms = COALESCE(erased_ms, ?{NOW})"
    );
    let statements = [
        (
            format!("UPDATE events SET {emptied} WHERE id IN (SELECT runs.event_id FROM runs WHERE runs.id IN (…))"),
            NOTHING,
        ),
        (
            format!(
                "UPDATE events SET {emptied} WHERE run_id IN (…) AND kind <> 'first' AND kind = 'conflict'
                   AND NOT EXISTS (SELECT 1 FROM review_items
                     WHERE review_items.event_id = events.id AND review_items.new_run_id IS NOT NULL)"
            ),
            NOTHING,
        ),
        // A later step of the same natural key must still be known as later; the other attempts served their time.
        (
            "DELETE FROM attempts WHERE natural_key IS NULL AND step_id IN (SELECT steps.id FROM steps WHERE steps.run_id IN (…))"
                .to_owned(),
            RUNS_PER_ERASING_MAX,
        ),
        (
            "UPDATE attempts SET request_head = NULL, request_body = NULL, report = NULL, message = NULL, late_evidence = NULL,
               late_ms = NULL, late_outcome = NULL, late_output = NULL, late_reference = NULL
             WHERE step_id IN (SELECT steps.id FROM steps WHERE steps.run_id IN (…))"
                .to_owned(),
            RUNS_PER_ERASING_MAX,
        ),
        (
            "UPDATE steps SET version = version + 1, item = '', natural_key = NULL, input = NULL, output = NULL,
               reference = NULL, last_error = NULL, accepted_token = NULL WHERE run_id IN (…)"
                .to_owned(),
            RUNS_PER_ERASING_MAX,
        ),
        (
            "UPDATE review_items SET why = '' WHERE run_id IN (…) AND closed_ms IS NOT NULL".to_owned(),
            RUNS_PER_ERASING_MAX,
        ),
        (
            format!(
                "UPDATE runs SET event_key = '', context = '[]', erased_ms = COALESCE(erased_ms, ?{NOW}) WHERE id IN (…)"
            ),
            NOW,
        ),
        (
            "DELETE FROM erasing_later WHERE run_id IN (…)".to_owned(),
            RUNS_PER_ERASING_MAX,
        ),
    ];
    let statements = statements.into_iter();
    statements.map(|(text, places)| (of_runs(&text), places)).collect()
});

/// What a batch may erase.
#[derive(Clone, Copy, Debug)]
pub struct EraseOld {
    /// Runs that ended before this, and whose last review item was closed before it.
    pub ended_before_ms: i64,
    /// Now.
    pub now_ms: i64,
    /// At most so many runs are looked at; bounded by [`RUNS_PER_ERASING_MAX`].
    pub runs_max: usize,
}

/// What a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasedBatch {
    /// Runs that were looked at; 0: there was nothing left that is old enough.
    pub looked_at: usize,
    /// Runs that were erased.
    pub erased: usize,
    /// How long the one writer was at it.
    pub taken_ns: u64,
}

/// How a run stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub run: Id,
    pub erased_ms: Option<i64>,
    pub is_over: bool,
    pub in_doubt: bool,
    pub in_review: bool,
    /// When the last thing about it ended.
    pub ended_ms: i64,
}

/// How these runs stand, in no order; at most [`RUNS_PER_ERASING_MAX`].
pub(super) async fn standings(conn: &mut Conn<'_>, runs: &[Id]) -> Result<Vec<Standing>> {
    let read = |row: Row| {
        row.decode("runs", |row| {
            let (run, erased_ms) = (row.id()?, row.opt_int()?);
            let (is_over, in_doubt, in_review) = (row.flag()?, row.flag()?, row.flag()?);
            let (finished_ms, closed_ms) = (row.int()?, row.opt_int()?);
            Ok(Standing {
                run,
                erased_ms,
                is_over,
                in_doubt,
                in_review,
                ended_ms: closed_ms.map_or(finished_ms, |closed_ms| closed_ms.max(finished_ms)),
            })
        })
    };
    let rows = conn.query(Sql::Built(STANDING.clone()), places(runs)).await?;
    rows.into_iter().map(read).collect()
}

/// Erases runs on which nothing is left to do; at most [`RUNS_PER_ERASING_MAX`].
pub(super) async fn erase(conn: &mut Conn<'_>, runs: &[Id], now_ms: i64) -> Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    for (text, count) in ERASE.iter() {
        let mut values = places(runs);
        values.extend([Value::int(now_ms), Value::bytes(&[])]);
        values.truncate(*count);
        conn.query(Sql::Built(text.clone()), values).await?;
    }
    Ok(())
}

fn places(runs: &[Id]) -> Vec<Value<'static>> {
    debug_assert!(runs.len() <= RUNS_PER_ERASING_MAX, "more runs than a batch has");
    (0..RUNS_PER_ERASING_MAX)
        .map(|place| Value::opt_id(runs.get(place).copied()))
        .collect()
}

/// Whether a batch would find anything to look at.
pub(super) async fn is_due(conn: &mut Conn<'_>, what: &EraseOld) -> Result<bool> {
    let position = conn.query(POSITION, Vec::new()).await?.pop();
    let position = position
        .map(|row| row.decode("erasing", Row::opt_id))
        .transpose()?
        .flatten();
    Ok(!fresh(conn, position, what, 1).await?.is_empty() || !later(conn, what.now_ms, 1).await?.is_empty())
}

async fn fresh(conn: &mut Conn<'_>, position: Option<Id>, what: &EraseOld, limit: usize) -> Result<Vec<Id>> {
    let values = vec![
        Value::id(position.unwrap_or(Id::from_bytes([0; 16]))),
        // Ids carry the moment at which their run was accepted: one that ended before was accepted before.
        Value::id(Id::new(what.ended_before_ms, [0; 10])),
        Value::int(limit as i64),
    ];
    let rows = conn.query(FRESH, values).await?;
    rows.into_iter().map(|row| row.decode("runs", Row::id)).collect()
}

async fn later(conn: &mut Conn<'_>, now_ms: i64, limit: usize) -> Result<Vec<Id>> {
    let rows = conn
        .query(LATER, vec![Value::int(now_ms), Value::int(limit as i64)])
        .await?;
    rows.into_iter()
        .map(|row| row.decode("erasing_later", Row::id))
        .collect()
}

/// What is done about a run that history leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Erase,
    /// Something is left to do, or it ended not long ago: looked at again then.
    PutOff {
        due_ms: i64,
    },
    /// It is erased already.
    Leave,
}

fn verdict(standing: &Standing, was_put_off: bool, what: &EraseOld) -> Verdict {
    // Somebody asked for it before it was due. What came since (a conflict) would have put it off.
    if standing.erased_ms.is_some() && !was_put_off {
        return Verdict::Leave;
    }
    if !standing.is_over || standing.in_review {
        return Verdict::PutOff {
            due_ms: what.now_ms.saturating_add(LOOK_AGAIN_MS),
        };
    }
    if standing.ended_ms >= what.ended_before_ms {
        let kept_ms = what.now_ms.saturating_sub(what.ended_before_ms);
        return Verdict::PutOff {
            due_ms: standing.ended_ms.saturating_add(kept_ms).saturating_add(1),
        };
    }
    Verdict::Erase
}

/// One batch: from where the one before ended, and some of those that were put off.
pub(super) async fn batch(conn: &mut Conn<'_>, what: &EraseOld) -> Result<ErasedBatch> {
    let begun_ns = monotonic_ns();
    let limit = what.runs_max.clamp(2, RUNS_PER_ERASING_MAX);
    let position = conn.query(TURN, Vec::new()).await?.pop();
    let position = position
        .map(|row| row.decode("erasing", Row::opt_id))
        .transpose()?
        .flatten();
    // Neither may keep the other from its turn.
    let mut runs = later(conn, what.now_ms, limit / 2).await?;
    let fresh = fresh(conn, position, what, limit - runs.len()).await?;
    let put_off_before = runs.len();
    let new: Vec<Id> = fresh.iter().filter(|run| !runs.contains(run)).copied().collect();
    runs.extend(new);

    let (mut over, mut put_off) = (Vec::new(), Vec::new());
    for standing in standings(conn, &runs).await? {
        let was_put_off = runs[..put_off_before].contains(&standing.run);
        match verdict(&standing, was_put_off, what) {
            Verdict::Erase => over.push(standing.run),
            Verdict::PutOff { due_ms } => put_off.push((standing.run, due_ms)),
            Verdict::Leave => {}
        }
    }
    erase(conn, &over, what.now_ms).await?;
    let rows = put_off
        .iter()
        .map(|(run, due_ms)| [Value::id(*run), Value::int(*due_ms)]);
    PUT_OFF.change(conn, rows).await?;
    if let Some(last) = fresh.last() {
        conn.query(MOVE_ON, vec![Value::id(*last)]).await?;
    }
    Ok(ErasedBatch {
        looked_at: runs.len(),
        erased: over.len(),
        taken_ns: monotonic_ns().saturating_sub(begun_ns),
    })
}
