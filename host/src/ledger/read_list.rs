//! Runs as people list them, newest first. There is no index for what people search by: it would cost every event. So a
//! search reads runs one after the other, so many at most, and says where it stopped.

use super::database::{Conn, Value};
use super::read_runs::{duplicates, read_summary};
use super::rows::{Row, run_state_word};
use super::{Items, LookedThrough, PAGE_ITEMS_MAX, Page, Result, RunFilter, RunSummary};
use oncegate_domain::id::Id;
use oncegate_domain::run;

/// Runs that one search looks through at most.
pub const RUNS_SEARCHED_MAX: u32 = 5_000;

/// Said in this way, what is asked for is tested run by run, and no other index lures the planner away from the order. For
/// the same reason the flow's name is looked up and not joined: the planner could begin with the flows, and then read all
/// runs of one. A macro, because statements are fixed text.
macro_rules! runs {
    ($first:literal) => {
        concat!(
            "SELECT runs.id, runs.flow_id, (SELECT flows.name FROM flows WHERE flows.id = runs.flow_id), runs.event_key,
               runs.context, runs.state, ",
            duplicates!(),
            ", runs.created_ms, runs.finished_ms, runs.erased_ms FROM runs WHERE ",
            $first,
            "runs.id < ?1 AND runs.id >= ?2 AND (?3 IS NULL OR runs.flow_id = ?3) AND (?4 IS NULL OR runs.state = ?4)
               AND (?5 IS NULL OR runs.event_key LIKE ?5 ESCAPE '\\' OR runs.context LIKE ?5 ESCAPE '\\')
             ORDER BY runs.id DESC LIMIT ?6"
        )
    };
}

pub(super) const ANY: &str = runs!("");
/// By the index of runs that are not completed.
pub(super) const NOT_COMPLETED: &str = runs!("runs.state <> 'completed' AND runs.state = ?4 AND ");
/// The last run that a search looks at, and one more where there is more.
pub(super) const BOUND: &str = "SELECT id FROM runs WHERE id < ?1 ORDER BY id DESC LIMIT 2 OFFSET ?2";
pub(super) const BOUND_NOT_COMPLETED: &str = "SELECT id FROM runs WHERE state <> 'completed' AND state = ?3 AND id < ?1
    ORDER BY id DESC LIMIT 2 OFFSET ?2";

/// How a listing finds its runs.
struct Way {
    runs: &'static str,
    bound: &'static str,
    /// It may pass over runs, so that it needs a bound.
    searches: bool,
}

impl Way {
    fn of(filter: &RunFilter) -> Self {
        let searches = filter.flow_id.is_some() || filter.text.is_some();
        let (runs, bound, searches) = match filter.state {
            None => (ANY, BOUND, searches),
            Some(run::State::Completed) => (ANY, BOUND, true),
            Some(
                run::State::Pending
                | run::State::Processing
                | run::State::Retrying
                | run::State::Waiting
                | run::State::Failed
                | run::State::NeedsReview
                | run::State::Cancelling
                | run::State::Cancelled,
            ) => (NOT_COMPLETED, BOUND_NOT_COMPLETED, searches),
        };
        Self { runs, bound, searches }
    }
}

/// Runs, newest first.
pub(super) async fn list(conn: &mut Conn<'_>, filter: &RunFilter, page: Page) -> Result<Items<RunSummary>> {
    let way = Way::of(filter);
    let before = page.after.unwrap_or(Id::from_bytes([0xff; 16]));
    let state = filter.state.map(run_state_word);
    let bound = match way.searches {
        true => bound(conn, way.bound, before, state).await?,
        false => None,
    };
    let values = vec![
        Value::id(before),
        Value::id(bound.unwrap_or(Id::from_bytes([0; 16]))),
        Value::opt_id(filter.flow_id),
        Value::opt_text(state),
        Value::opt_text(filter.text.as_deref().map(contains)),
        Value::number(limit(page) + 1),
    ];
    let rows = conn.query(way.runs, values).await?;
    let read = rows.into_iter().map(|row| row.decode("runs", read_summary));
    let found = paged(read.collect::<Result<_>>()?, page, |run: &RunSummary| run.id);
    Ok(match (found.next, bound) {
        (None, Some(last)) => Items {
            next: Some(last),
            stopped: Some(LookedThrough {
                items: RUNS_SEARCHED_MAX,
                back_to_ms: last.made_ms(),
            }),
            ..found
        },
        (Some(_), _) | (None, None) => found,
    })
}

/// The last run that a search looks at; `None`: there are no more than it may look at.
async fn bound(conn: &mut Conn<'_>, sql: &'static str, before: Id, state: Option<&'static str>) -> Result<Option<Id>> {
    let mut values = vec![Value::id(before), Value::number(RUNS_SEARCHED_MAX - 1)];
    if sql == BOUND_NOT_COMPLETED {
        values.push(Value::opt_text(state));
    }
    let rows = conn.query(sql, values).await?;
    let ids = rows.into_iter().map(|row| row.decode("runs", Row::id));
    Ok(match ids.collect::<Result<Vec<Id>>>()?.as_slice() {
        [last, _] => Some(*last),
        _ => None,
    })
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
        stopped: None,
    }
}
