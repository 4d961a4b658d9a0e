//! The pulse: renews the lease of this host, well before it is over, and finds out who else lives.

use super::hosts::Starting;
use super::lease::Lease;
use super::{Inner, Ledger, Result, postgres};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// So many pulses in the time of one lease: some of them may be late or lost.
const PULSES_PER_LEASE: u32 = 5;
/// Where one failed, the next comes sooner.
const AGAIN: Duration = Duration::from_millis(500);

/// Beats for as long as somebody holds the ledger.
pub(super) async fn keep(ledger: Weak<Inner>, starting: Starting) {
    let interval = Duration::from_millis(starting.term.ms) / PULSES_PER_LEASE;
    let starting = Arc::new(starting);
    let mut pause = interval;
    loop {
        // Real time, whatever the clock of this host shows: a lease is the database's.
        tokio::time::sleep(pause).await;
        let Some(inner) = ledger.upgrade() else { return };
        pause = match (Ledger { inner }).beat(&starting).await {
            Ok(()) => interval,
            Err(error) => {
                tracing::warn!(%error, "the lease of this host could not be renewed; it is tried again");
                AGAIN.min(interval)
            }
        };
    }
}

impl Ledger {
    /// One beat.
    pub(super) async fn beat(&self, starting: &Arc<Starting>) -> Result<()> {
        let lease = &self.inner.lease;
        let (start, asked_boot_ms) = (lease.start(), Lease::now_boot_ms());
        let is_in_time = lease.holds(asked_boot_ms);
        let asked = Arc::clone(starting);
        let beat = self
            .rare(move |mut conn| {
                let starting = Arc::clone(&asked);
                Box::pin(async move { postgres::hosts::beat(&mut conn, &starting, start, is_in_time).await })
            })
            .await?;
        for (epoch, host) in &beat.ended {
            tracing::warn!(host, epoch, "a host has not renewed its lease; its work is taken over");
        }
        if beat.start != start {
            tracing::warn!(
                epoch = beat.start.epoch,
                "this host had lost its lease (it was stopped, or cut off from the database); others may have taken its \
                 work, and it goes on under a new one: nothing is lost by it"
            );
        }
        lease.renewed(
            beat.start,
            asked_boot_ms.saturating_add_unsigned(starting.term.ms),
            beat.left_behind,
        );
        // A time that was not asked for now is asked for at the next pulse.
        if let Err(error) = self.follow_clock().await {
            tracing::debug!(%error, "the database's clock could not be read");
        }
        Ok(())
    }

    /// The time of all hosts is the database's.
    async fn follow_clock(&self) -> Result<()> {
        let now_ms = postgres::hosts::now_ms(&mut self.snapshot().await?.conn()).await?;
        self.inner.clock.follow(now_ms);
        Ok(())
    }
}
