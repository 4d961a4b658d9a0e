//! Who waits for a run to come to its end, or to a person.

use oncegate_domain::id::Id;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The runs that somebody waits for. A run that nobody waits for any more takes no memory.
#[derive(Default)]
pub struct News {
    waiting: Mutex<HashMap<Id, Awaited>>,
    /// Runs of this host for which somebody waits at another one.
    elsewhere: Mutex<HashSet<Id>>,
}

/// So many are remembered at most; who waits for another one looks by itself.
const ELSEWHERE_MAX: usize = 10_000;

/// One run, and how many wait for it.
#[derive(Default)]
struct Awaited {
    by: usize,
    notify: Arc<Notify>,
}

/// Somebody's wait for news of one run. Dropped, it is over.
pub struct Waiting {
    news: Arc<News>,
    run: Id,
    notify: Arc<Notify>,
}

impl News {
    /// Begins to wait for news of a run.
    pub fn of(self: &Arc<Self>, run: Id) -> Waiting {
        let notify = {
            let mut waiting = self.waiting();
            let awaited = waiting.entry(run).or_default();
            awaited.by += 1;
            Arc::clone(&awaited.notify)
        };
        Waiting {
            news: Arc::clone(self),
            run,
            notify,
        }
    }

    /// There is news: wakes all who wait for it now.
    pub fn tell(&self, run: Id) {
        if let Some(awaited) = self.waiting().get(&run) {
            awaited.notify.notify_waiters();
        }
    }

    /// Somebody at another host waits for this one.
    pub fn is_awaited_elsewhere(&self, run: Id) {
        let mut elsewhere = self.elsewhere();
        if elsewhere.len() < ELSEWHERE_MAX {
            elsewhere.insert(run);
        }
    }

    /// Whether somebody at another host waits for it; asked once, for then they are told.
    pub fn was_awaited_elsewhere(&self, run: Id) -> bool {
        self.elsewhere().remove(&run)
    }

    fn elsewhere(&self) -> MutexGuard<'_, HashSet<Id>> {
        self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Id, Awaited>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Resolves at the first news from now on.
    pub fn comes(&self) -> Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut waiting = self.news.waiting();
        if let Entry::Occupied(mut awaited) = waiting.entry(self.run) {
            awaited.get_mut().by -= 1;
            if awaited.get().by == 0 {
                awaited.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn all_who_wait_are_told_and_nobody_is_remembered() {
        let news = Arc::new(News::default());
        let run = Id::from_bytes([7; 16]);
        let (first, second) = (news.of(run), news.of(run));
        let (told, also_told) = (first.comes(), second.comes());
        news.tell(Id::from_bytes([8; 16]));
        news.tell(run);
        assert!(told.now_or_never().is_some() && also_told.now_or_never().is_some());
        assert!(first.comes().now_or_never().is_none(), "that was told");
        drop(first);
        assert_eq!(news.waiting().len(), 1);
        drop(second);
        assert_eq!(news.waiting().len(), 0);
    }
}
