//! How a run and what came of it look to a test.

use crate::client::Answer;
use oncegate::ledger::{ReviewItem, ReviewSubject, RunDetail, StoredAttempt, StoredStep};
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::{Review, State};

/// A run as the ledger tells it.
#[derive(Debug)]
pub struct RunView(pub RunDetail);

impl RunView {
    /// Its state.
    pub fn state(&self) -> run::State {
        self.0.run.state
    }

    /// A step by its name in the flow.
    ///
    /// # Panics
    /// There is none.
    pub fn step(&self, name: &str) -> &StoredStep {
        &self.find(name).0
    }

    /// All attempts and lookups of a step.
    ///
    /// # Panics
    /// There is no such step.
    pub fn attempts(&self, name: &str) -> &[StoredAttempt] {
        &self.find(name).1
    }

    /// Why a step is in front of a person.
    ///
    /// # Panics
    /// There is no such step, or it is not.
    pub fn reason(&self, name: &str) -> Review {
        match self.step(name).state.state {
            State::NeedsReview { reason } => reason,
            other => panic!("{name} is not in review but {other:?}: {:#?}", self.0.steps),
        }
    }

    /// The state of a step, as people see it.
    ///
    /// # Panics
    /// There is no such step.
    pub fn stands(&self, name: &str) -> &'static str {
        self.step(name).state.state.as_str()
    }

    fn find(&self, name: &str) -> &(StoredStep, Vec<StoredAttempt>) {
        let found = self.0.steps.iter().find(|(step, _)| step.step_id == name);
        found.unwrap_or_else(|| panic!("there is no step {name}"))
    }

    /// Changes with everything that happens to the run.
    pub(crate) fn standing(&self) -> Vec<(i64, usize)> {
        let steps = self.0.steps.iter();
        steps.map(|(step, attempts)| (step.version, attempts.len())).collect()
    }
}

/// The run that an answer to a verified hook names.
///
/// # Panics
/// It names none.
pub fn run_of(answer: &Answer) -> Id {
    let run = &answer.json()["run"];
    run.as_str()
        .and_then(|id| id.parse().ok())
        .unwrap_or_else(|| panic!("no run: {answer:?}"))
}

/// Why a review item about a step waits, and whether the effect may exist.
///
/// # Panics
/// It is about a conflict.
pub fn about_step(item: &ReviewItem) -> (Review, bool) {
    match &item.subject {
        ReviewSubject::Step { reason, may_exist, .. } => (*reason, *may_exist),
        ReviewSubject::Conflict { .. } => panic!("a conflict: {item:?}"),
    }
}
