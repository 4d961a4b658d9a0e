//! A person's decision is about one step, and what follows from it about the whole run.

use super::DecisionError;
use crate::executor::settle::{Abandoned, DECIDED_ANEW_MAX};

/// What follows from a step depends on the others: where one of them was changed meanwhile, all is read and decided anew.
pub(super) async fn anew<T, F>(decide: impl Fn() -> F) -> Result<T, DecisionError>
where
    F: Future<Output = Result<T, DecisionError>>,
{
    for _ in 1..DECIDED_ANEW_MAX {
        match decide().await {
            Err(DecisionError::Ledger(error)) if error.is_about_another_step() => {}
            decided => return decided,
        }
    }
    decide().await
}

/// A ledger that is away is no fault of the person.
pub(super) fn unreadable(error: Abandoned) -> DecisionError {
    match error {
        Abandoned::Ledger(error) | Abandoned::Overtaken(error) => DecisionError::Ledger(error),
        Abandoned::Illegal(why) => DecisionError::Illegal(why),
    }
}
