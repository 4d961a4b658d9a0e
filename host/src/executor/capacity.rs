//! Who may go now: one gate per connection (concurrency, own rate, the destination's `Retry-After`, a plain breaker).
//!
//! Everything here is about pace. A step that is told to wait keeps its attempts (DESIGN section 4); whether a step may
//! be tried at all is decided elsewhere, and nothing here knows what a step does.

use oncegate_domain::evidence::Evidence;
use oncegate_domain::id::Id;
use oncegate_domain::retry::RetryAfter;
use oncegate_domain::step::Wait;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Different steps in a row that must fail before the breaker opens.
const BREAKER_TRIPS_AT: usize = 3;
/// How long a breaker that just opened waits before it lets one step through; each failed probe doubles it, so that a
/// blip costs a second, and a long outage costs few probes (each may leave a step in doubt).
const BREAKER_OPEN_FIRST_MS: i64 = 1_000;
/// The longest time between two probes.
const BREAKER_OPEN_LONGEST_MS: i64 = 60_000;
/// A probe that has not reported back by then no longer keeps the next one away.
const BREAKER_PROBE_MS: i64 = 10_000;

/// Pace limits of one connection, as its operator set them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Attempts at the same time.
    pub concurrency: usize,
    /// Shortest time between two starts in microseconds; 0: no own rate.
    pub interval_us: i64,
}

/// All gates of this host.
#[derive(Default)]
pub struct Gates {
    gates: Mutex<HashMap<String, Arc<Gate>>>,
}

impl Gates {
    /// The gate of a connection; a changed pace makes a new gate, whose pause and breaker start afresh.
    pub fn of(&self, connection: &str, pace: Pace) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        match gates.get(connection) {
            Some(gate) if gate.pace == pace => Arc::clone(gate),
            Some(_) | None => {
                let gate = Arc::new(Gate::new(pace));
                gates.insert(connection.to_owned(), Arc::clone(&gate));
                gate
            }
        }
    }
}

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

/// What a gate says to a step that wants to go.
pub enum Admission {
    /// Go, once `start_ms` has come (our own rate); the slot is held until it is dropped.
    Go {
        /// Holds one place of the connection's concurrency.
        slot: Slot,
        /// Not before.
        start_ms: i64,
    },
    /// Not before `until_ms`.
    Wait {
        /// Why.
        reason: Wait,
        /// Not before.
        until_ms: i64,
    },
}

/// A slot of a connection's concurrency.
pub struct Slot {
    _permit: OwnedSemaphorePermit,
}

/// The gate of one connection.
pub struct Gate {
    pace: Pace,
    slots: Arc<Semaphore>,
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    /// The next start that our own rate allows, in microseconds on the ledger's clock.
    next_start_us: i64,
    /// The destination said: not before.
    paused_until_ms: i64,
    breaker: Breaker,
}

#[derive(Default)]
enum Breaker {
    #[default]
    Closed,
    /// The different steps that failed in a row.
    Counting(Vec<Id>),
    /// Nobody goes; `open_ms` is how long this opening lasts.
    Open {
        until_ms: i64,
        open_ms: i64,
    },
    /// One step is on its way to find out; should it never report back, the next one may try after `until_ms`.
    Probing {
        until_ms: i64,
        open_ms: i64,
    },
}

impl Gate {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            slots: Arc::new(Semaphore::new(pace.concurrency.max(1))),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a free slot, then says whether a step may go. Our own rate is kept by whoever holds a slot, so that
    /// those behind queue up in order instead of all waking at the same moment; every other wait is returned, so that
    /// the step can say why it is where it is.
    pub async fn admit(&self, now_ms: impl Fn() -> i64) -> Admission {
        // The semaphore is never closed; a failure here could only mean that the host is going down.
        let Ok(permit) = Arc::clone(&self.slots).acquire_owned().await else {
            return Admission::Wait {
                reason: Wait::Paused,
                until_ms: now_ms() + 1_000,
            };
        };
        match self.state().turn(now_ms(), self.pace) {
            Ok(start_ms) => Admission::Go {
                slot: Slot { _permit: permit },
                start_ms,
            },
            Err((reason, until_ms)) => Admission::Wait { reason, until_ms },
        }
    }

    /// Keeps everybody away until then: the destination asked for it.
    pub fn pause_until(&self, until_ms: i64) {
        let mut state = self.state();
        state.paused_until_ms = state.paused_until_ms.max(until_ms);
    }

    /// Keeps everybody away where the destination said so on the wire. An absurd time is not believed: the step that got
    /// it goes to a person, and the others find out for themselves.
    pub fn heed(&self, evidence: Evidence, told: RetryAfter, now_ms: i64, wait_longest_ms: u64) {
        match (evidence, told) {
            (Evidence::Answered(425 | 429 | 503), RetryAfter::Until(until_ms))
                if until_ms <= now_ms.saturating_add_unsigned(wait_longest_ms) =>
            {
                self.pause_until(until_ms);
            }
            (Evidence::None | Evidence::NothingSent | Evidence::MaybeSent | Evidence::Answered(_), _) => {}
        }
    }

    /// Takes note of how an attempt of `step` went.
    pub fn note(&self, step: Id, health: Health, now_ms: i64) {
        self.state().breaker.note(step, health, now_ms);
    }
}

impl GateState {
    /// When the step may start; or why it has to wait, and until when.
    fn turn(&mut self, now_ms: i64, pace: Pace) -> Result<i64, (Wait, i64)> {
        if now_ms < self.paused_until_ms {
            return Err((Wait::RateLimited, self.paused_until_ms));
        }
        if let Some(until_ms) = self.breaker.closed_until(now_ms) {
            return Err((Wait::BreakerOpen, until_ms));
        }
        self.breaker.let_through(now_ms);
        let start_us = self.next_start_us.max(now_ms * 1_000);
        self.next_start_us = start_us + pace.interval_us;
        Ok(start_us.div_euclid(1_000) + i64::from(start_us.rem_euclid(1_000) > 0))
    }
}

impl Breaker {
    fn closed_until(&self, now_ms: i64) -> Option<i64> {
        match self {
            Self::Closed | Self::Counting(_) => None,
            Self::Open { until_ms, .. } | Self::Probing { until_ms, .. } => (now_ms < *until_ms).then_some(*until_ms),
        }
    }

    fn let_through(&mut self, now_ms: i64) {
        match self {
            Self::Closed | Self::Counting(_) => {}
            Self::Open { open_ms, .. } | Self::Probing { open_ms, .. } => {
                *self = Self::Probing {
                    until_ms: now_ms + BREAKER_PROBE_MS,
                    open_ms: *open_ms,
                }
            }
        }
    }

    fn opened(now_ms: i64, open_ms: i64) -> Self {
        Self::Open {
            until_ms: now_ms + open_ms,
            open_ms,
        }
    }

    /// Only *different* steps count: one step that fails over and over says more about itself than about the destination.
    fn note(&mut self, step: Id, health: Health, now_ms: i64) {
        match (health, &mut *self) {
            (Health::Good, _) => *self = Self::Closed,
            // It found nothing out: the next one may try at once.
            (Health::Silent, Self::Probing { open_ms, .. }) => {
                *self = Self::Open {
                    until_ms: now_ms,
                    open_ms: *open_ms,
                }
            }
            (Health::Silent, Self::Closed | Self::Counting(_) | Self::Open { .. }) => {}
            (Health::Bad, Self::Closed) => *self = Self::Counting(vec![step]),
            (Health::Bad, Self::Counting(steps)) => {
                if !steps.contains(&step) {
                    steps.push(step);
                }
                if steps.len() >= BREAKER_TRIPS_AT {
                    *self = Self::opened(now_ms, BREAKER_OPEN_FIRST_MS);
                }
            }
            (Health::Bad, Self::Probing { open_ms, .. }) => {
                *self = Self::opened(now_ms, (*open_ms * 2).min(BREAKER_OPEN_LONGEST_MS));
            }
            (Health::Bad, Self::Open { .. }) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        concurrency: 2,
        interval_us: 100_000,
    };

    fn id(n: u8) -> Id {
        Id::new(1_000, [n; 10])
    }

    #[test]
    fn own_rate_spaces_the_starts() {
        let mut state = GateState::default();
        assert_eq!(
            [0; 3].map(|_| state.turn(1_000, PACE)),
            [Ok(1_000), Ok(1_100), Ok(1_200)]
        );
        assert_eq!(
            state.turn(9_000, PACE),
            Ok(9_000),
            "time that went by unused is not saved up"
        );
    }

    #[test]
    fn a_pause_asked_for_by_the_destination_holds_everybody_until_then() {
        let gate = Gate::new(PACE);
        gate.pause_until(5_000);
        gate.pause_until(3_000);
        assert_eq!(gate.state().turn(4_999, PACE), Err((Wait::RateLimited, 5_000)));
        assert_eq!(gate.state().turn(5_000, PACE), Ok(5_000));
    }

    #[test]
    fn three_different_steps_in_a_row_open_the_breaker_and_one_probe_closes_it() {
        let mut breaker = Breaker::default();
        for _ in 0..9 {
            breaker.note(id(1), Health::Bad, 0);
        }
        assert_eq!(
            breaker.closed_until(0),
            None,
            "one step alone says little about the destination"
        );
        breaker.note(id(2), Health::Bad, 0);
        breaker.note(id(3), Health::Bad, 0);
        assert_eq!(breaker.closed_until(0), Some(1_000));
        breaker.let_through(1_000);
        assert_eq!(breaker.closed_until(1_000), Some(11_000), "one probe at a time");
        breaker.note(id(4), Health::Good, 1_000);
        assert_eq!(breaker.closed_until(1_000), None);
    }

    #[test]
    fn the_longer_an_outage_lasts_the_fewer_probes_go_out() {
        let mut breaker = Breaker::default();
        for n in 1..=3 {
            breaker.note(id(n), Health::Bad, 0);
        }
        let mut probes_ms = Vec::new();
        while let Some(until_ms) = breaker.closed_until(probes_ms.last().copied().unwrap_or_default()) {
            breaker.let_through(until_ms);
            breaker.note(id(4), Health::Bad, until_ms);
            probes_ms.push(until_ms);
            if probes_ms.len() == 9 {
                break;
            }
        }
        let gaps: Vec<i64> = probes_ms.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(
            gaps,
            [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000],
            "and never more than a minute apart, so that it closes soon after the destination is back"
        );
    }

    #[test]
    fn a_good_answer_starts_the_count_anew() {
        let mut breaker = Breaker::default();
        for (step, health) in [
            (1, Health::Bad),
            (2, Health::Bad),
            (3, Health::Good),
            (4, Health::Bad),
            (5, Health::Bad),
        ] {
            breaker.note(id(step), health, 0);
        }
        assert_eq!(breaker.closed_until(0), None);
    }
}
