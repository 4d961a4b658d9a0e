//! What all connections of a destination share: the judge behind its lock, the clock of the records, the doors.

use super::judge::Judge;
use super::listener::Door;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub(super) struct Shared {
    judge: Mutex<Judge>,
    /// Counts up whenever the judge was asked or told something.
    changed: watch::Sender<u64>,
    started: Instant,
    doors: BTreeMap<String, Door>,
    later: Mutex<JoinSet<()>>,
    connections: AtomicU64,
}

impl Shared {
    pub fn new(judge: Judge, doors: BTreeMap<String, Door>) -> Shared {
        Shared {
            judge: Mutex::new(judge),
            changed: watch::Sender::new(0),
            started: Instant::now(),
            doors,
            later: Mutex::new(JoinSet::new()),
            connections: AtomicU64::new(0),
        }
    }

    /// The only way to the judge. A panic of another task while it held the lock does not stop the count.
    pub fn with<T>(&self, work: impl FnOnce(&mut Judge) -> T) -> T {
        let mut judge = self.judge.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut judge);
        drop(judge);
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
        result
    }

    /// To be woken when something may have changed.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The judge without waking anybody.
    pub fn read<T>(&self, work: impl FnOnce(&Judge) -> T) -> T {
        work(&self.judge.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of a connection that was just taken, from 1.
    pub fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Something that goes on when its connection is gone.
    pub fn later(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        while later.try_join_next().is_some() {}
        later.spawn(work);
    }

    /// Ends what was put off.
    pub fn give_up_later(&self) {
        self.later.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Closes or opens the own port of a service; `false` where there is none or it cannot be had back.
    pub async fn set_open(&self, service: &str, open: bool) -> bool {
        match self.doors.get(service) {
            Some(door) => door.set_open(open).await,
            None => false,
        }
    }

    /// Closes the own port of a service and opens it after so long.
    pub async fn refuse_for(self: &Arc<Shared>, service: &str, ms: u64) -> bool {
        let refused = self.set_open(service, false).await;
        let (shared, service) = (Arc::clone(self), service.to_owned());
        self.later(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            shared.set_open(&service, true).await;
        });
        refused
    }
}
