//! What an event waits for while old runs are erased. The figures are printed; what is promised is that none waits for all of it.

use super::*;
use crate::clock::monotonic_ns;
use std::time::Duration;

/// Old runs, each of a few kilobytes.
const OLD: usize = 400;
const AT_ONCE: usize = 50;
const EVENTS_MIN: usize = 200;
/// With all of them in one batch it would be more than this on any machine of ours.
const WAIT_NS_MAX: u64 = 500_000_000;

on_both! {
    an_event_waits_for_a_batch_and_not_for_all_that_is_old,
}

async fn old_run(house: &House, number: usize) -> Id {
    over(house, &format!("old-{number}"), &"x".repeat(2_000)).await
}

/// Erases all that is old as a host does: batches of a few milliseconds with pauses; how many, and how long the longest took.
async fn eraser(ledger: Ledger) -> (usize, u64) {
    let (mut erased, mut runs_max, mut longest_ns) = (0, 8, 0);
    loop {
        let batch = ledger.erase_old(EraseOld { runs_max, ..old(91) }).await.unwrap();
        if batch.looked_at == 0 {
            return (erased, longest_ns);
        }
        erased += batch.erased;
        longest_ns = longest_ns.max(batch.taken_ns);
        runs_max = match batch.taken_ns {
            0..4_000_000 => (runs_max + 2).min(RUNS_PER_ERASING_MAX),
            4_000_000.. => (runs_max / 2).max(2),
        };
        tokio::time::sleep(Duration::from_nanos((batch.taken_ns * 4).max(2_000_000))).await;
    }
}

/// How long each event waited, shortest first, until `others` is done.
async fn waits(house: &House, name: &str, others: &tokio::task::JoinHandle<(usize, u64)>) -> Vec<u64> {
    let mut waits = Vec::new();
    while !others.is_finished() || waits.len() < EVENTS_MIN {
        let event = NewEvent {
            received_ms: NOW_MS + 200 * DAY_MS,
            ..house.event(&format!("{name}-{}", waits.len()))
        };
        let begun_ns = monotonic_ns();
        house.ledger.accept(event).await.unwrap();
        waits.push(monotonic_ns() - begun_ns);
    }
    waits.sort_unstable();
    waits
}

async fn an_event_waits_for_a_batch_and_not_for_all_that_is_old(house: House) {
    let numbers: Vec<usize> = (0..OLD).collect();
    for part in numbers.chunks(AT_ONCE) {
        futures::future::join_all(part.iter().map(|number| old_run(&house, *number))).await;
    }
    let nothing = tokio::spawn(async { (0, 0) });
    let alone = waits(&house, "alone", &nothing).await;
    let erasing = tokio::spawn(eraser(house.ledger.clone()));
    let beside = waits(&house, "beside", &erasing).await;
    let (erased, longest_ns) = erasing.await.unwrap();
    for (name, waits) in [("alone", &alone), ("beside erasing", &beside)] {
        let at = |part: usize| waits[waits.len() * part / 1_000] / 1_000;
        println!(
            "{name}: {} events, p50 {} µs, p99 {} µs, p99.9 {} µs",
            waits.len(),
            at(500),
            at(990),
            at(999)
        );
    }
    println!("{erased} runs erased, longest batch {} µs", longest_ns / 1_000);
    assert_eq!(erased, OLD);
    let p99_ns = beside[beside.len() * 99 / 100];
    assert!(p99_ns < WAIT_NS_MAX, "{p99_ns} ns");
}
