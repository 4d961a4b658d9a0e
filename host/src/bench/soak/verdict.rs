//! Did it stay flat? The second half of a soak is held against the first.

use super::tally::Tally;
use crate::bench::figures::{mb, rounded};
use serde::{Serialize, Serializer};

/// What is asked of the slowest answer in a thousand, over the whole soak.
pub const P999_MS_MAX: f64 = 100.0;
/// By how much the second half may be above the first and still count as flat: a part of it, and what is noise however
/// small the figure is.
const MORE: f64 = 0.1;
const MEMORY_NOISE_BYTES: f64 = 5e6;
/// A log goes into the database as a whole, so a look may come right before or after that.
const FILE_NOISE_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// Answers depend on what else the machine does for a moment, the slow ones most.
const P50_MORE: f64 = 0.25;
const P99_MORE: f64 = 0.5;
const LATENCY_NOISE_MS: f64 = 1.0;

/// From the first byte of a webhook to its whole answer, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    pub accept_p50_ms: f64,
    pub accept_p99_ms: f64,
    pub accept_p999_ms: f64,
}

/// What was seen at one look, and since the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// Since the begin of the soak, in seconds.
    #[serde(rename = "soak_s")]
    pub at_s: f64,
    /// Webhooks answered 202 since the last look.
    pub events: u64,
    /// Of the host.
    #[serde(rename = "rss_mb", serialize_with = "as_mb")]
    pub rss_bytes: u64,
    /// The ledger.
    #[serde(rename = "database_mb", serialize_with = "as_mb")]
    pub database_bytes: u64,
    /// The log before it.
    #[serde(rename = "log_mb", serialize_with = "as_mb")]
    pub log_bytes: u64,
    #[serde(flatten)]
    pub accept: Latency,
}

/// The whole of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Soak {
    /// Marks the line.
    pub soak: bool,
    pub minutes: f64,
    /// Webhooks sent each second.
    pub per_s: u64,
    /// Webhooks answered 202.
    pub events: u64,
    #[serde(flatten)]
    pub accept: Latency,
    pub memory_flat: bool,
    /// The log stays as it is, and the database grows by as much for each event as before.
    pub files_flat: bool,
    pub latency_flat: bool,
    /// As [`P999_MS_MAX`] asks.
    pub p999_within: bool,
    /// Effects too many.
    pub duplicates: u64,
    /// Effects missing.
    pub lost: u64,
    /// Webhooks that were not answered 202.
    pub refused: u64,
}

impl Soak {
    pub fn of(minutes: f64, per_s: u64, intervals: &[Interval], tally: &Tally) -> Self {
        let accept = Latency::of(tally.taken_us());
        Self {
            soak: true,
            minutes: rounded(minutes),
            per_s,
            events: tally.accepted(),
            accept,
            memory_flat: memory_is_flat(intervals),
            files_flat: files_are_flat(intervals),
            latency_flat: latency_is_flat(intervals),
            p999_within: accept.accept_p999_ms <= P999_MS_MAX,
            duplicates: tally.duplicates(),
            lost: tally.lost(),
            refused: tally.refused(),
        }
    }

    /// Every event was taken in and had its effects exactly once. The rest are figures.
    pub fn is_good(&self) -> bool {
        self.duplicates == 0 && self.lost == 0 && self.refused == 0
    }
}

fn halves(intervals: &[Interval]) -> (&[Interval], &[Interval]) {
    let half = intervals.len() / 2;
    (&intervals[..half], &intervals[intervals.len() - half..])
}

fn mean(of: &[Interval], figure: impl Fn(&Interval) -> f64) -> f64 {
    of.iter().map(figure).sum::<f64>() / of.len().max(1) as f64
}

fn memory_is_flat(intervals: &[Interval]) -> bool {
    let (first, second) = halves(intervals);
    let bytes = |half| mean(half, |interval| interval.rss_bytes as f64);
    bytes(second) <= bytes(first) * (1.0 + MORE) + MEMORY_NOISE_BYTES
}

fn files_are_flat(intervals: &[Interval]) -> bool {
    let (first, second) = halves(intervals);
    let log = |half: &[Interval]| half.iter().map(|interval| interval.log_bytes).max().unwrap_or_default() as f64;
    let log_is_flat = log(second) <= log(first) * (1.0 + MORE) + FILE_NOISE_BYTES;
    let (Some(begin), Some(middle), Some(end)) = (first.first(), second.first(), second.last()) else {
        return log_is_flat;
    };
    let grown = |from: &Interval, to: &Interval| to.database_bytes.saturating_sub(from.database_bytes) as f64;
    // What was answered between two looks belongs to the later one.
    let count = |half: &[Interval]| half.iter().skip(1).map(|interval| interval.events as f64).sum::<f64>();
    let first_end = first.last().unwrap_or(begin);
    let expected = grown(begin, first_end) / count(first).max(1.0) * count(second);
    log_is_flat && grown(middle, end) <= expected * (1.0 + MORE) + FILE_NOISE_BYTES
}

fn latency_is_flat(intervals: &[Interval]) -> bool {
    let (first, second) = halves(intervals);
    let p50 = |half| mean(half, |interval| interval.accept.accept_p50_ms);
    let p99 = |half| mean(half, |interval| interval.accept.accept_p99_ms);
    p50(second) <= p50(first) * (1.0 + P50_MORE) + LATENCY_NOISE_MS
        && p99(second) <= p99(first) * (1.0 + P99_MORE) + LATENCY_NOISE_MS
}

fn as_mb<S: Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(mb(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A soak as it should be, with something changed in each interval.
    fn changed(change: impl Fn(u64, &mut Interval)) -> (bool, bool, bool) {
        let intervals: Vec<Interval> = (0..20)
            .map(|nth| {
                let mut interval = Interval {
                    at_s: (nth * 30) as f64,
                    events: 30_000,
                    rss_bytes: 60_000_000,
                    database_bytes: 100_000_000 + nth * 75_000_000,
                    log_bytes: 16_500_000,
                    accept: Latency {
                        accept_p50_ms: 4.0,
                        accept_p99_ms: 20.0,
                        accept_p999_ms: 40.0,
                    },
                };
                change(nth, &mut interval);
                interval
            })
            .collect();
        (
            memory_is_flat(&intervals),
            files_are_flat(&intervals),
            latency_is_flat(&intervals),
        )
    }

    #[test]
    fn what_stays_as_it_is_counts_as_flat() {
        assert_eq!(changed(|_, _| ()), (true, true, true));
        let noise = |nth: u64, interval: &mut Interval| {
            interval.rss_bytes += nth % 3 * 2_000_000;
            interval.accept.accept_p99_ms += (nth % 4) as f64;
        };
        assert_eq!(changed(noise), (true, true, true));
        assert!(memory_is_flat(&[]) && files_are_flat(&[]) && latency_is_flat(&[]));
    }

    #[test]
    fn what_grows_with_time_does_not() {
        let memory = changed(|nth, interval| interval.rss_bytes += nth * 3_000_000);
        assert_eq!(memory, (false, true, true));
        let log = changed(|nth, interval| interval.log_bytes += nth * 4_000_000);
        assert_eq!(log, (true, false, true));
        let database = changed(|nth, interval| interval.database_bytes += nth * nth * 2_000_000);
        assert_eq!(database, (true, false, true));
        let p50 = changed(|nth, interval| interval.accept.accept_p50_ms += nth as f64 / 4.0);
        assert_eq!(p50, (true, true, false));
        let p99 = changed(|nth, interval| interval.accept.accept_p99_ms += nth as f64 * 2.0);
        assert_eq!(p99, (true, true, false));
    }
}
