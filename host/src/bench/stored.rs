//! What a long history costs where it could: whether a key is known, and which work is due, asked of a ledger on PostgreSQL
//! with so many finished runs in it. No host and no load: the ledger's own commands.

use super::figures::rounded;
use super::fill::{Backlog, Filler, Others, fill};
use super::installation::CONNECTION;
use super::percentile::nearest_rank;
use super::stage::Stage;
use crate::clock::{Clock, SystemClock, monotonic_ns};
use crate::ledger::{Accepted, DueStep, Ledger, Opening, STORED_KEY, store_history};
use anyhow::ensure;
use futures::future::try_join_all;
use rand::RngExt;
use serde::Serialize;
use std::sync::Arc;

/// Duplicates that are asked about together, as a busy writer does it, and how often.
const TOGETHER: u64 = 64;
const GROUPS: usize = 200;
/// Steps that a host has left, and how many of them another claims at a time.
const LEFT: u64 = 10_000;
const CLAIMED: u32 = 100;
/// Not counted: statements are prepared, pages come into memory.
const WARM_UP: usize = 20;

/// What it costs, for one event or step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Finished runs in the ledger.
    pub stored: u64,
    /// To find that an event is a duplicate, and to note that: of 64 that come together, the share of one, in microseconds.
    pub duplicate_p50_us: f64,
    /// The same.
    pub duplicate_p99_us: f64,
    /// To find due steps of a host that is gone, and to claim their runs: of a hundred, the share of one, in microseconds.
    pub claim_p50_us: f64,
    /// The same.
    pub claim_p99_us: f64,
}

impl Stage {
    /// Lets the ledger have so many finished runs, of which it has `from` already, and measures.
    ///
    /// # Errors
    /// The bench itself failed.
    pub fn stored(&mut self, from: u64, runs: u64, say: impl FnMut(u64)) -> anyhow::Result<Row> {
        let backlog = Backlog {
            first: self.take_numbers(LEFT),
            events: LEFT,
            under_way: 0,
            others: Others::Ready,
        };
        let (data, database) = (self.data(), self.database().clone());
        let runtime = tokio::runtime::Runtime::new()?;
        let opening = Opening {
            database: database.clone(),
            ..Opening::default()
        };
        let opened = || Ledger::open_with(&data, Arc::new(SystemClock), &opening);
        runtime.block_on(async {
            let ledger = opened().await?;
            let flow = Filler::new(&ledger, backlog).await?.flow_id();
            ledger.close().await;
            store_history(&database, flow, from..runs, say).await?;
            anyhow::Ok(())
        })?;
        fill(&data, &database, backlog)?;
        runtime.block_on(async {
            let ledger = opened().await?;
            let row = measure(&ledger, backlog, runs).await;
            ledger.close().await;
            row
        })
    }
}

async fn measure(ledger: &Ledger, backlog: Backlog, runs: u64) -> anyhow::Result<Row> {
    let claimed = per_one(claim(ledger).await?, CLAIMED.into());
    let filler = Filler::new(ledger, backlog).await?;
    let duplicates = per_one(duplicates(ledger, &filler, runs).await?, TOGETHER);
    let at = |sorted: &[u64], per_mille| rounded(nearest_rank(sorted, per_mille) as f64 / 1e3);
    Ok(Row {
        stored: runs,
        duplicate_p50_us: at(&duplicates, 500),
        duplicate_p99_us: at(&duplicates, 990),
        claim_p50_us: at(&claimed, 500),
        claim_p99_us: at(&claimed, 990),
    })
}

/// What one of a group took, in nanoseconds, without the first groups and in order.
fn per_one(taken_ns: Vec<u64>, group: u64) -> Vec<u64> {
    let mut ns: Vec<u64> = taken_ns.into_iter().skip(WARM_UP).map(|ns| ns / group).collect();
    ns.sort_unstable();
    ns
}

/// Events whose keys are stored, anywhere in the history.
async fn duplicates(ledger: &Ledger, filler: &Filler<'_>, runs: u64) -> anyhow::Result<Vec<u64>> {
    let mut taken_ns = Vec::with_capacity(GROUPS);
    for _ in 0..GROUPS {
        let events =
            (0..TOGETHER).map(|_| filler.stored(&format!("{STORED_KEY}{}", rand::rng().random_range(0..runs))));
        let events = events.collect::<anyhow::Result<Vec<_>>>()?;
        let from_ns = monotonic_ns();
        let accepted = try_join_all(events.into_iter().map(|event| ledger.accept(event))).await?;
        taken_ns.push(monotonic_ns() - from_ns);
        let known = accepted
            .iter()
            .all(|accepted| matches!(accepted, Accepted::Duplicate { .. }));
        ensure!(known, "a stored event was not known");
    }
    Ok(taken_ns)
}

/// All that the host before has left, page by page.
async fn claim(ledger: &Ledger) -> anyhow::Result<Vec<u64>> {
    let (mut taken_ns, mut after, mut claimed) = (Vec::new(), None, 0);
    // What an earlier measurement has claimed is left behind as well.
    while claimed < LEFT {
        let (from_ns, now_ms) = (monotonic_ns(), SystemClock.now_ms());
        let page = ledger.due_steps(CONNECTION, now_ms, after, CLAIMED).await?;
        let Some(last) = page.last().map(DueStep::cursor) else {
            break;
        };
        let owned = ledger.take_over(page.iter().map(|due| due.run).collect()).await?;
        taken_ns.push(monotonic_ns() - from_ns);
        claimed += owned.len() as u64;
        after = Some(last);
    }
    let enough = taken_ns.len() > WARM_UP;
    ensure!(
        claimed >= LEFT && enough,
        "{claimed} steps were claimed, and {LEFT} were left"
    );
    Ok(taken_ns)
}
