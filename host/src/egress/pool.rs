//! Idle connections, apart for each connection of the operator. They hold only what ended cleanly; a request may use one, but
//! nothing is ever sent again because one of them turned out to be closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::Reuse;
use super::address::forbidden;
use super::connection::Connection;
use super::place::Place;
use crate::clock::SharedClock;
use oncegate_domain::limits::REUSE_UNPROTECTED_IDLE_MS_MAX;

/// Below the 5 s after which the most impatient servers (Node) close an idle connection: a request that meets the close on its
/// way would be in doubt.
pub(super) const IDLE_MS_MAX: i64 = 4_000;
/// Idle connections of one pool: as many as one host uses at a time when it is busy, or they would be made anew all the time.
pub(super) const IDLE_PER_POOL_MAX: usize = 128;
/// Idle connections in all.
const IDLE_MAX: usize = 512;

pub(super) struct Pool {
    clock: SharedClock,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    pools: HashMap<String, Vec<Parked>>,
    count: usize,
    swept: bool,
}

struct Parked {
    connection: Connection,
    place: Place,
    since_boot_ms: i64,
}

impl Pool {
    pub fn new(clock: SharedClock) -> Arc<Self> {
        Arc::new(Self {
            clock,
            idle: Mutex::default(),
        })
    }

    /// An idle connection to exactly this place, the one used last.
    pub fn take(&self, place: &Place, reuse: Reuse<'_>) -> Option<Connection> {
        let (name, idle_ms_max) = match reuse {
            Reuse::Never => return None,
            Reuse::Pool(name) => (name, IDLE_MS_MAX),
            Reuse::PoolJustUsed(name) => (name, REUSE_UNPROTECTED_IDLE_MS_MAX.cast_signed()),
        };
        let oldest_boot_ms = self.clock.boot_ms() - idle_ms_max;
        loop {
            let mut parked = self.lock().take(name, place, oldest_boot_ms)?;
            // The place is equal, but the table of closed addresses is asked again all the same.
            let open = forbidden(parked.connection.peer().ip(), &place.allow_addresses).is_none();
            if open && parked.connection.is_reusable() {
                return Some(parked.connection);
            }
        }
    }

    /// Keeps a connection that ended cleanly.
    pub fn park(self: &Arc<Self>, name: &str, place: Place, connection: Connection) {
        let since_boot_ms = self.clock.boot_ms();
        let mut idle = self.lock();
        let Some(connection) = idle.park(
            name,
            Parked {
                connection,
                place,
                since_boot_ms,
            },
        ) else {
            if !std::mem::replace(&mut idle.swept, true) {
                tokio::spawn(sweep(Arc::downgrade(self)));
            }
            return;
        };
        drop(idle);
        connection.finish();
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn take(&mut self, name: &str, place: &Place, oldest_boot_ms: i64) -> Option<Parked> {
        let pool = self.pools.get_mut(name)?;
        let at = pool
            .iter()
            .rposition(|parked| parked.place == *place && parked.since_boot_ms > oldest_boot_ms)?;
        self.count -= 1;
        Some(pool.remove(at))
    }

    /// Gives the connection back where there is no room.
    fn park(&mut self, name: &str, parked: Parked) -> Option<Connection> {
        let pool = self.pools.entry(name.to_owned()).or_default();
        if pool.len() >= IDLE_PER_POOL_MAX || self.count >= IDLE_MAX {
            return Some(parked.connection);
        }
        pool.push(parked);
        self.count += 1;
        None
    }

    /// Takes out what has been idle for too long.
    fn expire(&mut self, oldest_boot_ms: i64) -> Vec<Parked> {
        let mut expired = Vec::new();
        self.pools.retain(|_, pool| {
            expired.extend(pool.extract_if(.., |parked| parked.since_boot_ms <= oldest_boot_ms));
            !pool.is_empty()
        });
        self.count -= expired.len();
        expired
    }
}

/// Runs while anything is idle.
async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let Some(pool) = pool.upgrade() else { return };
        let oldest_boot_ms = pool.clock.boot_ms() - IDLE_MS_MAX;
        let mut idle = pool.lock();
        let expired = idle.expire(oldest_boot_ms);
        idle.swept = idle.count > 0;
        let go_on = idle.swept;
        drop(idle);
        expired.into_iter().for_each(|parked| parked.connection.finish());
        if !go_on {
            return;
        }
    }
}
