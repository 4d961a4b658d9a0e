//! All gates of this host, and which connections a person paused.

use super::{Blocked, Failing, Gate, Pace};
use crate::clock::SharedClock;
use crate::ledger::Paused;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// All gates of this host.
pub struct Gates {
    clock: SharedClock,
    known: Mutex<Known>,
    /// Told when one of them may have something to tell to other hosts.
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Known {
    gates: HashMap<String, Arc<Gate>>,
    paused: BTreeMap<String, Paused>,
}

impl Gates {
    /// No gates yet.
    pub fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            known: Mutex::default(),
            changed: Arc::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gate of a connection. A changed pace changes the gate; what the destination asked for stays.
    pub fn of(&self, connection: &str, pace: Pace) -> Arc<Gate> {
        let mut known = self.known();
        if let Some(gate) = known.gates.get(connection) {
            gate.state().pace = pace;
            return Arc::clone(gate);
        }
        let gate = Arc::new(Gate::new(Arc::clone(&self.clock), pace, Arc::clone(&self.changed)));
        gate.state().is_paused = known.paused.contains_key(connection);
        known.gates.insert(connection.to_owned(), Arc::clone(&gate));
        gate
    }

    /// Every gate that somebody came to, with the name of its connection.
    pub fn all(&self) -> Vec<(String, Arc<Gate>)> {
        let known = self.known();
        let gate = |(name, gate): (&String, &Arc<Gate>)| (name.clone(), Arc::clone(gate));
        known.gates.iter().map(gate).collect()
    }

    /// Waits until one of them may have something to tell.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Something could not be told, and is told again.
    pub fn try_again(&self) {
        self.changed.notify_one();
    }

    /// These connections are paused now, and no others; the names of those that were until now.
    pub fn are_paused(&self, paused: Vec<Paused>) -> Vec<String> {
        let paused: BTreeMap<String, Paused> = paused
            .into_iter()
            .map(|paused| (paused.connection.clone(), paused))
            .collect();
        let mut known = self.known();
        for (name, gate) in &known.gates {
            gate.set_paused(paused.contains_key(name));
        }
        let before = std::mem::replace(&mut known.paused, paused);
        let resumed = before.into_keys().filter(|name| !known.paused.contains_key(name));
        resumed.collect()
    }

    /// The connections that a person paused, by name.
    pub fn paused(&self) -> BTreeMap<String, Paused> {
        self.known().paused.clone()
    }

    /// The connections that are blocked now, by name.
    pub fn blocked(&self) -> BTreeMap<String, Blocked> {
        let known = self.known();
        let blocked = |(name, gate): (&String, &Arc<Gate>)| Some((name.clone(), gate.state().credentials.blocked()?));
        known.gates.iter().filter_map(blocked).collect()
    }

    /// The connections whose destination fails now, by name.
    pub fn failing(&self) -> BTreeMap<String, Failing> {
        let known = self.known();
        let failing = |(name, gate): (&String, &Arc<Gate>)| Some((name.clone(), gate.state().breaker.failing()?));
        known.gates.iter().filter_map(failing).collect()
    }
}
