//! The lease of this host, as it knows it: under which epoch it writes, and until when.
//!
//! The end is kept on the boot clock, which counts suspended time, and is counted from before the renewal was asked for: so
//! this host always believes it to be over before the database does. That clock is always the machine's own: a lease is the
//! database's, whatever time a test shows to its host.

use super::{LedgerError, Result};
use crate::clock::{Clock, SystemClock};
use oncegate_domain::id::Id;
use std::sync::atomic::{AtomicI64, Ordering};
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
    /// The greatest number where there is no lease: the ledger is this host's alone.
    until_boot_ms: AtomicI64,
    news: watch::Sender<HostNews>,
}

impl Lease {
    pub(super) fn new(epoch: i64, until_boot_ms: Option<i64>) -> Self {
        Lease {
            epoch: AtomicI64::new(epoch),
            until_boot_ms: AtomicI64::new(until_boot_ms.unwrap_or(i64::MAX)),
            news: watch::Sender::new(HostNews::default()),
        }
    }

    pub(super) fn epoch(&self) -> i64 {
        self.epoch.load(Ordering::SeqCst)
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
    pub(super) fn renewed(&self, epoch: i64, until_boot_ms: i64, left_behind: bool) {
        let was_lost = self.epoch.swap(epoch, Ordering::SeqCst) != epoch;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> Id {
        Id::from_bytes([1; 16])
    }

    #[test]
    fn nothing_is_sent_past_the_lease() {
        let lease = Lease::new(7, Some(10_000));
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
        let lease = Lease::new(1, None);
        assert_eq!(lease.send_within_ms(step(), 1, 5_000).unwrap(), 5_000);
    }

    #[test]
    fn a_lost_lease_is_news_and_so_is_what_was_left_behind() {
        let lease = Lease::new(1, Some(0));
        let news = lease.news();
        lease.renewed(1, 10, true);
        assert_eq!((news.borrow().lost, news.borrow().left_behind), (0, true));
        lease.renewed(3, 10, false);
        assert_eq!((news.borrow().lost, news.borrow().left_behind), (1, false));
        assert_eq!(lease.epoch(), 3);
    }
}
