//! What the host does first: it reads what an earlier process left under way. The ledger is read as it stands (DESIGN
//! section 5): an intent without evidence may have been sent; without an intent nothing was.

use super::Shared;
use super::live::RunCell;
use super::settle::{Abandoned, Change};
use crate::ledger::{AttemptEnd, AttemptKind, ConnectionWait, DueStep};
use futures::future::join_all;
use oncegate_domain::evidence::Evidence;
use oncegate_domain::id::Id;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::step::{self, Wait};
use std::sync::Arc;

const PAGE: u32 = 500;

/// Settles every step that an earlier process left under way; how many there were.
pub async fn recover(shared: &Arc<Shared>) -> Result<usize, Abandoned> {
    for wait in shared.ledger.waits().await? {
        keep_waiting(shared, wait);
    }
    settle_all(shared).await
}

/// The same, without a look at what connections wait for.
pub(super) async fn settle_all(shared: &Arc<Shared>) -> Result<usize, Abandoned> {
    let mut after = None;
    let mut found = 0;
    loop {
        let page = shared.ledger.under_way(after, PAGE).await?;
        let mut owned: Vec<DueStep> = page.iter().map(|under_way| under_way.step).collect();
        shared.own(&mut owned).await?;
        let runs: Vec<Id> = owned.iter().map(|due| due.run).collect();
        let cells = shared.readable_cells(&runs).await?;
        // Together, so that the ledger commits them together: one after the other, each would wait for the disk.
        let settling = owned.iter().filter_map(|due| {
            let cell = cells.get(&due.run)?;
            Some(settle(shared, cell, due.id))
        });
        for settled in join_all(settling).await {
            match settled {
                Ok(settled) => found += usize::from(settled),
                Err(Abandoned::Illegal(why)) => tracing::debug!(%why, "a step that was left behind moved on meanwhile"),
                Err(error) => error.unless_overtaken()?,
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE as usize => after = Some(last.step.id),
            Some(_) | None => return Ok(found),
        }
    }
}

async fn settle(shared: &Arc<Shared>, cell: &Arc<RunCell>, step: Id) -> Result<bool, Abandoned> {
    let index = cell.steps.lock().await.iter().position(|live| live.id == step);
    match index {
        Some(index) => settle_left(shared, cell, index).await,
        None => Ok(false),
    }
}

/// Settles a step that its owner left under way, if it was: it may have been sent.
pub(super) async fn settle_left(shared: &Arc<Shared>, cell: &Arc<RunCell>, index: usize) -> Result<bool, Abandoned> {
    let live = cell.steps.lock().await[index].clone();
    let at_ms = shared.clock.now_ms();
    let (Some(open), Some(event)) = (live.standing.open_intent, step::recover(&live.standing, at_ms)) else {
        return Ok(false);
    };
    let why = "the host stopped before it knew what became of the request".to_owned();
    let attempt = AttemptEnd {
        // The open one is the latest: nothing is tried beside it.
        number: live.last_number,
        kind: AttemptKind::Perform,
        has_intent: true,
        place: None,
        evidence: Evidence::MaybeSent,
        status: None,
        report: None,
        outcome: Some(Outcome::Unknown),
        finding: None,
        message: Some(why.clone()),
        started_ms: open.at_ms,
        ended_ms: at_ms,
    };
    let change = Change {
        attempt: Some(attempt),
        ..Change::of(event).with_error(why)
    };
    shared.settle(cell, index, change).await?;
    Ok(true)
}

/// A destination that asked for a pause is left alone after a restart as well, and one that was away, or whose credentials
/// were refused, is looked at before more than one step goes. Where hosts share a ledger each tells the others what it found
/// out, and that is newer than what a step was told that waits.
fn keep_waiting(shared: &Arc<Shared>, wait: ConnectionWait) {
    let Some(gate) = shared.gate_of(&wait.connection) else {
        return;
    };
    let until_ms = wait.until_ms;
    let is_told = shared.ledger.neighbours().is_some();
    match wait.reason {
        Wait::RateLimited | Wait::ConnectionBlocked | Wait::BreakerOpen if is_told => {}
        Wait::RateLimited => gate.pause_until(until_ms),
        Wait::ConnectionBlocked => {
            let now_ms = shared.clock.now_ms();
            gate.credentials(|credentials| credentials.was_blocked(wait.why, until_ms, now_ms));
        }
        Wait::BreakerOpen => gate.was_open(until_ms),
        // Where the pause is over, the host may have gone down before it called back all who wait for that.
        Wait::Paused => drop(shared.tasks.spawn(Arc::clone(shared).call_back(wait.connection))),
        Wait::Timer | Wait::Approval | Wait::InOrder => {}
    }
}
