//! The starts that a connection's own rate allows, where several hosts have it in common: each has some of them given to it at
//! a time, by whoever keeps count for all.

use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::{Mutex, MutexGuard};

/// Starts that are asked for at once lie within so much time at most: what one host has, no other can use.
const BATCH_US_MAX: i64 = 500_000;

/// The starts that this host was given and has not used.
#[derive(Debug, Default)]
pub struct Starts {
    /// Whoever holds it asks for all who wait.
    batch: Mutex<Batch>,
    wanted: AtomicU32,
}

/// So many starts, one interval after the other.
#[derive(Debug, Default)]
struct Batch {
    first_us: i64,
    left: u32,
    interval_us: i64,
}

/// Somebody's turn to have a start, in the order in which they came. Dropped, it is over.
pub struct Turn<'a> {
    batch: MutexGuard<'a, Batch>,
    wanted: Wanted<'a>,
}

/// Somebody who wants a start.
struct Wanted<'a>(&'a AtomicU32);

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Starts {
    /// Waits for the turn of whoever wants a start.
    pub async fn turn(&self) -> Turn<'_> {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        let wanted = Wanted(&self.wanted);
        Turn {
            batch: self.batch.lock().await,
            wanted,
        }
    }
}

impl Turn<'_> {
    /// The next start that this host has, in microseconds; `None`: more must be asked for.
    pub fn next(&mut self, interval_us: i64, now_us: i64) -> Option<i64> {
        self.batch.next(interval_us, now_us)
    }

    /// How many to ask for: one for each who wants one.
    pub fn count(&self, interval_us: i64) -> u32 {
        let most = u32::try_from(BATCH_US_MAX / interval_us.max(1)).unwrap_or(u32::MAX);
        self.wanted.0.load(Ordering::Relaxed).clamp(1, most.max(1))
    }

    /// So many were given, from this one on; the next of them.
    pub fn given(&mut self, first_us: i64, count: u32, interval_us: i64, now_us: i64) -> i64 {
        *self.batch = Batch {
            first_us,
            left: count,
            interval_us,
        };
        self.batch.next(interval_us, now_us).unwrap_or(first_us)
    }
}

impl Batch {
    /// Nothing is saved up: of a start whose interval has passed nobody makes use.
    fn next(&mut self, interval_us: i64, now_us: i64) -> Option<i64> {
        while self.left > 0 && self.interval_us == interval_us {
            let start_us = self.first_us;
            self.first_us += self.interval_us;
            self.left -= 1;
            if self.first_us > now_us {
                return Some(start_us.max(now_us));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY_US: i64 = 100_000;

    #[tokio::test]
    async fn as_many_are_asked_for_as_are_wanted_and_no_more_than_for_half_a_second() {
        let starts = Starts::default();
        let first = starts.turn().await;
        assert_eq!(first.count(EVERY_US), 1);
        let mut others: Vec<_> = (0..9).map(|_| Box::pin(starts.turn())).collect();
        for other in &mut others {
            assert!(futures::poll!(other).is_pending());
        }
        assert_eq!(first.count(EVERY_US), 5);
        others.truncate(2);
        assert_eq!((first.count(EVERY_US), first.count(10_000_000)), (3, 1));
        drop(first);
        let mut second = others.remove(0).await;
        assert_eq!(second.next(EVERY_US, 0), None);
        assert_eq!(second.given(7_000_000, 2, EVERY_US, 0), 7_000_000);
        drop(second);
        let mut third = others.remove(0).await;
        assert_eq!(third.next(EVERY_US, 0), Some(7_100_000));
        assert_eq!(third.next(EVERY_US, 0), None);
    }

    #[test]
    fn of_a_start_whose_interval_has_passed_nobody_makes_use() {
        let batch = || Batch {
            first_us: 0,
            left: 5,
            interval_us: EVERY_US,
        };
        let mut late = batch();
        assert_eq!(
            late.next(EVERY_US, 350_000),
            Some(350_000),
            "the one whose interval it is"
        );
        assert_eq!(late.next(EVERY_US, 350_000), Some(400_000));
        assert_eq!(late.next(EVERY_US, 350_000), None);
        assert_eq!(batch().next(EVERY_US, 600_000), None);
        assert_eq!(batch().next(2 * EVERY_US, 0), None, "another rate is in force");
    }
}
