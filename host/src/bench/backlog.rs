//! A host that comes up before a long backlog: how soon it is ready and has its first effect, in which order it works, what
//! memory it needs for what waits, and what it does while all of it waits for later.

use super::figures::{mb, ms, rounded};
use super::fill::{Backlog, Others, fill};
use super::process::Used;
use super::records::Effect;
use super::stage::Stage;
use crate::clock::monotonic_ns;
use anyhow::ensure;
use serde::Serialize;
use std::time::Duration;

/// How many of the backlog were under way.
const UNDER_WAY: u64 = 500;
/// So many effects show in which order they come; a backlog that is worked off whole takes minutes.
const EFFECTS: u64 = 2_000;
/// How long they may take.
const EFFECTS_WITHIN: Duration = Duration::from_secs(60);
/// How often the destination is asked for them.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long a host with nothing to do is watched: a hundredth of a core is then seven of the kernel's ticks.
pub const WATCHED: Duration = Duration::from_secs(7);
/// When everything has come up that comes up.
pub const SETTLED: Duration = Duration::from_secs(3);

/// A host before a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Events that wait.
    pub backlog: u64,
    /// They wait for a time that is far off; else they are ready.
    pub asleep: bool,
    /// Of them, those with an intent without an end.
    pub under_way: u64,
    /// From the start of the process until it answers that it is ready, in milliseconds.
    pub ready_ms: f64,
    /// From the same moment to the first effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_effect_ms: Option<f64>,
    /// How far before its turn, by age, an effect came at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead_max: Option<u64>,
    /// Memory at the end, in megabytes of 10⁶ bytes.
    pub rss_mb: f64,
    /// CPU time in hundredths of a core, while all of them wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// Effects too many.
    pub duplicates: u64,
}

impl Row {
    /// Nothing happened twice.
    pub fn is_good(&self) -> bool {
        self.duplicates == 0
    }
}

impl Stage {
    /// A host that comes up before so many events that wait, on a ledger of their own.
    ///
    /// # Errors
    /// The bench itself failed, or nothing of the backlog was worked on.
    pub fn backlog(&mut self, events: u64, asleep: bool) -> anyhow::Result<Row> {
        self.begin_ledger(if asleep { "asleep" } else { "waiting" })?;
        let backlog = Backlog {
            first: self.take_numbers(events),
            events,
            under_way: UNDER_WAY.min(events / 2),
            others: if asleep { Others::Asleep } else { Others::Ready },
        };
        fill(&self.data(), self.database(), backlog)?;
        let before = self.destination.count()?;
        let from_ns = monotonic_ns();
        let host = self.host()?;
        let ready_ms = ms(monotonic_ns() - from_ns);
        let mut row = Row {
            backlog: events,
            asleep,
            under_way: backlog.under_way,
            ready_ms,
            first_effect_ms: None,
            ahead_max: None,
            rss_mb: 0.0,
            cpu_percent: None,
            duplicates: 0,
        };
        if asleep {
            row.cpu_percent = Some(cpu_percent(host.id())?);
        } else {
            self.wait_for_effects(before + EFFECTS.min(events - backlog.under_way))?;
        }
        row.rss_mb = mb(Used::by(host.id())?.rss_bytes);
        // What is left is not worked off.
        host.kill()?;
        let effects = self.destination.take()?;
        row.duplicates = effects.iter().map(|effect| effect.times.saturating_sub(1)).sum();
        let first_ns = effects.iter().map(|effect| effect.at_ns).min();
        row.first_effect_ms = first_ns.map(|at_ns| ms(at_ns.saturating_sub(from_ns)));
        row.ahead_max = (!asleep).then(|| ahead_max(effects, backlog.first + backlog.under_way));
        Ok(row)
    }

    /// Waits until the destination has counted so many.
    fn wait_for_effects(&mut self, enough: u64) -> anyhow::Result<()> {
        let until_ns = monotonic_ns() + EFFECTS_WITHIN.as_nanos() as u64;
        while self.destination.count()? < enough {
            ensure!(
                monotonic_ns() < until_ns,
                "the effects of the backlog did not come within {EFFECTS_WITHIN:?}"
            );
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }
}

/// What a process uses that has nothing to do, in hundredths of a core, once it has settled.
pub fn cpu_percent(process: u32) -> anyhow::Result<f64> {
    std::thread::sleep(SETTLED);
    let (before, from_ns) = (Used::by(process)?, monotonic_ns());
    std::thread::sleep(WATCHED);
    let used_ms = (Used::by(process)?.cpu_ms - before.cpu_ms) as f64;
    Ok(rounded(100.0 * used_ms / ((monotonic_ns() - from_ns) as f64 / 1e6)))
}

/// How many older ones were still to come, at most, when an event had its effect; `oldest` is the number of the oldest.
fn ahead_max(mut effects: Vec<Effect>, oldest: u64) -> u64 {
    effects.sort_unstable_by_key(|effect| effect.at_ns);
    let turns = (0..).zip(&effects).map(|(turn, effect): (u64, _)| {
        let age = effect.event.saturating_sub(oldest);
        age.saturating_sub(turn)
    });
    turns.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_an_effect_came_before_its_turn_is_told() {
        let effects = |events: &[u64]| {
            let effects = (0..).zip(events).map(|(at_ns, event)| Effect {
                event: *event,
                step: 1,
                at_ns,
                times: 1,
            });
            effects.collect()
        };
        assert_eq!(ahead_max(effects(&[10, 11, 12]), 10), 0);
        assert_eq!(ahead_max(effects(&[12, 10, 11]), 10), 2);
        assert_eq!(ahead_max(effects(&[10, 19, 11]), 10), 8);
        assert_eq!(ahead_max(Vec::new(), 10), 0);
    }
}
