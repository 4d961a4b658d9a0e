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

/// Derives the state of a run from those of its steps: what is most urgent to know comes first. *Skipped* is a step's
/// alone: it counts as completed.
pub fn state(steps: &[StepState]) -> State {
    // In the order of DESIGN section 1; the first that a step is in is the run's.
    const ORDER: [State; 9] = [
        State::Cancelling,
        State::NeedsReview,
        State::Processing,
        State::Retrying,
        State::Waiting,
        State::Pending,
        State::Failed,
        State::Cancelled,
        State::Completed,
    ];
    let present: Vec<State> = steps.iter().map(of_step).collect();
    ORDER
        .into_iter()
        .find(|state| present.contains(state))
        .unwrap_or(State::Completed)
}

fn of_step(step: &StepState) -> State {
    match step {
        StepState::Pending => State::Pending,
        StepState::Processing => State::Processing,
        StepState::Retrying { .. } => State::Retrying,
        StepState::Waiting { .. } => State::Waiting,
        StepState::Completed | StepState::Skipped { .. } => State::Completed,
        StepState::Failed => State::Failed,
        StepState::NeedsReview { .. } => State::NeedsReview,
        StepState::Cancelling { .. } => State::Cancelling,
        StepState::Cancelled => State::Cancelled,
    }
}

impl State {
    /// The word of DESIGN section 1.
    pub fn as_str(&self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Processing => "processing",
            State::Retrying => "retrying",
            State::Waiting => "waiting",
            State::Completed => "completed",
            State::Failed => "failed",
            State::NeedsReview => "needs_review",
            State::Cancelling => "cancelling",
            State::Cancelled => "cancelled",
        }
    }

    /// Every step is final.
    pub fn is_final(&self) -> bool {
        match self {
            State::Completed | State::Failed | State::Cancelled => true,
            State::Pending
            | State::Processing
            | State::Retrying
            | State::Waiting
            | State::NeedsReview
            | State::Cancelling => false,
        }
    }
}
