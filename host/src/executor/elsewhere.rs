//! What other hosts do that share this ledger, and what they should know of this one.
//!
//! Whoever hears news reads what is there; news that were missed are found by looking, so nothing here is urgent. The pauses
//! of people are read the same way on every ledger: they are stored, and everything else is what somebody found out.

use super::Shared;
use super::capacity::Gate;
use super::settle::Abandoned;
use crate::ledger::{GateKind, LedgerError, Neighbours, News, PersonPause, StoredGate};
use oncegate_domain::id::Id;
use std::sync::Arc;
use std::time::Duration;

/// When something could not be told or read, how long to wait before the next try.
const AGAIN: Duration = Duration::from_secs(1);

impl Shared {
    /// Reads what keeps connections from being used, before the first step goes.
    pub(super) async fn remember_gates(&self) -> Result<(), LedgerError> {
        if let Some(neighbours) = self.ledger.neighbours() {
            for stored in neighbours.gates().await? {
                if let Some(gate) = self.gate_of(&stored.connection) {
                    gate.remember(&stored);
                }
            }
        }
        self.gates.are_paused(self.ledger.pauses().await?);
        Ok(())
    }

    /// Hears what others tell and tells them what this host finds out, until it goes down. Does nothing where it is alone.
    pub(super) fn keep_in_touch(self: &Arc<Self>) {
        let Some(neighbours) = self.ledger.neighbours().cloned() else {
            return;
        };
        self.tasks.spawn(Arc::clone(self).keep_telling(neighbours.clone()));
        self.tasks.spawn(Arc::clone(self).keep_reloading());
        self.tasks.spawn(Arc::clone(self).keep_hearing(neighbours));
    }

    async fn keep_hearing(self: Arc<Self>, neighbours: Neighbours) {
        let mut heard = neighbours.listen();
        loop {
            let news = tokio::select! {
                news = heard.recv() => news,
                () = self.stop.cancelled() => None,
            };
            let Some(news) = news else { return };
            match news {
                News::Catalog => self.catalog_changed.notify_one(),
                News::Gates => self.hear_gates().await,
                News::Work { epoch } if epoch == self.ledger.epoch() => self.hear_work().await,
                News::Work { .. } => {}
                News::Awaited { run } => self.is_awaited(run),
                News::Ended { run } => self.news.tell(run),
            }
        }
    }

    /// Compiling what is new can take long, and other news must not wait for it.
    async fn keep_reloading(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.catalog_changed.notified() => {}
                () = self.stop.cancelled() => return,
            }
            match self.catalog.reload().await {
                Ok(()) => self.look_again(),
                Err(error) => {
                    tracing::warn!(%error, "what another host changed could not be read; it is tried again");
                    tokio::time::sleep(AGAIN).await;
                    self.catalog_changed.notify_one();
                }
            }
        }
    }

    async fn keep_telling(self: Arc<Self>, neighbours: Neighbours) {
        loop {
            tokio::select! {
                () = self.gates.changed() => {}
                () = self.stop.cancelled() => return,
            }
            let turn = self.gates_turn.lock().await;
            let told = self.tell_gates(&neighbours).await;
            drop(turn);
            if let Err(error) = told {
                tracing::debug!(%error, "other hosts could not be told what was found out about a connection");
                tokio::time::sleep(AGAIN).await;
                self.gates.try_again();
            }
        }
    }

    async fn tell_gates(&self, neighbours: &Neighbours) -> Result<(), LedgerError> {
        for (connection, gate) in self.gates.all() {
            for (kind, closure) in gate.untold() {
                let version = neighbours.tell_gate(&connection, kind, &closure).await?;
                gate.told(kind, closure, version);
            }
        }
        Ok(())
    }

    async fn hear_gates(self: &Arc<Self>) {
        if let Err(error) = self.exchange_gates().await {
            tracing::debug!(%error, "what keeps connections from being used could not be read; the next look finds it");
        }
    }

    /// Tells first, for what this host found out is newer than what others told before; then heeds what is stored. One at a
    /// time: what was read earlier must not be heeded later.
    async fn exchange_gates(self: &Arc<Self>) -> Result<(), LedgerError> {
        let _turn = self.gates_turn.lock().await;
        if let Some(neighbours) = self.ledger.neighbours() {
            self.tell_gates(neighbours).await?;
            for stored in neighbours.gates().await? {
                if let Some(gate) = self.gate_of(&stored.connection)
                    && gate.hear(&stored)
                {
                    say(&stored);
                }
            }
        }
        self.heed_pauses().await
    }

    /// Reads which connections are paused; whoever waited for one that is not any more goes on. Not two at a time.
    async fn heed_pauses(self: &Arc<Self>) -> Result<(), LedgerError> {
        let resumed = self.gates.are_paused(self.ledger.pauses().await?);
        for connection in resumed {
            self.tasks.spawn(Arc::clone(self).call_back(connection));
        }
        Ok(())
    }

    /// A person pauses a connection (`true`), or lets it go on; whether that changed anything.
    pub(super) async fn pause(self: &Arc<Self>, pauses: bool, pause: PersonPause) -> Result<bool, LedgerError> {
        let changed = match pauses {
            true => self.ledger.pause(pause).await?,
            false => self.ledger.resume(pause).await?,
        };
        let _turn = self.gates_turn.lock().await;
        self.heed_pauses().await?;
        Ok(changed)
    }

    /// When a step may start that was admitted by this host's gate, where the connection's own rate is that of all hosts.
    pub(super) async fn shared_start_ms(&self, connection: &str, gate: &Gate) -> Result<i64, Abandoned> {
        let (starts, interval_us) = gate.starts();
        let Some(neighbours) = self.ledger.neighbours().filter(|_| interval_us > 0) else {
            return Ok(i64::MIN);
        };
        let now_us = || self.clock.now_ms() * 1_000;
        let mut turn = starts.turn().await;
        let start_us = match turn.next(interval_us, now_us()) {
            Some(start_us) => start_us,
            None => {
                let count = turn.count(interval_us);
                let given = neighbours.reserve_starts(connection, count, interval_us, now_us());
                turn.given(given.await?, count, interval_us, now_us())
            }
        };
        Ok(start_us.div_euclid(1_000) + i64::from(start_us.rem_euclid(1_000) > 0))
    }

    /// A person, or an answer that came late, made steps of this host due.
    async fn hear_work(&self) {
        if let Err(error) = self.look_for_backlog().await {
            tracing::debug!(%error, "what became due could not be read; the next pulse finds it");
        }
    }

    /// Lets the host of an epoch look for what became due, be it this one or another.
    pub(super) async fn let_look(self: &Arc<Self>, epoch: i64) {
        match epoch == self.ledger.epoch() {
            true => self.hear_work().await,
            false => self.tell_work(epoch),
        }
    }

    /// Lets the host of an epoch know that it has work that it did not make due itself.
    pub(super) fn tell_work(self: &Arc<Self>, epoch: i64) {
        let shared = Arc::clone(self);
        self.tasks
            .spawn(async move { shared.say_to_others(News::Work { epoch }).await });
    }

    /// Somebody elsewhere waits for a run. Whoever carries it out tells when it has come to its end.
    fn is_awaited(&self, run: Id) {
        if self.live.get(run).is_some() {
            self.news.is_awaited_elsewhere(run);
        }
    }

    /// Lets others know that somebody here waits for a run that is not in this host's memory.
    pub(super) async fn ask_for_end(&self, run: Id) {
        self.say_to_others(News::Awaited { run }).await;
    }

    /// Tells others that a run has come to its end, where somebody waits for that.
    pub(super) fn tell_end(self: &Arc<Self>, run: Id) {
        if self.news.was_awaited_elsewhere(run) {
            let shared = Arc::clone(self);
            self.tasks
                .spawn(async move { shared.say_to_others(News::Ended { run }).await });
        }
    }

    async fn say_to_others(&self, news: News) {
        if let Some(neighbours) = self.ledger.neighbours()
            && let Err(error) = neighbours.tell(news).await
        {
            tracing::debug!(%error, %news, "other hosts could not be told; who waits looks by itself");
        }
    }
}

fn say(heard: &StoredGate) {
    let StoredGate {
        connection,
        kind,
        closure,
        ..
    } = heard;
    let why = &closure.why;
    match (kind, closure.since_ms) {
        (GateKind::ToldToWait, _) => {
            tracing::info!(
                connection,
                "another host was asked by the destination to wait, and so all do"
            );
        }
        (GateKind::Blocked, Some(_)) => {
            tracing::warn!(
                connection,
                why,
                "another host found the connection blocked; its steps wait here as well"
            );
        }
        (GateKind::Blocked, None) => {
            tracing::info!(connection, "another host found that the connection can be used again")
        }
        (GateKind::Failing, Some(_)) => {
            tracing::warn!(
                connection,
                why,
                "another host found the destination failing; nothing is sent to it from here"
            );
        }
        (GateKind::Failing, None) => tracing::info!(connection, "another host found that the destination works again"),
    }
}
