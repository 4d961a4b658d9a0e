//! Who may go now: one gate per connection (concurrency, own rate, a person's pause, the destination's `Retry-After`, a block,
//! a breaker).
//! Who has to queue for a place goes by age, oldest first.
//!
//! Everything here is about pace. A step that is told to wait keeps its attempts (DESIGN section 4); whether a step may
//! be tried at all is decided elsewhere, and nothing here knows what a step does.

mod block;
mod breaker;
mod elsewhere;
mod gates;
mod order;
mod starts;

pub use block::{Blocked, Cause, Credentials, Refusal};
pub use breaker::{Failing, Health, News, Seen};
pub use gates::Gates;
pub use starts::Starts;

use crate::clock::SharedClock;
use breaker::Breaker;
use elsewhere::Agreed;
use oncegate_domain::evidence::Evidence;
use oncegate_domain::id::Id;
use oncegate_domain::retry::RetryAfter;
use oncegate_domain::step::Wait;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// Whoever waited for a closed gate wakes at the same moment, and one of them finds out for all: who that is should be
/// decided once they are there, and not by who was quickest.
const GATHER: Duration = Duration::from_millis(20);

/// Pace limits of one connection, as its operator set them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Attempts at the same time.
    pub concurrency: usize,
    /// Shortest time between two starts in microseconds; 0: no own rate.
    pub interval_us: i64,
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

/// A place among the steps that a connection has under way. Whoever drops it lets the next one go, so that a step that
/// was admitted to find out whether the destination is back, and then had nothing to send, holds up nobody.
pub struct Slot {
    gate: Arc<Gate>,
    step: Id,
    /// The breaker or a block lets this one through to find out whether the connection can be used again.
    pub probe: bool,
    /// Where the connection lists a read for that, it is asked before the step goes.
    pub asks_first: bool,
    is_given_back: bool,
}

impl Slot {
    /// The gate that gave it.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Gives the place back and queues for one again, at once: whoever asked in the name of all, and is the oldest, does not
    /// fall behind the others for it.
    pub async fn again(mut self, since_ms: i64) -> Admission {
        self.is_given_back = true;
        let gate = Arc::clone(&self.gate);
        let answer = {
            let mut state = gate.state();
            state.end(self.step, gate.clock.now_ms());
            state.enqueue(self.step, since_ms)
        };
        gate.answer(answer).await
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.is_given_back {
            self.gate.state().end(self.step, self.gate.clock.now_ms());
            self.gate.admit_next();
        }
    }
}

/// The gate of one connection.
pub struct Gate {
    clock: SharedClock,
    state: Mutex<GateState>,
    /// Whoever wants to ask the connection's probe waits for its turn: a hundred steps that are refused at the same moment
    /// ask once.
    asking: tokio::sync::Mutex<()>,
    /// Of the connection's own rate, where other hosts have it in common with this one.
    starts: Starts,
    changed: Arc<Notify>,
}

struct GateState {
    pace: Pace,
    /// A person paused the connection.
    is_paused: bool,
    /// The connection's revision that was in force when somebody came last.
    revision: Option<u32>,
    /// The next start that our own rate allows, in microseconds on the ledger's clock.
    next_start_us: i64,
    /// The destination said: not before.
    told_until_ms: i64,
    credentials: Credentials,
    breaker: Breaker,
    agreed: Agreed,
    /// The steps that hold a slot, and the breaker's era in which each began.
    under_way: HashMap<Id, u64>,
    /// Who waits for a place, oldest first.
    queue: BTreeMap<(i64, Id), oneshot::Sender<Admission>>,
}

impl Gate {
    fn new(clock: SharedClock, pace: Pace, changed: Arc<Notify>) -> Self {
        Self {
            clock,
            state: Mutex::new(GateState {
                pace,
                is_paused: false,
                revision: None,
                next_start_us: 0,
                told_until_ms: 0,
                credentials: Credentials::default(),
                breaker: Breaker::default(),
                agreed: Agreed::default(),
                under_way: HashMap::new(),
                queue: BTreeMap::new(),
            }),
            asking: tokio::sync::Mutex::new(()),
            starts: Starts::default(),
            changed,
        }
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place, behind all steps that are older (`since_ms`), then says whether the step may go. Our own
    /// rate is kept by whoever holds a slot, so that those behind queue up in order instead of all waking at the same
    /// moment; every other wait is returned, so that the step can say why it is where it is.
    pub async fn admit(self: &Arc<Self>, step: Id, since_ms: i64) -> Admission {
        let answer = self.state().enqueue(step, since_ms);
        self.answer(answer).await
    }

    async fn answer(self: &Arc<Self>, answer: oneshot::Receiver<Admission>) -> Admission {
        if self.is_finding_out() {
            tokio::time::sleep(GATHER).await;
        }
        self.admit_next();
        // A gate never drops a sender that it has not answered, but for a newer request of the same step.
        answer.await.unwrap_or_else(|_| Admission::Wait {
            reason: Wait::Paused,
            until_ms: self.clock.now_ms() + 1_000,
        })
    }

    /// Answers all who can be answered now.
    fn admit_next(self: &Arc<Self>) {
        // Told after the lock is given back: a slot that nobody waits for any more is dropped on the spot, and its drop
        // takes the lock.
        let mut answers = Vec::new();
        {
            let mut state = self.state();
            let now_ms = self.clock.now_ms();
            if let Some((reason, until_ms)) = state.closed(now_ms) {
                for (_, told) in std::mem::take(&mut state.queue) {
                    answers.push((told, Admission::Wait { reason, until_ms }));
                }
            }
            while state.has_room()
                && let Some((step, told)) = state.next_in_queue()
            {
                let start_ms = state.begin(step, now_ms);
                let slot = Slot {
                    gate: Arc::clone(self),
                    step,
                    probe: state.finds_out(step),
                    asks_first: state.breaker.is_open() || state.credentials.is_blocked(),
                    is_given_back: false,
                };
                answers.push((told, Admission::Go { slot, start_ms }));
            }
        }
        for (told, admission) in answers {
            drop(told.send(admission));
        }
    }

    /// Changes what is known, and answers those who can be answered by it. Most of what is noted changes nothing for anybody:
    /// a success where all is well costs the queue no look.
    fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut GateState) -> T) -> T {
        let (changed, is_news) = {
            let mut state = self.state();
            let before = state.terms();
            let changed = change(&mut state);
            (changed, before != state.terms())
        };
        if is_news {
            self.admit_next();
            self.changed.notify_one();
        }
        changed
    }

    /// Keeps everybody away until then: the destination asked for it.
    pub fn pause_until(self: &Arc<Self>, until_ms: i64) {
        self.change(|state| state.told_until_ms = state.told_until_ms.max(until_ms));
    }

    /// A person paused the connection, or let it go on.
    pub fn set_paused(self: &Arc<Self>, is_paused: bool) {
        self.change(|state| state.is_paused = is_paused);
    }

    /// The starts that its own rate allows, where hosts have it in common; with the shortest time between two, 0: no own rate.
    pub fn starts(&self) -> (&Starts, i64) {
        (&self.starts, self.state().pace.interval_us)
    }

    /// A step waits for the breaker since before a restart.
    pub fn was_open(self: &Arc<Self>, until_ms: i64) {
        let now_ms = self.clock.now_ms();
        self.change(|state| state.breaker.was_open(until_ms, now_ms));
    }

    /// Keeps everybody away where the destination said so on the wire. An absurd time is not believed: the step that got
    /// it goes to a person, and the others find out for themselves. What the step that got the answer waits for, too: it is
    /// by its wait that the pause is known after a restart.
    pub fn heed(
        self: &Arc<Self>,
        evidence: Evidence,
        told: RetryAfter,
        now_ms: i64,
        wait_longest_ms: u64,
    ) -> Option<(Wait, i64)> {
        match (evidence, told) {
            (Evidence::Answered(425 | 429 | 503), RetryAfter::Until(until_ms))
                if until_ms <= now_ms.saturating_add_unsigned(wait_longest_ms) =>
            {
                self.pause_until(until_ms);
                (until_ms > now_ms).then_some((Wait::RateLimited, until_ms))
            }
            (Evidence::None | Evidence::NothingSent | Evidence::MaybeSent | Evidence::Answered(_), _) => None,
        }
    }

    /// A new revision of the connection may have mended what keeps its steps away: whoever comes next looks at once. What the
    /// destination asked for holds all the same.
    pub fn at_revision(&self, revision: u32) {
        let now_ms = self.clock.now_ms();
        let mut state = self.state();
        let before = state.revision.replace(revision);
        if before.is_some_and(|before| before != revision) {
            state.credentials.look_now(now_ms);
            state.breaker.look_now(now_ms);
        }
    }

    /// Whether nobody may go now.
    pub fn is_closed(&self) -> bool {
        self.state().closed(self.clock.now_ms()).is_some()
    }

    /// Looks at, or changes, what is known of the connection's credentials.
    pub fn credentials<T>(self: &Arc<Self>, change: impl FnOnce(&mut Credentials) -> T) -> T {
        self.change(|state| change(&mut state.credentials))
    }

    /// Waits for the turn to ask the connection's probe.
    pub async fn turn_to_ask(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.asking.lock().await
    }

    /// Whether this step, should it go now, goes to find out on behalf of the others.
    pub fn finds_out(&self, step: Id) -> bool {
        self.state().finds_out(step)
    }

    fn is_finding_out(&self) -> bool {
        self.state().is_finding_out()
    }

    /// Takes note of how the connection's read answered on behalf of all who wait for the breaker.
    pub fn probed(self: &Arc<Self>, health: Health, now_ms: i64) {
        self.change(|state| state.breaker.probed(health, now_ms));
    }

    /// Takes note of how an exchange of a step went that holds a slot; what of it is news.
    pub fn note(self: &Arc<Self>, seen: Seen, now_ms: i64) -> Option<News> {
        self.change(|state| {
            let era = *state.under_way.get(&seen.step)?;
            let full = state.pace.concurrency;
            state.breaker.note(seen, era, now_ms, full)
        })
    }
}

impl GateState {
    /// What decides, beside who is under way, whether one more may go or all are told to wait.
    fn terms(&self) -> (bool, i64, block::Terms, breaker::Terms) {
        let (credentials, breaker) = (self.credentials.terms(), self.breaker.terms());
        (self.is_paused, self.told_until_ms, credentials, breaker)
    }

    /// Why nobody may go now, and until when.
    fn closed(&self, now_ms: i64) -> Option<(Wait, i64)> {
        if self.is_paused {
            // Until a person lets it go on; how long a step may wait is bounded elsewhere.
            return Some((Wait::Paused, i64::MAX));
        }
        if now_ms < self.told_until_ms {
            return Some((Wait::RateLimited, self.told_until_ms));
        }
        if let Some(until_ms) = self.credentials.closed_until(now_ms) {
            return Some((Wait::ConnectionBlocked, until_ms));
        }
        let until_ms = self.breaker.closed_until(now_ms)?;
        Some((Wait::BreakerOpen, until_ms))
    }

    /// Whether one more may go. What began before the breaker last opened takes a place of the connection's, but none of
    /// the ramp's.
    fn has_room(&self) -> bool {
        let full = self.pace.concurrency.max(1);
        let at_once = self.breaker.at_once_max(full);
        let era = self.breaker.era();
        self.under_way.len() < full
            && self.credentials.has_room()
            && (at_once == full || self.under_way.values().filter(|began| **began == era).count() < at_once)
    }

    fn enqueue(&mut self, step: Id, since_ms: i64) -> oneshot::Receiver<Admission> {
        let (told, answer) = oneshot::channel();
        self.queue.insert((since_ms, step), told);
        answer
    }

    /// The step gives its place back.
    fn end(&mut self, step: Id, now_ms: i64) {
        self.under_way.remove(&step);
        self.credentials.end(step, now_ms);
    }

    /// Gives the step a place; when it may start.
    fn begin(&mut self, step: Id, now_ms: i64) -> i64 {
        self.under_way.insert(step, self.breaker.era());
        self.credentials.begin(step);
        let start_us = self.next_start_us.max(now_ms * 1_000);
        self.next_start_us = start_us + self.pace.interval_us;
        start_us.div_euclid(1_000) + i64::from(start_us.rem_euclid(1_000) > 0)
    }
}

#[cfg(test)]
mod tests;
