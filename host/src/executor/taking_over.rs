//! Several hosts on one ledger: this one takes the work of those that have ended, and goes on where it had lost its own lease.

use super::settle::Abandoned;
use super::{Shared, recovery};
use crate::ledger::HostNews;
use std::sync::Arc;

/// When the ledger could not be read, how long to wait.
const AGAIN_MS: i64 = 1_000;

impl Shared {
    /// Looks around at every pulse of this host, until it goes down.
    pub(super) async fn keep_taking_over(self: Arc<Self>) {
        let mut news = self.ledger.host_news();
        let mut lost_before = news.borrow_and_update().lost;
        loop {
            let changed = tokio::select! {
                changed = news.changed() => changed,
                () = self.stop.cancelled() => return,
            };
            if changed.is_err() {
                return;
            }
            let now = *news.borrow_and_update();
            while let Err(error) = self.look_around(now, now.lost != lost_before).await {
                tracing::error!(%error, "the work of hosts that have ended could not be read");
                if !self.sleep_until(self.clock.now_ms() + AGAIN_MS).await {
                    return;
                }
            }
            lost_before = now.lost;
        }
    }

    async fn look_around(self: &Arc<Self>, now: HostNews, has_lost: bool) -> Result<(), Abandoned> {
        if has_lost {
            self.live.forget_earlier(self.ledger.epoch());
        }
        if now.left_behind {
            let found = recovery::settle_all(self).await?;
            if found > 0 {
                tracing::info!(
                    found,
                    "steps that a host left under way are in doubt and are settled now"
                );
            }
        }
        // Also what people made due at other hosts.
        self.look_for_backlog().await
    }
}
