//! Carries runs through: from an accepted event to completed steps, or to a person.
//!
//! Read `attempt` first. Everything that decides is in the domain; everything that is remembered is in the ledger. This
//! room only brings the two together, in the right order.

pub mod attempt;
mod begin;
mod blocking;
pub mod capacity;
mod doubt;
mod elsewhere;
mod grant;
pub mod intake;
mod journal;
mod late;
pub mod live;
mod mission;
mod news;
mod outbound;
pub mod people;
mod reading;
mod recovery;
mod scheduler;
mod settle;
mod signing;
mod succession;
mod suspicion;
mod taking_over;
mod tape;
mod trial;
mod waiting;
mod weighing;

pub use capacity::{Blocked, Failing};
pub use intake::{Delivery, IntakeError};
pub use people::{Decided, DecisionError, Verb};
pub use settle::Abandoned;
pub use tape::{Consent, Exchanged, Logged};
pub use trial::{LookedUp, Performed, Trial, TrialError, Wanted};

use crate::catalog::{Approved, Catalog, Limits};
use crate::clock::SharedClock;
use crate::credentials::Secrets;
use crate::egress::Egress;
use crate::flow::ContextItem;
use crate::ledger::{Ledger, LedgerError, Paused, PersonPause, RunResult};
use crate::runtime::Runtime;
use crate::share::Shares;
use capacity::{Gate, Gates, Pace};
use live::{LiveRuns, RunCell};
use news::News;
use oncegate_domain::id::Id;
use oncegate_domain::key::InstallationSecret;
use oncegate_domain::run;
use signing::Signer;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the executor works with.
pub struct Parts {
    /// The ledger.
    pub ledger: Ledger,
    /// Flows, connections and connectors.
    pub catalog: Catalog,
    /// Runs connectors.
    pub runtime: Runtime,
    /// The only way out.
    pub egress: Egress,
    /// The time.
    pub clock: SharedClock,
    /// Reads secrets.
    pub secrets: Secrets,
    /// Connector calls at the same time.
    pub calls_max: u32,
    /// Of these, calls of large connectors.
    pub large_calls_max: u32,
}

/// How often the result of a run is looked for that is not in this host's memory: another one may carry it out.
const ELSEWHERE_AGAIN: Duration = Duration::from_secs(1);

/// A handle to the executor. Cheap to clone.
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
}

/// What the parts of the executor share.
pub struct Shared {
    pub(crate) ledger: Ledger,
    pub(crate) catalog: Catalog,
    pub(crate) runtime: Runtime,
    pub(crate) egress: Egress,
    pub(crate) clock: SharedClock,
    pub(crate) secret: InstallationSecret,
    pub(crate) signer: Signer,
    gates: Gates,
    live: LiveRuns,
    seats: scheduler::Seats,
    /// Shared among the connections: one whose destination is slow keeps its calls for long.
    calls: Shares,
    large_calls: Shares,
    tasks: TaskTracker,
    stop: CancellationToken,
    news: Arc<News>,
    /// Another host changed flows, connectors or connections.
    catalog_changed: Notify,
    /// Whoever reads or tells what keeps connections from being used: one at a time.
    gates_turn: tokio::sync::Mutex<()>,
}

impl Executor {
    /// Recovers what an earlier process left under way, then begins to work.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn start(parts: Parts) -> Result<Self, Abandoned> {
        let shared = Arc::new(Shared::new(parts));
        shared.remember_gates().await?;
        let recovered = recovery::recover(&shared).await?;
        if recovered > 0 {
            tracing::info!(
                recovered,
                "steps that an earlier process left under way are in doubt and are settled now"
            );
        }
        shared.tasks.spawn(Arc::clone(&shared).keep_reading());
        shared.tasks.spawn(Arc::clone(&shared).keep_taking_over());
        shared.keep_in_touch();
        Ok(Self { shared })
    }

    /// An executor that begins nothing by itself, as one that is going down: for a call made by hand, which nothing may
    /// follow.
    pub fn at_rest(parts: Parts) -> Self {
        let shared = Arc::new(Shared::new(parts));
        shared.stop.cancel();
        Self { shared }
    }

    /// Makes a delivery durable and begins its run.
    ///
    /// # Errors
    /// The event has no usable key (the sender must mend it), or the ledger cannot store it (try again later).
    pub async fn accept(&self, delivery: Delivery) -> Result<crate::ledger::Accepted, IntakeError> {
        self.shared.accept(delivery).await
    }

    /// Carries out a person's decision about a review item.
    ///
    /// # Errors
    /// It is not possible, or the item has changed since they saw it; nothing was done.
    pub async fn decide(&self, decided: Decided) -> Result<(), DecisionError> {
        self.shared.decide(decided).await
    }

    /// Cancels what has not been sent of a run.
    ///
    /// # Errors
    /// There is nothing to cancel, or the run has changed meanwhile; nothing was done.
    pub async fn cancel(&self, run: Id, who: String, why: String) -> Result<(), DecisionError> {
        self.shared.cancel(run, who, why).await
    }

    /// The business words of a conflicting event, as the flow of `run`, which holds its key, reads them.
    ///
    /// # Errors
    /// Why they cannot be told, in one sentence.
    pub async fn words_of(&self, run: Id, event: Id) -> Result<Vec<ContextItem>, String> {
        self.shared.words_of(run, event).await
    }

    /// Waits until a run is finished or needs a person, at most until `until_ms`; its result as of then.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn result(&self, run: Id, until_ms: i64) -> Result<Option<RunResult>, LedgerError> {
        let shared = &self.shared;
        let mut asked = false;
        loop {
            // Registered before the ledger is asked, so that news in between is not missed.
            let news = shared.news.of(run);
            let notified = news.comes();
            let result = shared.ledger.run_result(run).await?;
            let settled = result.as_ref().is_none_or(|result| settle::is_news(result.state));
            if settled || shared.clock.now_ms() >= until_ms || shared.is_stopping() {
                return Ok(result);
            }
            let elsewhere = shared.ledger.neighbours().is_some() && shared.live.get(run).is_none();
            if elsewhere && !std::mem::replace(&mut asked, true) {
                shared.ask_for_end(run).await;
            }
            tokio::select! {
                () = notified => {}
                // What the other host tells may be lost.
                () = tokio::time::sleep(ELSEWHERE_AGAIN), if elsewhere => {}
                () = shared.clock.sleep_until(until_ms) => {}
                () = shared.stop.cancelled() => {}
            }
        }
    }

    /// The connections that cannot be used now, by name: why, and since when.
    pub fn blocked(&self) -> BTreeMap<String, Blocked> {
        self.shared.gates.blocked()
    }

    /// The connections to which nothing is sent for now because their destination fails, by name: why, and since when.
    pub fn failing(&self) -> BTreeMap<String, Failing> {
        self.shared.gates.failing()
    }

    /// A folder was applied. Connections that could not be used may be mended by it: who waits for them is looked at at once.
    pub fn look_again(&self) {
        self.shared.look_again();
    }

    /// A person pauses a connection: its steps wait, at all hosts and over restarts, until a person lets them go on; `false`:
    /// it is paused already.
    ///
    /// # Errors
    /// There is no such connection, or the ledger cannot store it.
    pub async fn pause(&self, pause: PersonPause) -> Result<bool, LedgerError> {
        self.shared.pause(true, pause).await
    }

    /// Lets the steps of a paused connection go on; `false`: it is not paused.
    ///
    /// # Errors
    /// See [`Executor::pause`].
    pub async fn resume(&self, pause: PersonPause) -> Result<bool, LedgerError> {
        self.shared.pause(false, pause).await
    }

    /// The connections that a person paused, by name.
    pub fn paused(&self) -> BTreeMap<String, Paused> {
        self.shared.gates.paused()
    }

    /// What keeps connections from being used as of now, each in a sentence: said before the first step finds out.
    pub async fn unusable(&self) -> Vec<String> {
        self.shared.unusable().await
    }

    /// Steps in memory right now.
    pub fn seated(&self) -> usize {
        self.shared.seats.len()
    }

    /// Begins nothing new and waits for the attempts in flight. What does not end in time stays recoverable.
    pub async fn stop(&self, within: Duration) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        if tokio::time::timeout(within, self.shared.tasks.wait()).await.is_err() {
            tracing::warn!("some attempts did not end in time; they are settled at the next start");
        }
    }
}

impl Shared {
    fn new(parts: Parts) -> Self {
        Self {
            secret: parts.ledger.installation().secret.clone(),
            ledger: parts.ledger,
            catalog: parts.catalog,
            runtime: parts.runtime,
            egress: parts.egress,
            gates: Gates::new(Arc::clone(&parts.clock)),
            clock: parts.clock,
            signer: Signer::new(parts.secrets),
            live: LiveRuns::default(),
            seats: scheduler::Seats::default(),
            calls: Shares::new(parts.calls_max as usize),
            large_calls: Shares::new(parts.large_calls_max as usize),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            news: Arc::default(),
            catalog_changed: Notify::new(),
            gates_turn: tokio::sync::Mutex::default(),
        }
    }

    fn look_again(self: &Arc<Self>) {
        for connection in self.catalog.snapshot().connections() {
            let called = Arc::clone(self).call_back(connection.spec.name.clone());
            self.tasks.spawn(called);
        }
    }

    fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// In -1.0 ..= 1.0. Spreads retries; nothing depends on its quality.
    fn jitter(&self) -> f64 {
        rand::random_range(-1.0..=1.0)
    }

    /// The cell of a run, read from the ledger if it is not in memory; `None`: there is no such run. Where another host that
    /// lives owns it, this is a look at it and no more: nobody works on it here.
    async fn cell(&self, run: Id) -> Result<Option<Arc<RunCell>>, Abandoned> {
        if let Some(cell) = self.live.get(run) {
            return Ok(Some(cell));
        }
        match self.ledger.take_over(vec![run]).await?.is_empty() {
            false => self.own_cell(run).await,
            true => self.foreign_cell(run).await,
        }
    }

    /// The gate of a connection as it is in force; `None`: there is none of this name.
    fn gate_of(&self, connection: &str) -> Option<Arc<Gate>> {
        let snapshot = self.catalog.snapshot();
        let found = snapshot.connection(connection)?;
        let gate = self.gates.of(connection, pace(found.spec.limits));
        gate.at_revision(found.revision);
        Some(gate)
    }

    fn gate(&self, approved: &Approved) -> Arc<Gate> {
        self.gates.of(&approved.connection, pace(approved.limits))
    }

    /// Begins what became ready, and tells those who wait for the run.
    fn after_commit(self: &Arc<Self>, cell: &Arc<RunCell>, state: run::State, ready: &[scheduler::Ready]) {
        for step in ready {
            self.offer(cell, step, None);
        }
        if settle::is_news(state) {
            self.news.tell(cell.facts.id);
            self.tell_end(cell.facts.id);
        }
    }
}

fn pace(limits: Limits) -> Pace {
    let interval_us = limits.rate.map_or(0, |rate| {
        rate.per_ms.saturating_mul(1_000) / u64::from(rate.requests.max(1))
    });
    Pace {
        concurrency: limits.concurrency as usize,
        interval_us: i64::try_from(interval_us).unwrap_or(i64::MAX),
    }
}
