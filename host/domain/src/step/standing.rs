//! What a step's standing says by itself.

use crate::doubt::Doubt;
use crate::step::{State, Step};

impl Step {
    /// A step that waits for its predecessors.
    pub fn new() -> Step {
        Step {
            state: State::Pending,
            ready_ms: None,
            attempts: 0,
            lookups: 0,
            refusals: 0,
            first_intent_ms: None,
            last_intent_ms: None,
            uncounted: 0,
            waiting_since_ms: None,
            open_intent: None,
            doubt: None,
            resend_spent: false,
            suspected_ms: None,
        }
    }

    /// An effect may exist that nothing has settled. A final step is in none: a person or a proof has spoken.
    pub fn in_doubt(&self) -> bool {
        !self.is_final() && (self.doubt.is_some() || self.open_intent.is_some())
    }

    /// What is in doubt is (also) a request that the ledger knows: a resend must equal it. A step in doubt for a request that
    /// may be forgotten, and for nothing else, has none.
    pub fn doubts_known_request(&self) -> bool {
        let known = |doubt: &Doubt| doubt.forgotten.is_none_or(|forgotten| forgotten.beside_known);
        self.in_doubt() && (self.open_intent.is_some() || self.doubt.as_ref().is_some_and(known))
    }

    /// Since when it is in doubt.
    pub fn in_doubt_since_ms(&self) -> Option<i64> {
        if self.is_final() {
            return None;
        }
        self.doubt
            .as_ref()
            .map(|doubt| doubt.since_ms)
            .or(self.open_intent.map(|intent| intent.at_ms))
    }

    /// It was put in doubt already when the ledger was found to have forgotten then.
    pub fn is_suspected_since(&self, found_ms: i64) -> bool {
        self.suspected_ms.is_some_and(|suspected_ms| suspected_ms >= found_ms)
    }

    /// Nothing will happen to it any more.
    pub fn is_final(&self) -> bool {
        match self.state {
            State::Completed | State::Failed | State::Skipped { .. } | State::Cancelled => true,
            State::Pending
            | State::Processing
            | State::Retrying { .. }
            | State::Waiting { .. }
            | State::NeedsReview { .. }
            | State::Cancelling { .. } => false,
        }
    }

    /// When the scheduler looks at it again; `None`: only an event moves it. For an attempt under way this is when
    /// recovery should look, once its intent is written.
    pub fn due_ms(&self) -> Option<i64> {
        match self.state {
            State::Pending => self.ready_ms,
            State::Processing => self.open_intent.map(|intent| intent.over_ms),
            State::Retrying { until_ms, .. } | State::Waiting { until_ms, .. } => Some(until_ms),
            State::Cancelling { until_ms } => Some(self.open_intent.map_or(until_ms, |intent| intent.over_ms)),
            State::NeedsReview { .. } | State::Completed | State::Failed | State::Skipped { .. } | State::Cancelled => {
                None
            }
        }
    }
}

impl Default for Step {
    fn default() -> Step {
        Step::new()
    }
}
