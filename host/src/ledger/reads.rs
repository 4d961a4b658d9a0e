//! The reads: each in a snapshot of its own, beside the writer.

use super::*;
use crate::clock::monotonic_ns;

/// Reads.
impl Ledger {
    /// A run as the executor needs it.
    pub async fn run_load(&self, run: Id) -> Result<Option<StoredRun>> {
        Ok(self.runs_load(&[run]).await?.pop())
    }

    /// The runs of these ids that there are, in no order; at most [`RUNS_PER_PAGE`]. One that cannot be read fails the page.
    pub async fn runs_load(&self, runs: &[Id]) -> Result<Vec<StoredRun>> {
        self.noted(read_page::load(&mut self.snapshot().await?.conn(), runs).await)
    }

    /// The recorded intent of a step with the highest number; `None`: nothing was ever about to be sent.
    pub async fn last_intent(&self, step: Id) -> Result<Option<StoredIntent>> {
        self.noted(due::last_intent(&mut self.snapshot().await?.conn(), &self.inner.host, step).await)
    }

    /// Late evidence that the effect of a step exists.
    pub async fn late_found(&self, step: Id) -> Result<Option<LateFound>> {
        self.noted(late::found(&mut self.snapshot().await?.conn(), step).await)
    }

    /// Steps of a connection that are due by then, oldest first, of this host and of those that have ended. Reads only
    /// unfinished work.
    pub async fn due_steps(
        &self,
        connection: &str,
        until_ms: i64,
        after: Option<DueCursor>,
        limit: u32,
    ) -> Result<Vec<DueStep>> {
        let epoch = self.epoch();
        self.noted(
            due::due(
                &mut self.snapshot().await?.conn(),
                epoch,
                connection,
                until_ms,
                after,
                limit,
            )
            .await,
        )
    }

    /// Steps of a connection that wait until after `now_ms` because it was found to be blocked or away, or was paused, soonest first, a page
    /// of [`PAGE_ITEMS_MAX`].
    pub async fn waiting_steps(&self, connection: &str, now_ms: i64, after: Option<DueCursor>) -> Result<Vec<DueStep>> {
        let epoch = self.epoch();
        self.noted(due::waiting(&mut self.snapshot().await?.conn(), epoch, connection, now_ms, after).await)
    }

    /// The connections that have unfinished steps with a due time, each with the earliest. (A step without one waits for a
    /// predecessor or a person.)
    pub async fn backlogs(&self) -> Result<Vec<(String, i64)>> {
        let epoch = self.epoch();
        self.noted(due::backlogs(&mut self.snapshot().await?.conn(), epoch).await)
    }

    /// Steps that were under way when their host ended, oldest first: each has an intent without an end.
    pub async fn under_way(&self, after: Option<Id>, limit: u32) -> Result<Vec<UnderWay>> {
        self.noted(due::under_way(&mut self.snapshot().await?.conn(), after, limit).await)
    }

    /// Which connections have steps that wait because of the connection, and why. However many there are, few are read.
    pub async fn waits(&self) -> Result<Vec<ConnectionWait>> {
        self.noted(due::waits(&mut self.snapshot().await?.conn()).await)
    }

    /// Whether it can be read.
    pub async fn answers(&self) -> Result<()> {
        self.noted(read_audit::answers(&mut self.snapshot().await?.conn()).await)
    }

    /// Another step of this connection and action has an intent with this natural key at `after_ms` or later.
    pub async fn later_intent(
        &self,
        connection: &str,
        action: &str,
        natural_key: [u8; 32],
        after_ms: i64,
        step: Id,
    ) -> Result<bool> {
        self.noted(
            due::later_intent(
                &mut self.snapshot().await?.conn(),
                connection,
                action,
                &natural_key,
                after_ms,
                step,
            )
            .await,
        )
    }

    /// The state and outputs of a run.
    pub async fn run_result(&self, run: Id) -> Result<Option<RunResult>> {
        self.noted(read_runs::result(&mut self.snapshot().await?.conn(), run).await)
    }

    /// Runs, newest first. What passes over runs looks at [`RUNS_SEARCHED_MAX`] at most, and says so where that ends it.
    pub async fn run_list(&self, filter: RunFilter, page: Page) -> Result<Items<RunSummary>> {
        self.noted(read_list::list(&mut self.snapshot().await?.conn(), &filter, page).await)
    }

    /// A run with all that is known of it.
    pub async fn run_show(&self, run: Id) -> Result<Option<RunDetail>> {
        self.noted(read_runs::show(&mut self.snapshot().await?.conn(), run).await)
    }

    /// Review items, newest first; open ones only, unless asked for all.
    pub async fn review_list(&self, all: bool, page: Page) -> Result<Items<ReviewItem>> {
        self.noted(read_review::list(&mut self.snapshot().await?.conn(), all, page).await)
    }

    /// A review item with its run.
    pub async fn review_show(&self, item: Id) -> Result<Option<ReviewDetail>> {
        self.noted(read_review::show(&mut self.snapshot().await?.conn(), item).await)
    }

    /// The open review item of a step.
    pub async fn review_of_step(&self, step: Id) -> Result<Option<ReviewItem>> {
        self.noted(read_review::of_step(&mut self.snapshot().await?.conn(), step).await)
    }

    /// The audit trail, newest first.
    pub async fn audit_list(&self, page: Page) -> Result<Items<AuditLine>> {
        self.noted(read_audit::list(&mut self.snapshot().await?.conn(), page).await)
    }

    /// Flows, connectors and connections at their current revisions.
    pub async fn catalog_all(&self) -> Result<CatalogRows> {
        self.noted(read_catalog::all(&mut self.snapshot().await?.conn()).await)
    }

    /// One revision of a flow: a run stays on its own.
    pub async fn flow_revision(&self, flow_id: Id, revision: u32) -> Result<Option<StoredFlow>> {
        self.noted(read_catalog::flow_revision(&mut self.snapshot().await?.conn(), flow_id, revision).await)
    }

    /// One connector by its digest: a step in doubt stays on its own.
    pub async fn connector(&self, digest: &str) -> Result<Option<StoredConnector>> {
        self.noted(read_catalog::connector(&mut self.snapshot().await?.conn(), digest).await)
    }

    /// One revision of a connection.
    pub async fn connection_revision(&self, name: &str, revision: u32) -> Result<Option<StoredConnection>> {
        self.noted(read_catalog::connection_revision(&mut self.snapshot().await?.conn(), name, revision).await)
    }

    /// A token by its SHA-256, expired or not.
    pub async fn token(&self, hash: [u8; 32]) -> Result<Option<StoredToken>> {
        self.noted(read_catalog::token(&mut self.snapshot().await?.conn(), &hash).await)
    }

    /// All tokens.
    pub async fn tokens(&self) -> Result<Vec<StoredToken>> {
        self.noted(read_catalog::tokens(&mut self.snapshot().await?.conn()).await)
    }

    /// What is in the ledger, counted, as of [`Counts::counted_ms`]. One at a time: who comes meanwhile gets the same count.
    pub async fn counts(&self) -> Result<Counts> {
        let mut kept = self.inner.counted.lock().await;
        if let Some(counts) = kept.get() {
            return Ok(counts.clone());
        }
        let begun_ns = monotonic_ns();
        let now_ms = self.inner.clock.now_ms();
        let counts = self.noted(read_counts::counts(&mut self.snapshot().await?.conn(), now_ms).await)?;
        kept.keep(&counts, begun_ns);
        Ok(counts)
    }
}
