//! The figures of one row: what load and destination saw, joined event by event, and what the host used meanwhile. The
//! destination is the judge: an accepted event must have had each of its steps' effects exactly once.

use super::percentile::Percentiles;
use super::records::{Delivery, Effect};
use serde::Serialize;
use std::collections::HashMap;

/// What the hosts used for one row, together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// CPU time, in milliseconds.
    pub cpu_ms: u64,
    /// Memory at the end, in bytes.
    pub rss_bytes: u64,
    /// Flushes of the disk.
    pub flushes: u64,
}

/// One row. Times are in milliseconds, memory in megabytes of 10⁶ bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Steps of the flow.
    pub steps: u64,
    /// Webhooks under way at the same time.
    pub concurrency: usize,
    /// Hosts that share the ledger and the load.
    pub hosts: usize,
    /// Finished events that were in the ledger before all rows.
    pub history: u64,
    /// Webhooks answered 202.
    pub events: u64,
    /// From the first byte sent to the last answer.
    pub accepted_per_s: f64,
    /// From the first byte sent to the last effect of the last step.
    pub completed_per_s: f64,
    /// From the first byte of a webhook to its answer.
    pub accept_p50_ms: f64,
    /// The same.
    pub accept_p99_ms: f64,
    /// From a webhook's answer to the effect of its last step; nothing where the effect was there first.
    pub effect_p50_ms: f64,
    /// The same.
    pub effect_p99_ms: f64,
    /// Of the hosts together, as all that follows of them.
    pub cpu_ms_per_event: f64,
    /// Of the host, at the end.
    pub rss_mb: f64,
    /// Of the host.
    pub flushes_per_event: f64,
    /// Effects too many.
    pub duplicates: u64,
    /// Effects missing.
    pub lost: u64,
    /// Webhooks that were not answered 202.
    pub refused: u64,
}

impl Row {
    /// Joins what both ends saw.
    pub fn of(steps: u64, concurrency: usize, deliveries: &[Delivery], effects: &[Effect], cost: Cost) -> Self {
        let accepted: Vec<&Delivery> = deliveries.iter().filter(|delivery| delivery.accepted()).collect();
        let times = times(effects);
        let (mut duplicates, mut lost) = (0, 0);
        for delivery in &accepted {
            for step in 1..=steps {
                let times = times.get(&(delivery.event, step)).copied().unwrap_or_default();
                duplicates += times.saturating_sub(1);
                lost += u64::from(times == 0);
            }
        }
        let ended: HashMap<u64, u64> = effects
            .iter()
            .filter(|effect| effect.step == steps)
            .map(|effect| (effect.event, effect.at_ns))
            .collect();
        let accept = Percentiles::of(accepted.iter().map(|d| d.answered_ns - d.sent_ns).collect());
        let to_effect = accepted
            .iter()
            .filter_map(|d| Some(ended.get(&d.event)?.saturating_sub(d.answered_ns)));
        let effect = Percentiles::of(to_effect.collect());

        let begun_ns = accepted.iter().map(|d| d.sent_ns).min().unwrap_or_default();
        let answered_ns = accepted.iter().map(|d| d.answered_ns).max().unwrap_or_default();
        let completed_ns = ended.values().copied().max().unwrap_or_default();
        let events = accepted.len() as u64;
        let completed = accepted.iter().filter(|d| ended.contains_key(&d.event)).count() as u64;
        Self {
            steps,
            concurrency,
            hosts: 1,
            history: 0,
            events,
            accepted_per_s: per_s(events, answered_ns.saturating_sub(begun_ns)),
            completed_per_s: per_s(completed, completed_ns.saturating_sub(begun_ns)),
            accept_p50_ms: ms(accept.p50),
            accept_p99_ms: ms(accept.p99),
            effect_p50_ms: ms(effect.p50),
            effect_p99_ms: ms(effect.p99),
            cpu_ms_per_event: per_event(cost.cpu_ms, events),
            rss_mb: mb(cost.rss_bytes),
            flushes_per_event: per_event(cost.flushes, events),
            duplicates,
            lost,
            refused: (deliveries.len() - accepted.len()) as u64,
        }
    }

    /// Every event was taken in and had its effects exactly once.
    pub fn is_good(&self) -> bool {
        self.duplicates == 0 && self.lost == 0 && self.refused == 0
    }
}

/// How often each step of each event happened, under however many keys.
fn times(effects: &[Effect]) -> HashMap<(u64, u64), u64> {
    let mut times = HashMap::with_capacity(effects.len());
    for effect in effects {
        *times.entry((effect.event, effect.step)).or_default() += effect.times;
    }
    times
}

fn per_s(count: u64, ns: u64) -> f64 {
    if ns == 0 {
        return 0.0;
    }
    (count as f64 * 1e9 / ns as f64).round()
}

fn per_event(amount: u64, events: u64) -> f64 {
    rounded(amount as f64 / events.max(1) as f64)
}

/// Nanoseconds as milliseconds.
pub fn ms(ns: u64) -> f64 {
    rounded(ns as f64 / 1e6)
}

/// Bytes as megabytes.
pub fn mb(bytes: u64) -> f64 {
    (bytes as f64 / 1e5).round() / 10.0
}

/// Three digits behind the point: the rest is noise.
pub fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn delivery(event: u64, status: u16) -> Delivery {
        Delivery {
            event,
            sent_ns: event * 10 * MS,
            answered_ns: event * 10 * MS + 2 * MS,
            status,
        }
    }

    fn effect(event: u64, step: u64, at_ms: u64, times: u64) -> Effect {
        Effect {
            event,
            step,
            at_ns: at_ms * MS,
            times,
        }
    }

    #[test]
    fn what_both_ends_saw_becomes_one_row() {
        let deliveries = [delivery(1, 202), delivery(2, 202)];
        let effects = [
            effect(1, 1, 11, 1),
            effect(1, 2, 17, 1),
            effect(2, 1, 25, 1),
            effect(2, 2, 110, 1),
        ];
        let cost = Cost {
            cpu_ms: 3,
            rss_bytes: 61_440 * 1_024,
            flushes: 5,
        };
        let row = Row::of(2, 4, &deliveries, &effects, cost);
        let expected = Row {
            steps: 2,
            concurrency: 4,
            hosts: 1,
            events: 2,
            accepted_per_s: 167.0,
            completed_per_s: 20.0,
            accept_p50_ms: 2.0,
            accept_p99_ms: 2.0,
            effect_p50_ms: 5.0,
            effect_p99_ms: 88.0,
            cpu_ms_per_event: 1.5,
            rss_mb: 62.9,
            flushes_per_event: 2.5,
            ..Row::default()
        };
        assert_eq!(row, expected);
        assert!(row.is_good());
    }

    #[test]
    fn an_effect_too_many_or_too_few_is_no_good_row() {
        let deliveries = [delivery(1, 202), delivery(2, 202), delivery(3, 429)];
        let judged = |effects: &[Effect]| {
            let row = Row::of(1, 1, &deliveries[..2], effects, Cost::default());
            (row.duplicates, row.lost, row.is_good())
        };
        assert_eq!(judged(&[effect(1, 1, 1, 1), effect(2, 1, 1, 1)]), (0, 0, true));
        assert_eq!(judged(&[effect(1, 1, 1, 2), effect(2, 1, 1, 1)]), (1, 0, false));
        // The same step under another key.
        let two_keys = [effect(1, 1, 1, 1), effect(1, 1, 2, 1), effect(2, 1, 1, 1)];
        assert_eq!(judged(&two_keys), (1, 0, false));
        assert_eq!(judged(&[effect(1, 1, 1, 1)]), (0, 1, false));
        let refused = Row::of(1, 1, &deliveries[2..], &[], Cost::default());
        assert_eq!((refused.events, refused.refused, refused.is_good()), (0, 1, false));
    }
}
