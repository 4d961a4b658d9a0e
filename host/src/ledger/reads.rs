//! The reads: each in a snapshot of its own, beside the writer.

use super::*;

/// Reads.
impl Ledger {
    /// A run as the executor needs it.
    pub async fn run_load(&self, run: Id) -> Result<Option<StoredRun>> {
        self.noted(read_runs::load(&mut self.snapshot().await?.conn(), run).await)
    }

    /// The recorded intent of a step with the highest number; `None`: nothing was ever about to be sent.
    pub async fn last_intent(&self, step: Id) -> Result<Option<StoredIntent>> {
        self.noted(due::last_intent(&mut self.snapshot().await?.conn(), step).await)
    }

    /// Steps of a connection that are due by then, oldest first, whoever owns them. Reads only unfinished work.
    pub async fn due_steps(
        &self,
        connection: &str,
        until_ms: i64,
        after: Option<DueCursor>,
        limit: u32,
    ) -> Result<Vec<DueStep>> {
        self.noted(due::due(&mut self.snapshot().await?.conn(), connection, until_ms, after, limit).await)
    }

    /// Steps of a connection that wait until after `now_ms` because it was found to be blocked or away, soonest first, a page
    /// of [`PAGE_ITEMS_MAX`](super::PAGE_ITEMS_MAX).
    pub async fn waiting_steps(&self, connection: &str, now_ms: i64, after: Option<DueCursor>) -> Result<Vec<DueStep>> {
        self.noted(due::waiting(&mut self.snapshot().await?.conn(), connection, now_ms, after).await)
    }

    /// The connections that have unfinished steps with a due time, each with the earliest. (A step without one waits for a
    /// predecessor or a person.)
    pub async fn backlogs(&self) -> Result<Vec<(String, i64)>> {
        self.noted(due::backlogs(&mut self.snapshot().await?.conn()).await)
    }

    /// Steps that were under way when the host stopped: each has an intent without an end.
    pub async fn under_way(&self, after: Option<&UnderWay>, limit: u32) -> Result<Vec<UnderWay>> {
        self.noted(due::under_way(&mut self.snapshot().await?.conn(), after, limit).await)
    }

    /// What the steps of each connection wait for.
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

    /// Runs, newest first.
    pub async fn run_list(&self, filter: RunFilter, page: Page) -> Result<Items<RunSummary>> {
        self.noted(read_runs::list(&mut self.snapshot().await?.conn(), &filter, page).await)
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

    /// What is in the ledger, counted.
    pub async fn counts(&self) -> Result<Counts> {
        self.noted(read_audit::counts(&mut self.snapshot().await?.conn()).await)
    }
}
