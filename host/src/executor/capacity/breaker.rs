//! The breaker of one connection: an outage puts a handful of steps in doubt, and the rest wait, unsent. Afterwards they
//! go out as a ramp: one, then two, four, eight at the same time, so that a destination that comes back is not run over.
//!
//! Pure: it is told what happened and when, and says how many may go.

use oncegate_domain::id::Id;
use oncegate_domain::limits;
use std::collections::BTreeSet;

/// Different steps in a row that must fail before the breaker opens.
const TRIPS_AT: usize = limits::BREAKER_STEPS_DEFAULT as usize;
/// How long a breaker that just opened waits before it lets one step through; each failed probe doubles it, so that a
/// blip costs a second, and a long outage costs few probes (each may leave a step in doubt).
const OPEN_FIRST_MS: i64 = 1_000;
/// The longest time between two probes.
const OPEN_LONGEST_MS: i64 = 60_000;

/// Steps remembered of each kind; an outage of days tries few more.
const REMEMBERED_MAX: usize = 10_000;

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

/// How an exchange went.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Of which step.
    pub step: Id,
    /// What it says about the destination.
    pub health: Health,
    /// In words, for people.
    pub why: &'a str,
}

/// A connection whose destination fails, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// How many steps failed in a row when it was noticed, and how.
    pub why: String,
    /// Since when, as far as this process knows.
    pub since_ms: i64,
    /// When the next one finds out whether it is back.
    pub until_ms: i64,
}

/// What people should hear of: one line when an outage begins, one when it is over, none for what lies between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing is sent for now.
    Failing(Failing),
    /// All goes on as before.
    Well,
}

/// The breaker of one connection.
///
/// It is there to notice that a *destination* is down. A step that failed while others got through says nothing about that,
/// however often it fails: a handful of bad events must not hold up everybody else.
#[derive(Debug, Default)]
pub struct Breaker {
    state: State,
    /// The different steps that failed since one last went well.
    failed: BTreeSet<Id>,
    /// Those that failed before another one went well, and have not gone well since: the fault may be their own.
    fail_alone: BTreeSet<Id>,
    /// From the moment at which it opened until it is closed again: since when, and why.
    outage: Option<(i64, String)>,
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

/// Since which opening, until when nobody may go, and how many may then: all of a breaker that decides who may go.
pub(super) type Terms = (u64, Option<i64>, usize);

impl Breaker {
    pub(super) fn terms(&self) -> Terms {
        (self.era, self.closed_until(i64::MIN), self.at_once_max(usize::MAX))
    }

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
                let why = "it failed when this host went down, and is tried again".to_owned();
                self.outage = Some((now_ms, why));
            }
            State::Open { until_ms: open, .. } => *open = until_ms.max(*open),
            State::Ramp { .. } => {}
        }
    }

    /// Another host found that the destination fails; `true`: that is news here. One of this host finds out so much later.
    pub fn heard_failing(&mut self, failing: Failing, later_ms: i64, now_ms: i64) -> bool {
        let until_ms = failing.until_ms.min(now_ms.saturating_add(OPEN_LONGEST_MS)) + later_ms;
        match &mut self.state {
            State::Open { until_ms: open, .. } => {
                *open = until_ms.max(*open);
                false
            }
            State::Closed | State::Ramp { .. } => {
                let open_ms = (until_ms - now_ms).clamp(OPEN_FIRST_MS, OPEN_LONGEST_MS);
                self.state = State::Open { until_ms, open_ms };
                self.era += 1;
                self.outage = Some((failing.since_ms, failing.why));
                true
            }
        }
    }

    /// Another host got through; `true`: that is news here. One step finds out whether this host does as well, and the others
    /// follow as after a probe of its own.
    pub fn heard_well(&mut self) -> bool {
        match self.state {
            State::Open { open_ms, .. } => {
                self.state = State::Ramp { at_once: 1, open_ms };
                true
            }
            State::Closed | State::Ramp { .. } => false,
        }
    }

    /// The operator has changed the connection: whoever comes next finds out at once.
    pub fn look_now(&mut self, now_ms: i64) {
        match &mut self.state {
            State::Open { until_ms, .. } => *until_ms = now_ms.min(*until_ms),
            State::Closed | State::Ramp { .. } => {}
        }
    }

    /// Whether this step has failed since another one last went well.
    pub fn has_failed(&self, step: Id) -> bool {
        self.failed.contains(&step)
    }

    /// Whether this step failed while others went well.
    pub fn fails_alone(&self, step: Id) -> bool {
        self.fail_alone.contains(&step)
    }

    /// How many have failed in a row.
    pub fn failed_count(&self) -> usize {
        self.failed.len()
    }

    /// Since when nothing is sent, and why.
    pub fn failing(&self) -> Option<Failing> {
        match (&self.state, &self.outage) {
            (State::Open { until_ms, .. }, Some((since_ms, why))) => Some(Failing {
                why: why.clone(),
                since_ms: *since_ms,
                until_ms: *until_ms,
            }),
            (State::Open { .. } | State::Closed | State::Ramp { .. }, _) => None,
        }
    }

    /// Whether all goes as if nothing had ever been wrong.
    pub fn is_closed(&self) -> bool {
        match self.state {
            State::Closed => true,
            State::Open { .. } | State::Ramp { .. } => false,
        }
    }

    /// The era in which a step that goes now begins.
    pub fn era(&self) -> u64 {
        self.era
    }

    /// Takes note of how an exchange of `step` went that began in `era`; what of it is news. Only *different* steps count:
    /// one step that fails over and over says more about itself than about the destination.
    pub fn note(&mut self, seen: Seen, era: u64, now_ms: i64, full: usize) -> Option<News> {
        if era != self.era {
            return None;
        }
        match seen.health {
            Health::Silent => None,
            Health::Good => self.went_well(seen.step, full),
            Health::Bad => self.went_wrong(&seen, now_ms),
        }
    }

    fn went_well(&mut self, step: Id, full: usize) -> Option<News> {
        self.fail_alone.append(&mut self.failed);
        self.fail_alone.remove(&step);
        while self.fail_alone.len() > REMEMBERED_MAX {
            // Ids begin with their time: the oldest has most likely come to its end.
            self.fail_alone.pop_first();
        }
        let (at_once, open_ms) = match self.state {
            State::Closed => return None,
            State::Open { open_ms, .. } => (2, open_ms),
            State::Ramp { at_once, open_ms } => (at_once.saturating_mul(2), open_ms),
        };
        if at_once < full {
            self.state = State::Ramp { at_once, open_ms };
            return None;
        }
        self.state = State::Closed;
        self.outage.take().map(|_| News::Well)
    }

    fn went_wrong(&mut self, seen: &Seen, now_ms: i64) -> Option<News> {
        let is_new = !self.fails_alone(seen.step);
        if is_new && self.failed.len() < REMEMBERED_MAX {
            self.failed.insert(seen.step);
        }
        let trips = is_new && self.failed.len() >= TRIPS_AT;
        match self.state {
            // It was let through to find out, so the next one is: later only where this says something new.
            State::Open { open_ms, .. } | State::Ramp { at_once: 1, open_ms } => {
                self.open(now_ms, if is_new { open_ms.saturating_mul(2) } else { open_ms });
            }
            State::Ramp { open_ms, .. } if trips => self.open(now_ms, open_ms.saturating_mul(2)),
            State::Closed if trips => {
                let why = format!("{} different steps failed in a row; {}", self.failed.len(), seen.why);
                self.outage = Some((now_ms, why));
                self.open(now_ms, OPEN_FIRST_MS);
                return self.failing().map(News::Failing);
            }
            State::Closed | State::Ramp { .. } => {}
        }
        None
    }

    fn open(&mut self, now_ms: i64, open_ms: i64) {
        let open_ms = open_ms.min(OPEN_LONGEST_MS);
        self.state = State::Open {
            until_ms: now_ms.saturating_add(open_ms),
            open_ms,
        };
        self.era += 1;
    }
}

#[cfg(test)]
mod tests;
