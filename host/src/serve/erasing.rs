//! Retention: what ended long ago is erased beside the load, in batches so small that no event waits long for one, with pauses in
//! between.

use crate::clock::SharedClock;
use crate::config::Keep;
use crate::ledger::{EraseOld, ErasedBatch, Ledger, LedgerError, RUNS_PER_ERASING_MAX};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often somebody looks whether something has become old.
const LOOK_EVERY_MS: i64 = 60_000;
/// The writer should be at one batch no longer than this: an event that comes meanwhile waits for it.
const BATCH_NS_WANTED: u64 = 4_000_000;
/// Pauses are so many times as long as the batch before: erasing gets a fifth of the writer, however much there is.
const PAUSE_TIMES: u64 = 4;
const PAUSE_NS_MIN: u64 = 2_000_000;
const RUNS_FIRST: usize = 8;

/// How many runs the next batch has, by how long the one before took.
struct Pace {
    runs: usize,
}

impl Pace {
    fn next(&mut self, batch: &ErasedBatch) -> Duration {
        self.runs = match batch.taken_ns {
            0..BATCH_NS_WANTED => (self.runs + 2).min(RUNS_PER_ERASING_MAX),
            BATCH_NS_WANTED.. => (self.runs / 2).max(2),
        };
        Duration::from_nanos(batch.taken_ns.saturating_mul(PAUSE_TIMES).max(PAUSE_NS_MIN))
    }
}

/// Erases what is old, until the host is told to stop.
pub(super) async fn run(ledger: Ledger, clock: SharedClock, keep: Keep, stop: CancellationToken) {
    let Some(keep_ms) = keep.ms() else { return };
    let mut pace = Pace { runs: RUNS_FIRST };
    while !stop.is_cancelled() {
        let next_look_ms = clock.now_ms().saturating_add(LOOK_EVERY_MS);
        match all_that_is_old(&ledger, &clock, keep_ms, &mut pace, &stop).await {
            Ok(0) => {}
            Ok(erased) => tracing::info!(erased, "payloads and answers of old runs were erased"),
            Err(error) if error.is_unavailable() => {
                tracing::debug!(%error, "nothing is erased for now");
            }
            Err(error) => tracing::error!(%error, "old runs cannot be erased; it is tried again in a minute"),
        }
        tokio::select! {
            () = clock.sleep_until(next_look_ms) => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Batch by batch, until there is nothing left that is old; how many runs were erased.
async fn all_that_is_old(
    ledger: &Ledger,
    clock: &SharedClock,
    keep_ms: i64,
    pace: &mut Pace,
    stop: &CancellationToken,
) -> Result<u64, LedgerError> {
    let mut erased = 0;
    while !stop.is_cancelled() {
        let now_ms = clock.now_ms();
        let what = EraseOld {
            ended_before_ms: now_ms.saturating_sub(keep_ms),
            now_ms,
            runs_max: pace.runs,
        };
        let batch = ledger.erase_old(what).await?;
        if batch.looked_at == 0 {
            break;
        }
        erased += batch.erased as u64;
        tokio::select! {
            () = tokio::time::sleep(pace.next(&batch)) => {}
            () = stop.cancelled() => {}
        }
    }
    Ok(erased)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_while_they_are_quick_and_shrink_when_one_was_not() {
        let mut pace = Pace { runs: RUNS_FIRST };
        let batch = |taken_ns| ErasedBatch {
            taken_ns,
            ..ErasedBatch::default()
        };
        for _ in 0..100 {
            assert_eq!(pace.next(&batch(1_000)), Duration::from_millis(2));
        }
        assert_eq!(pace.runs, RUNS_PER_ERASING_MAX);
        assert_eq!(pace.next(&batch(10_000_000)), Duration::from_millis(40));
        assert_eq!(pace.runs, RUNS_PER_ERASING_MAX / 2);
        for _ in 0..100 {
            pace.next(&batch(u64::MAX));
        }
        assert_eq!(pace.runs, 2);
    }
}
