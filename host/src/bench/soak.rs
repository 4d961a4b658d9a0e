//! The soak: what a machine gives is measured first, then half of it is sent at a steady pace for as long as asked. A host
//! that holds up stays as it is: memory, log and answers at the end are those of the beginning, and the database grows by
//! what its events take.
//!
//! It must not know how a host works inside, as nothing in the bench does.

mod say;
mod tally;
mod verdict;

use super::child::Sending;
use super::figures::ms;
use super::installation::hook;
use super::load::Load;
use super::percentile::nearest_rank;
use super::process::Used;
use super::stage::{Stage, ended};
use super::{BenchOptions, Disk, print, report, teller, with_disk};
use crate::clock::monotonic_ns;
use crate::host_process::HostProcess;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use tally::Tally;
use verdict::{Interval, Latency, Soak};

/// Connections of the load, in both parts: while capacity is measured each always has a webhook under way.
const CONCURRENCY: usize = 64;
/// How often figures are printed, and at least how often in all: shorter soaks need something to compare as well.
const INTERVAL_MS: u64 = 30_000;
const INTERVALS_MIN: u64 = 4;
/// How often both ends are asked what they saw, so that neither keeps much.
const LOOK: Duration = Duration::from_millis(200);

/// Measures, and judges as a row is judged: every event taken in had each of its effects exactly once.
///
/// # Errors
/// The bench itself failed.
pub fn run(folder: &Path, options: &BenchOptions, soak_ms: u64) -> anyhow::Result<bool> {
    let say = teller(options.json);
    let disk = Disk::measure(folder)?;
    say(&report::disk(&disk, folder));
    say("Compiling the connectors …");
    let steps = options.steps.first().copied().unwrap_or(1);
    let mut stage = Stage::set(folder.to_owned(), None, &[steps].into())?;
    let row = stage.row(1, steps, CONCURRENCY, options.events, options.sending_ms_max)?;
    say(&format!("\n{}\n{}", report::head(), report::row(&row)));
    // Half of what is completed, and not of what is taken in: what it cannot complete would pile up.
    let per_s = ((row.completed_per_s / 2.0) as u64).max(1);
    say(&say::pace(per_s, soak_ms));
    say(&say::head());
    let mut lines = vec![serde_json::to_value(&row)?];
    let soak = soak(&mut stage, steps, per_s, soak_ms, |interval| {
        say(&say::interval(interval));
        lines.push(serde_json::to_value(interval)?);
        Ok(())
    })?;
    say(&say::verdict(&soak));
    lines.push(serde_json::to_value(&soak)?);
    if options.json {
        let lines = lines.into_iter().map(|line| with_disk(line, &disk));
        print(&Value::Array(lines.collect()).to_string());
    }
    Ok(row.is_good() && soak.is_good())
}

/// Sends, looks, and waits for the last effect.
fn soak(
    stage: &mut Stage,
    steps: u64,
    per_s: u64,
    soak_ms: u64,
    mut each: impl FnMut(&Interval) -> anyhow::Result<()>,
) -> anyhow::Result<Soak> {
    let host = stage.host()?;
    // One more than can become due: the time ends it.
    let events = per_s * soak_ms / 1_000 + 1;
    let load = Load {
        hosts: vec![host.address.parse()?],
        hook: hook(steps),
        first: stage.take_numbers(events),
        events,
        concurrency: CONCURRENCY,
        ms_max: soak_ms,
        per_s,
    };
    let requests_before = stage.destination.count()?;
    let mut tally = Tally::new(load.first, steps);
    let interval_ms = INTERVAL_MS.min(soak_ms / INTERVALS_MIN);
    let (mut intervals, mut seen) = (Vec::new(), 0);
    let mut sending = Sending::begin(&load)?;
    let begun_ns = monotonic_ns();
    let mut is_over = false;
    while !is_over {
        std::thread::sleep(LOOK);
        is_over = sending.is_over()?;
        sending.seen()?.iter().for_each(|delivery| tally.delivered(delivery));
        stage
            .destination
            .take()?
            .iter()
            .for_each(|effect| tally.happened(effect));
        let elapsed_ms = (monotonic_ns() - begun_ns) / 1_000_000;
        // What is left over at the end is no interval of its own.
        if elapsed_ms >= interval_ms * (intervals.len() as u64 + 1) {
            let interval = look(stage, &host, elapsed_ms, &tally.taken_us()[seen..])?;
            seen = tally.taken_us().len();
            each(&interval)?;
            intervals.push(interval);
        }
    }
    stage.wait_for(requests_before + tally.accepted() * steps)?;
    stage
        .destination
        .take()?
        .iter()
        .for_each(|effect| tally.happened(effect));
    ended(&host)?;
    host.stop()?;
    Ok(Soak::of(ms(soak_ms * 1_000_000) / 60_000.0, per_s, &intervals, &tally))
}

/// How the host stands, and how it answered since the last look.
fn look(stage: &Stage, host: &HostProcess, elapsed_ms: u64, taken_us: &[u32]) -> anyhow::Result<Interval> {
    let bytes = |name: &str| std::fs::metadata(stage.data().join(name)).map(|found| found.len());
    Ok(Interval {
        at_s: elapsed_ms as f64 / 1e3,
        events: taken_us.len() as u64,
        rss_bytes: Used::by(host.id())?.rss_bytes,
        database_bytes: bytes("ledger.db")?,
        log_bytes: bytes("ledger.db-wal")?,
        accept: Latency::of(taken_us),
    })
}

impl Latency {
    fn of(taken_us: &[u32]) -> Self {
        let mut sorted: Vec<u64> = taken_us.iter().map(|us| u64::from(*us)).collect();
        sorted.sort_unstable();
        let at = |per_mille| ms(nearest_rank(&sorted, per_mille) * 1_000);
        Self {
            accept_p50_ms: at(500),
            accept_p99_ms: at(990),
            accept_p999_ms: at(999),
        }
    }
}
