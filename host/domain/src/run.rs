//! A run's state is derived from its steps (DESIGN section 1), never stored as a truth of its own.

use crate::step::State as StepState;
use serde::{Deserialize, Serialize};

/// A run's state as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not begun.
    Pending,
    /// A step is under way.
    Processing,
    /// A step will be tried again.
    Retrying,
    /// A step waits.
    Waiting,
    /// Every step is completed or skipped.
    Completed,
    /// A step failed and nothing handled it.
    Failed,
    /// A person decides.
    NeedsReview,
    /// Cancel was asked for and a doubt is being settled.
    Cancelling,
    /// Cancelled.
    Cancelled,
}

/// Derives the state of a run from those of its steps.
pub fn state(_steps: &[StepState]) -> State {
    State::Pending
}
