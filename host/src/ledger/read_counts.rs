//! What is in the ledger, counted without reading it: history is counted by its last row, and what is read is what is not
//! completed, through an index. A long backlog takes its time all the same, so a count that took long is kept for a while.

use super::Result;
use super::database::{Conn, Value};
use super::rows::Row;
use super::{Counts, EffectCount};
use crate::clock::monotonic_ns;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use serde_json::Value as Json;

/// Effects are counted in so many of the newest runs: in all of them it would be reading the whole history.
pub const RUNS_WITH_EFFECTS_COUNTED: u32 = 1_000;
/// What took no longer is not worth keeping.
const QUICK_NS: u64 = 10_000_000;
/// A count is kept for so many times as long as it took, so that whoever asks all the time takes a twentieth of a core.
const KEPT_TIMES: u64 = 20;

/// By the index of runs that are not completed, which holds nothing else.
pub(super) const NOT_COMPLETED: &str =
    "SELECT state, COUNT(*) FROM runs WHERE state <> 'completed' GROUP BY state ORDER BY state";
/// Each conflicting event has one item. Said as a range, so that the items of steps are passed over by the index of events.
pub(super) const CONFLICTS: &str = "SELECT COUNT(*), COUNT(new_run_id) FROM review_items WHERE event_id >= ?1";
pub(super) const OPEN_ITEMS: &str =
    "SELECT reason, COUNT(*) FROM review_items WHERE closed_ms IS NULL GROUP BY reason ORDER BY reason";
pub(super) const EFFECTS: &str = "SELECT (SELECT flows.name FROM flows WHERE flows.id = runs.flow_id) AS flow,
      steps.name, steps.connection, steps.action, COUNT(*)
    FROM runs JOIN steps ON steps.run_id = runs.id
    WHERE runs.id IN (SELECT newest.id FROM runs AS newest WHERE newest.id < ?1 ORDER BY newest.id DESC LIMIT ?2)
      AND steps.state = 'completed'
    GROUP BY 1, 2, 3, 4 ORDER BY 1, MIN(steps.ordinal)";

/// The count that was made last, where it is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    counts: Option<Counts>,
    until_ns: u64,
}

impl Kept {
    /// The count, as long as it may be given out.
    pub(super) fn get(&self) -> Option<&Counts> {
        self.counts.as_ref().filter(|_| monotonic_ns() < self.until_ns)
    }

    /// Keeps a count that was begun then.
    pub(super) fn keep(&mut self, counts: &Counts, begun_ns: u64) {
        let now_ns = monotonic_ns();
        let taken_ns = now_ns.saturating_sub(begun_ns);
        self.counts = (taken_ns > QUICK_NS).then(|| counts.clone());
        self.until_ns = now_ns.saturating_add(taken_ns.saturating_mul(KEPT_TIMES));
    }
}

/// Counts as of now.
pub(super) async fn counts(conn: &mut Conn<'_>, now_ms: i64) -> Result<Counts> {
    let (events, runs) = (conn.events_ever(), conn.runs_ever());
    let (events, runs) = (ever(conn, events).await?, ever(conn, runs).await?);
    let not_completed = by_word(conn, NOT_COMPLETED, "runs", Row::word::<run::State>).await?;
    let (conflicts, runs_of_conflicts): (u64, u64) = match conn
        .query(CONFLICTS, vec![Value::id(Id::from_bytes([0; 16]))])
        .await?
        .pop()
    {
        None => (0, 0),
        Some(row) => row.decode("review_items", |row| Ok((row.small()?, row.small()?)))?,
    };
    let completed = runs.saturating_sub(not_completed.iter().map(|(_, count)| count).sum());
    // What is left of the events: neither kept for a person nor the first of a run.
    let firsts = runs.saturating_sub(runs_of_conflicts);
    let mut by_state = not_completed;
    by_state.extend((completed > 0).then_some((run::State::Completed, completed)));
    by_state.sort_by_key(|(state, _)| state.as_str());
    let open = by_word(conn, OPEN_ITEMS, "review_items", Row::json::<Json>).await?;
    Ok(Counts {
        counted_ms: now_ms,
        events,
        runs: by_state,
        duplicates: events.saturating_sub(conflicts).saturating_sub(firsts),
        conflicts,
        effects: effects(conn).await?,
        effects_in_runs: runs.min(RUNS_WITH_EFFECTS_COUNTED.into()),
        review: open
            .into_iter()
            .map(|(reason, count)| (reason_words(&reason), count))
            .collect(),
    })
}

/// How many rows a table has ever had.
async fn ever(conn: &mut Conn<'_>, sql: &'static str) -> Result<u64> {
    match conn.query(sql, Vec::new()).await?.pop() {
        None => Ok(0),
        Some(row) => row.decode("a table", Row::small),
    }
}

/// Words with how often each occurs.
async fn by_word<T>(
    conn: &mut Conn<'_>,
    sql: &'static str,
    table: &'static str,
    word: fn(&mut Row) -> std::result::Result<T, super::rows::Bad>,
) -> Result<Vec<(T, u64)>> {
    let rows = conn.query(sql, Vec::new()).await?;
    let read = |row: Row| row.decode(table, |row| Ok((word(row)?, row.small()?)));
    rows.into_iter().map(read).collect()
}

async fn effects(conn: &mut Conn<'_>) -> Result<Vec<EffectCount>> {
    let values = vec![
        Value::id(Id::from_bytes([0xff; 16])),
        Value::number(RUNS_WITH_EFFECTS_COUNTED),
    ];
    let rows = conn.query(EFFECTS, values).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_kept_only_where_it_took_long() {
        let mut kept = Kept::default();
        kept.keep(&Counts::default(), monotonic_ns());
        assert!(kept.get().is_none());
        kept.keep(&Counts::default(), monotonic_ns().saturating_sub(60_000_000_000));
        assert!(kept.get().is_some());
        kept.until_ns = monotonic_ns();
        assert!(kept.get().is_none());
    }
}
