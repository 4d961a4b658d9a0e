//! Erasing, as the host asks for it: what is old, and what a person wants forgotten. Each batch is a command of its own between
//! the others, so that no event waits for more than one of them.

use super::*;

/// Erasing.
impl Ledger {
    /// Erases a batch of runs that ended long ago. Nothing is written where nothing is due.
    ///
    /// # Errors
    /// The ledger cannot be read or written; the batch was undone.
    pub async fn erase_old(&self, what: EraseOld) -> Result<ErasedBatch> {
        if !self.noted(erase::is_due(&mut self.snapshot().await?.conn(), &what).await)? {
            return Ok(ErasedBatch::default());
        }
        self.rare_with(what, |mut conn, what| {
            Box::pin(async move { erase::batch(&mut conn, &what).await })
        })
        .await
    }

    /// Looks through one part of history for runs that are about all of these words.
    pub async fn runs_about(&self, words: &[Word], after: Option<Id>) -> Result<RunsAbout> {
        self.noted(forget::search(&mut self.snapshot().await?.conn(), words, after).await)
    }

    /// Conflicting events that still have their bodies and made no run, behind `after`, up to `up_to`: a page of
    /// [`CONFLICTS_PER_PAGE`].
    pub async fn conflicting_events(&self, after: Id, up_to: Id) -> Result<Vec<ConflictingEvent>> {
        self.noted(forget::conflicts(&mut self.snapshot().await?.conn(), after, up_to).await)
    }

    /// An event, whole.
    pub async fn event(&self, event: Id) -> Result<StoredEvent> {
        self.noted(read_runs::event_of(&mut self.snapshot().await?.conn(), event).await)
    }

    /// Which of these runs could be erased now, and why the others could not. Nothing is changed.
    pub async fn could_forget(&self, runs: &[Id]) -> Result<Forgotten> {
        self.noted(forget::sorted(&mut self.snapshot().await?.conn(), runs).await)
    }

    /// Erases what can be of these runs and events; at most [`RUNS_PER_ERASING_MAX`] of each.
    pub async fn forget(&self, what: Forget) -> Result<Forgotten> {
        self.rare_with(what, |mut conn, what| {
            Box::pin(async move { forget::forget(&mut conn, &what).await })
        })
        .await
    }
}
