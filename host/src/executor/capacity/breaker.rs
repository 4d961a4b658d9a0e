//! The breaker of one connection: an outage puts a handful of steps in doubt, and the rest wait, unsent. Afterwards they
//! go out as a ramp: one, then two, four, eight at the same time, so that a destination that comes back is not run over.
//!
//! Pure: it is told what happened and when, and says how many may go.

use oncegate_domain::id::Id;
use oncegate_domain::limits;
use std::collections::HashSet;

/// Different steps in a row that must fail before the breaker opens.
const TRIPS_AT: usize = limits::BREAKER_STEPS_DEFAULT as usize;
/// How long a breaker that just opened waits before it lets one step through; each failed probe doubles it, so that a
/// blip costs a second, and a long outage costs few probes (each may leave a step in doubt).
const OPEN_FIRST_MS: i64 = 1_000;
/// The longest time between two probes.
const OPEN_LONGEST_MS: i64 = 60_000;

/// Steps remembered for having failed as probes; an outage of days tries few more.
const FAILED_PROBES_MAX: usize = 10_000;

/// How the last exchange with a destination speaks for its health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It answered like a destination that works.
    Good,
    /// Unknown, unsent or 5xx.
    Bad,
    /// Says nothing (denied, refused before anything was tried, a pace answer).
    Silent,
}

/// The breaker of one connection.
#[derive(Debug, Default)]
pub struct Breaker {
    state: State,
    /// The different steps that failed in a row.
    failed: Vec<Id>,
    /// The steps that found out, in this outage, that the destination is not back.
    failed_probes: HashSet<Id>,
    /// Counts the openings. What began before the last one says nothing about now.
    era: u64,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Closed,
    /// Nobody goes before `until_ms`.
    Open { until_ms: i64, open_ms: i64 },
    /// So many may go at the same time: one finds out, and each good answer doubles it.
    Ramp { at_once: usize, open_ms: i64 },
}

impl Breaker {
    /// Until when nobody may go.
    pub fn closed_until(&self, now_ms: i64) -> Option<i64> {
        match self.state {
            State::Open { until_ms, .. } if now_ms < until_ms => Some(until_ms),
            State::Open { .. } | State::Closed | State::Ramp { .. } => None,
        }
    }

    /// How many steps of the current era may be under way; `full` is the connection's own limit.
    pub fn at_once_max(&self, full: usize) -> usize {
        match self.state {
            State::Closed => full,
            State::Open { .. } => 1,
            State::Ramp { at_once, .. } => at_once.min(full),
        }
    }

    /// Whether whoever goes now goes to find out.
    pub fn is_probing(&self) -> bool {
        match self.state {
            State::Open { .. } => true,
            State::Ramp { at_once, .. } => at_once == 1,
            State::Closed => false,
        }
    }

    /// Whether nobody has found out yet.
    pub fn is_open(&self) -> bool {
        match self.state {
            State::Open { .. } => true,
            State::Closed | State::Ramp { .. } => false,
        }
    }

    /// Takes note of how a read answered that was asked in place of a step. One that goes well opens the ramp with a single
    /// step, which still goes as a probe: a destination that reads may be one that does not write.
    pub fn probed(&mut self, health: Health, now_ms: i64) {
        let State::Open { open_ms, .. } = self.state else {
            return;
        };
        match health {
            Health::Good => self.state = State::Ramp { at_once: 1, open_ms },
            Health::Bad | Health::Silent => self.open(now_ms, open_ms.saturating_mul(2)),
        }
    }

    /// Opens as it was before a restart: a step still waits for it until then. The outage is not found out about anew, step
    /// by step, each at the cost of an attempt; one finds out for all.
    pub fn was_open(&mut self, until_ms: i64, now_ms: i64) {
        let until_ms = until_ms.min(now_ms.saturating_add(OPEN_LONGEST_MS));
        match &mut self.state {
            State::Closed => {
                let open_ms = until_ms.saturating_sub(now_ms).max(OPEN_FIRST_MS);
                self.state = State::Open { until_ms, open_ms };
            }
            State::Open { until_ms: open, .. } => *open = until_ms.max(*open),
            State::Ramp { .. } => {}
        }
    }

    /// Whether this step has found out already, in this outage.
    pub fn failed_as_probe(&self, step: Id) -> bool {
        self.failed_probes.contains(&step)
    }

    /// The era in which a step that goes now begins.
    pub fn era(&self) -> u64 {
        self.era
    }

    /// Takes note of how an exchange of `step` went that began in `era`. Only *different* steps count: one step that
    /// fails over and over says more about itself than about the destination.
    pub fn note(&mut self, step: Id, era: u64, health: Health, now_ms: i64, full: usize) {
        if era != self.era {
            return;
        }
        match health {
            Health::Silent => {}
            Health::Good => {
                self.failed.clear();
                self.widen(full);
            }
            Health::Bad => {
                if !self.failed.contains(&step) {
                    self.failed.push(step);
                }
                match self.state {
                    State::Closed if self.failed.len() >= TRIPS_AT => self.open(now_ms, OPEN_FIRST_MS),
                    State::Open { open_ms, .. } | State::Ramp { at_once: 1, open_ms } => {
                        if self.failed_probes.len() < FAILED_PROBES_MAX {
                            self.failed_probes.insert(step);
                        }
                        self.open(now_ms, open_ms.saturating_mul(2));
                    }
                    State::Ramp { open_ms, .. } if self.failed.len() >= TRIPS_AT => {
                        self.open(now_ms, open_ms.saturating_mul(2));
                    }
                    State::Closed | State::Ramp { .. } => {}
                }
            }
        }
    }

    fn widen(&mut self, full: usize) {
        let (at_once, open_ms) = match self.state {
            State::Closed => return,
            State::Open { open_ms, .. } => (2, open_ms),
            State::Ramp { at_once, open_ms } => (at_once.saturating_mul(2), open_ms),
        };
        self.failed_probes.clear();
        self.state = if at_once >= full {
            State::Closed
        } else {
            State::Ramp { at_once, open_ms }
        };
    }

    fn open(&mut self, now_ms: i64, open_ms: i64) {
        let open_ms = open_ms.min(OPEN_LONGEST_MS);
        self.state = State::Open {
            until_ms: now_ms.saturating_add(open_ms),
            open_ms,
        };
        self.failed.clear();
        self.era += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: usize = 16;

    fn id(n: u8) -> Id {
        Id::new(1_000, [n; 10])
    }

    /// Notes what happened to a step that began just now.
    fn saw(breaker: &mut Breaker, step: u8, health: Health, now_ms: i64) {
        breaker.note(id(step), breaker.era(), health, now_ms, FULL);
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for step in 1..=3 {
            saw(&mut breaker, step, Health::Bad, 0);
        }
        assert_eq!(breaker.closed_until(0), Some(OPEN_FIRST_MS));
        breaker
    }

    #[test]
    fn three_different_steps_in_a_row_open_it_and_one_step_alone_never_does() {
        let mut breaker = Breaker::default();
        for _ in 0..9 {
            saw(&mut breaker, 1, Health::Bad, 0);
        }
        saw(&mut breaker, 2, Health::Bad, 0);
        saw(&mut breaker, 2, Health::Good, 0);
        saw(&mut breaker, 3, Health::Bad, 0);
        saw(&mut breaker, 4, Health::Silent, 0);
        saw(&mut breaker, 5, Health::Bad, 0);
        assert_eq!((breaker.closed_until(0), breaker.at_once_max(FULL)), (None, FULL));
        saw(&mut breaker, 6, Health::Bad, 0);
        assert_eq!(breaker.closed_until(0), Some(OPEN_FIRST_MS));
    }

    #[test]
    fn after_a_restart_one_finds_out_for_all_whether_its_time_has_come_or_not() {
        for (until_ms, now_ms, closed_until) in [
            (9_000, 5_000, Some(9_000)),
            (1_000, 5_000, None),
            (i64::MAX, 5_000, Some(5_000 + OPEN_LONGEST_MS)),
        ] {
            let mut breaker = Breaker::default();
            breaker.was_open(until_ms, now_ms);
            assert_eq!(breaker.closed_until(now_ms), closed_until);
            assert_eq!((breaker.is_open(), breaker.at_once_max(FULL)), (true, 1));
            saw(&mut breaker, 1, Health::Good, until_ms);
            assert_eq!(breaker.at_once_max(FULL), 2, "it goes on as a ramp");
        }
    }

    #[test]
    fn one_step_finds_out_and_the_rest_follow_as_a_ramp() {
        let mut breaker = opened();
        let mut widths = Vec::new();
        for step in 10..15 {
            widths.push(breaker.at_once_max(FULL));
            saw(&mut breaker, step, Health::Good, OPEN_FIRST_MS);
        }
        assert_eq!(widths, [1, 2, 4, 8, FULL]);
        saw(&mut breaker, 20, Health::Bad, OPEN_FIRST_MS);
        assert_eq!(
            breaker.closed_until(OPEN_FIRST_MS),
            None,
            "closed again: one failure is none"
        );
    }

    #[test]
    fn the_longer_an_outage_lasts_the_fewer_probes_go_out() {
        let mut breaker = opened();
        let mut gaps = Vec::new();
        let mut now_ms = 0;
        for _ in 0..9 {
            let until_ms = breaker.closed_until(now_ms).expect("every probe failed");
            gaps.push(until_ms - now_ms);
            now_ms = until_ms;
            assert_eq!(breaker.at_once_max(FULL), 1, "one probe at a time");
            saw(&mut breaker, 9, Health::Bad, now_ms);
        }
        assert_eq!(
            gaps,
            [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]
        );
    }

    #[test]
    fn what_began_before_it_opened_neither_closes_nor_prolongs_it() {
        let mut breaker = opened();
        for health in [Health::Good, Health::Bad] {
            breaker.note(id(7), breaker.era() - 1, health, OPEN_FIRST_MS, FULL);
            assert_eq!(breaker.closed_until(OPEN_FIRST_MS - 1), Some(OPEN_FIRST_MS));
            assert_eq!(breaker.closed_until(OPEN_FIRST_MS), None);
            assert_eq!(breaker.at_once_max(FULL), 1);
        }
    }

    #[test]
    fn a_read_that_goes_well_lets_one_step_through_and_one_that_does_not_none() {
        let mut breaker = opened();
        breaker.probed(Health::Bad, OPEN_FIRST_MS);
        let until_ms = 3 * OPEN_FIRST_MS;
        assert_eq!(breaker.closed_until(OPEN_FIRST_MS), Some(until_ms));
        breaker.probed(Health::Good, until_ms);
        assert!(!breaker.is_open() && breaker.is_probing());
        assert_eq!(breaker.at_once_max(FULL), 1, "it reads, and may not write");
        saw(&mut breaker, 10, Health::Bad, until_ms);
        assert_eq!(breaker.closed_until(until_ms), Some(until_ms + 4 * OPEN_FIRST_MS));
        breaker.probed(Health::Good, until_ms + 4 * OPEN_FIRST_MS);
        saw(&mut breaker, 11, Health::Good, until_ms + 4 * OPEN_FIRST_MS);
        assert_eq!(breaker.at_once_max(FULL), 2);
    }

    #[test]
    fn a_ramp_that_meets_the_outage_again_opens_for_longer() {
        let mut breaker = opened();
        saw(&mut breaker, 10, Health::Good, OPEN_FIRST_MS);
        for step in 11..=13 {
            assert_eq!(breaker.closed_until(OPEN_FIRST_MS), None);
            saw(&mut breaker, step, Health::Bad, OPEN_FIRST_MS);
        }
        assert_eq!(breaker.closed_until(OPEN_FIRST_MS), Some(3 * OPEN_FIRST_MS));
    }
}
