//! The lease of this host, as it knows it: under which epoch it writes, and until when.
//!
//! The end is kept on the boot clock, which counts suspended time, and is counted from before the renewal was asked for: so
//! this host always believes it to be over before the database does. That clock is always the machine's own: a lease is the
//! database's, whatever time a test shows to its host.

use super::{LedgerError, Result};
use crate::clock::{Clock, SystemClock};
use oncegate_domain::id::Id;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// For how long a lease is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerm {
    /// Milliseconds.
    pub ms: u64,
}

impl LeaseTerm {
    /// What is usual: 15 s.
    pub const USUAL: LeaseTerm = LeaseTerm { ms: 15_000 };
}

impl Default for LeaseTerm {
    fn default() -> Self {
        LeaseTerm::USUAL
    }
}

/// Of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    pub epoch: i64,
    /// Tells it from another that got the same number from a ledger which had forgotten this one.
    pub started_ms: i64,
}

/// A request that could not leave within this time is not even recorded.
const SEND_WITHIN_MS_MIN: u64 = 200;

/// What this host learned at its last pulses. Only the numbers grow; whoever looks compares them with those it saw before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostNews {
    /// Pulses so far.
    pulses: u64,
    /// How often this host has lost its lease and went on under a new epoch.
    pub lost: u64,
    /// Whether epochs that have ended still had due work at the last pulse.
    pub left_behind: bool,
}

/// See the module's words.
#[derive(Debug)]
pub(super) struct Lease {
    epoch: AtomicI64,
    start: Mutex<Start>,
    /// An epoch, and how many commits of it are known to be durable.
    vouched: Mutex<(i64, i64)>,
    /// The greatest number where there is no lease: the ledger is this host's alone.
    until_boot_ms: AtomicI64,
    news: watch::Sender<HostNews>,
}

impl Lease {
    pub(super) fn new(start: Start, until_boot_ms: Option<i64>) -> Self {
        Lease {
            epoch: AtomicI64::new(start.epoch),
            start: Mutex::new(start),
            vouched: Mutex::default(),
            until_boot_ms: AtomicI64::new(until_boot_ms.unwrap_or(i64::MAX)),
            news: watch::Sender::new(HostNews::default()),
        }
    }

    pub(super) fn epoch(&self) -> i64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// The same, with when it began.
    pub(super) fn start(&self) -> Start {
        *locked(&self.start)
    }

    /// So many commits of an epoch are durable.
    pub(super) fn vouch(&self, epoch: i64, position: i64) {
        *locked(&self.vouched) = (epoch, position);
    }

    /// How many commits of this epoch are known to be durable. What the ledger was told last may have been of the one before.
    pub(super) fn vouched(&self) -> i64 {
        let (epoch, position) = *locked(&self.vouched);
        if epoch == self.epoch() { position } else { 0 }
    }

    /// Now, on the clock by which leases are kept.
    pub(super) fn now_boot_ms() -> i64 {
        SystemClock.boot_ms()
    }

    /// Whether it is not over yet, as far as this host knows.
    pub(super) fn holds(&self, boot_ms: i64) -> bool {
        boot_ms < self.until_boot_ms.load(Ordering::SeqCst)
    }

    /// # Errors
    /// It is over: nobody can say who works on this ledger now, or whether anybody does.
    pub(super) fn must_hold(&self) -> Result<()> {
        match self.holds(Lease::now_boot_ms()) {
            true => Ok(()),
            false => Err(LedgerError::LeaseEnds),
        }
    }

    /// It was renewed, or another one was taken.
    pub(super) fn renewed(&self, start: Start, until_boot_ms: i64, left_behind: bool) {
        *locked(&self.start) = start;
        let was_lost = self.epoch.swap(start.epoch, Ordering::SeqCst) != start.epoch;
        self.until_boot_ms.store(until_boot_ms, Ordering::SeqCst);
        self.news.send_modify(|news| {
            news.pulses += 1;
            news.lost += u64::from(was_lost);
            news.left_behind = left_behind;
        });
    }

    pub(super) fn news(&self) -> watch::Receiver<HostNews> {
        self.news.subscribe()
    }

    /// For how long from now on a step of `epoch` may begin to send: `at_most_ms`, and never past the lease.
    pub(super) fn send_within_ms(&self, step: Id, epoch: i64, at_most_ms: u64) -> Result<u64> {
        self.send_within_ms_at(step, epoch, Lease::now_boot_ms(), at_most_ms)
    }

    fn send_within_ms_at(&self, step: Id, epoch: i64, boot_ms: i64, at_most_ms: u64) -> Result<u64> {
        if self.epoch() != epoch {
            return Err(LedgerError::LeaseLost { step, epoch });
        }
        let left_ms = self.until_boot_ms.load(Ordering::SeqCst).saturating_sub(boot_ms);
        let left_ms = u64::try_from(left_ms).unwrap_or(0);
        match left_ms < SEND_WITHIN_MS_MIN {
            true => Err(LedgerError::LeaseEnds),
            false => Ok(left_ms.min(at_most_ms)),
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(epoch: i64) -> Start {
        Start { epoch, started_ms: 1 }
    }

    fn step() -> Id {
        Id::from_bytes([1; 16])
    }

    #[test]
    fn nothing_is_sent_past_the_lease() {
        let lease = Lease::new(start(7), Some(10_000));
        let within = |boot_ms| lease.send_within_ms_at(step(), 7, boot_ms, 5_000);
        assert_eq!(within(4_000).unwrap(), 5_000);
        assert_eq!(within(5_001).unwrap(), 4_999);
        assert_eq!(within(9_800).unwrap(), 200);
        assert!(matches!(within(9_801), Err(LedgerError::LeaseEnds)));
        assert!(matches!(within(99_000), Err(LedgerError::LeaseEnds)));
        assert!(lease.holds(9_999) && !lease.holds(10_000));
        let earlier = lease.send_within_ms_at(step(), 6, 0, 5_000);
        assert!(matches!(earlier, Err(LedgerError::LeaseLost { epoch: 6, .. })));
    }

    #[test]
    fn who_is_alone_needs_no_lease() {
        let lease = Lease::new(start(1), None);
        assert_eq!(lease.send_within_ms(step(), 1, 5_000).unwrap(), 5_000);
    }

    #[test]
    fn a_lost_lease_is_news_and_so_is_what_was_left_behind() {
        let lease = Lease::new(start(1), Some(0));
        let news = lease.news();
        lease.renewed(start(1), 10, true);
        assert_eq!((news.borrow().lost, news.borrow().left_behind), (0, true));
        lease.renewed(start(3), 10, false);
        assert_eq!((news.borrow().lost, news.borrow().left_behind), (1, false));
        assert_eq!(lease.epoch(), 3);
    }

    #[test]
    fn what_was_durable_of_an_earlier_epoch_says_nothing_of_this_one() {
        let lease = Lease::new(start(1), None);
        lease.vouch(1, 7);
        assert_eq!(lease.vouched(), 7);
        lease.renewed(start(2), 10, false);
        assert_eq!((lease.vouched(), lease.start()), (0, start(2)));
        lease.vouch(1, 8);
        assert_eq!(lease.vouched(), 0);
    }
}
