//! What a gate tells to other hosts, and what theirs means here.
//!
//! A host finds out by its own exchanges; what it found out is told once it is news, and goes before what it heard sooner.
//! What a host was told itself it does not tell on.

use super::{Blocked, Failing, Gate, GateState};
use crate::ledger::{Closure, GateKind, StoredGate};
use std::sync::Arc;

/// Whoever found out is the first to look again, and all others hear of it before they would.
const HEAR_FIRST_MS: i64 = 1_000;

/// What the hosts agree on about a gate, as far as this one knows: what was told last, by whomever.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    told_to_wait: Agreement,
    blocked: Agreement,
    failing: Agreement,
}

#[derive(Debug, Default)]
struct Agreement {
    version: i64,
    /// As this host sees it since then.
    closure: Closure,
}

impl Agreed {
    fn of(&mut self, kind: GateKind) -> &mut Agreement {
        match kind {
            GateKind::ToldToWait => &mut self.told_to_wait,
            GateKind::Blocked => &mut self.blocked,
            GateKind::Failing => &mut self.failing,
        }
    }
}

impl Gate {
    /// What this host found out and nobody was told yet.
    pub fn untold(&self) -> Vec<(GateKind, Closure)> {
        let mut state = self.state();
        let mut untold = Vec::new();
        for kind in GateKind::ALL {
            let closure = state.closure(kind);
            if state.agreed.of(kind).closure != closure {
                untold.push((kind, closure));
            }
        }
        untold
    }

    /// All others can read it now.
    pub fn told(&self, kind: GateKind, closure: Closure, version: i64) {
        *self.state().agreed.of(kind) = Agreement { version, closure };
    }

    /// Heeds what is stored; `true`: another host told it, and it changes something here.
    pub fn hear(self: &Arc<Self>, stored: &StoredGate) -> bool {
        self.take_in(stored, HEAR_FIRST_MS)
    }

    /// Heeds what is stored at the start of this host: nobody knows whether the one that found it out is still there.
    pub fn remember(self: &Arc<Self>, stored: &StoredGate) {
        self.take_in(stored, 0);
    }

    fn take_in(self: &Arc<Self>, stored: &StoredGate, later_ms: i64) -> bool {
        let now_ms = self.clock.now_ms();
        self.change(|state| {
            if stored.version <= state.agreed.of(stored.kind).version {
                return false;
            }
            let is_news = state.heed(stored.kind, &stored.closure, later_ms, now_ms);
            let closure = state.closure(stored.kind);
            *state.agreed.of(stored.kind) = Agreement {
                version: stored.version,
                closure,
            };
            is_news
        })
    }
}

impl GateState {
    /// How this host sees it, without what is its own affair.
    fn closure(&self, kind: GateKind) -> Closure {
        match kind {
            GateKind::ToldToWait => Closure {
                until_ms: self.told_until_ms,
                ..Closure::default()
            },
            GateKind::Blocked => self.credentials.to_tell().map(Closure::from).unwrap_or_default(),
            GateKind::Failing => self.breaker.failing().map(Closure::from).unwrap_or_default(),
        }
    }

    fn heed(&mut self, kind: GateKind, closure: &Closure, later_ms: i64, now_ms: i64) -> bool {
        match (kind, closure.since_ms) {
            (GateKind::ToldToWait, _) => {
                let before_ms = self.told_until_ms;
                self.told_until_ms = before_ms.max(closure.until_ms);
                before_ms < closure.until_ms && now_ms < closure.until_ms
            }
            (GateKind::Blocked, Some(since_ms)) => {
                let blocked = Blocked {
                    why: closure.why.clone(),
                    since_ms,
                    next_look_ms: closure.until_ms,
                };
                self.credentials.heard_blocked(blocked, later_ms, now_ms)
            }
            (GateKind::Blocked, None) => self.credentials.heard_usable(),
            (GateKind::Failing, Some(since_ms)) => {
                let failing = Failing {
                    why: closure.why.clone(),
                    since_ms,
                    until_ms: closure.until_ms,
                };
                self.breaker.heard_failing(failing, later_ms, now_ms)
            }
            (GateKind::Failing, None) => self.breaker.heard_well(),
        }
    }
}

impl From<Blocked> for Closure {
    fn from(blocked: Blocked) -> Self {
        Self {
            since_ms: Some(blocked.since_ms),
            until_ms: blocked.next_look_ms,
            why: blocked.why,
        }
    }
}

impl From<Failing> for Closure {
    fn from(failing: Failing) -> Self {
        Self {
            since_ms: Some(failing.since_ms),
            until_ms: failing.until_ms,
            why: failing.why,
        }
    }
}

#[cfg(test)]
mod tests;
