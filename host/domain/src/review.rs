//! What a person may do with a step in review (DESIGN section 7).

use crate::doubt::{Dedup, Terms, lookup_after_ms, resend_until_ms};
use crate::step::{Review, State, Step};

/// What *retry* means for a step in review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryOffer {
    /// One click: the effect is known not to exist.
    OneClick,
    /// The effect may exist: the destination is asked first, nothing is sent before.
    LooksUpFirst,
    /// The effect may exist, and the host cannot ask: only with a person's stated check and a reason.
    NeedsStatement,
}

/// The effect may exist, as far as the host knows: an attempt left a doubt, and nothing has settled it. Stays true for a
/// step that a person discarded in doubt: the record says so.
pub fn effect_may_exist(step: &Step) -> bool {
    match step.state {
        State::Completed => true,
        State::Skipped { .. } | State::Cancelled => false,
        State::Failed
        | State::Pending
        | State::Processing
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::NeedsReview { .. }
        | State::Cancelling { .. } => step.doubt.is_some() || step.open_intent.is_some(),
    }
}

/// What *retry* means for this step; `None` when it is not in review. In doubt there is no one-click retry, whatever the
/// destination can do about duplicates.
pub fn retry_offer(step: &Step, terms: &Terms) -> Option<RetryOffer> {
    match step.state {
        State::NeedsReview { .. } if !step.in_doubt() => Some(RetryOffer::OneClick),
        State::NeedsReview { .. } if lookup_after_ms(terms).is_some() => Some(RetryOffer::LooksUpFirst),
        State::NeedsReview { .. } => Some(RetryOffer::NeedsStatement),
        State::Pending
        | State::Processing
        | State::Retrying { .. }
        | State::Waiting { .. }
        | State::Completed
        | State::Failed
        | State::Skipped { .. }
        | State::Cancelling { .. }
        | State::Cancelled => None,
    }
}

/// Until when a resend would be recognised (key) or harmless (natural), in Unix milliseconds, for a step in doubt; `None`
/// where nothing protects a resend, or nothing is in doubt.
pub fn resend_safe_until_ms(step: &Step, terms: &Terms) -> Option<i64> {
    if !step.in_doubt() || step.resend_spent {
        return None;
    }
    let forgotten = step.doubt.as_ref().and_then(|doubt| doubt.forgotten);
    match (terms.dedup, forgotten) {
        (Dedup::Key { .. }, Some(forgotten)) if !forgotten.same_key => None,
        (Dedup::Natural { .. }, Some(_)) | (Dedup::None, _) => None,
        (Dedup::Key { .. } | Dedup::Natural { .. }, _) => resend_until_ms(step, terms),
    }
}

impl Review {
    /// This reason leaves it open whether the effect exists.
    pub fn effect_may_exist(&self) -> bool {
        match self {
            Review::Doubt(_) => true,
            Review::Refused(_)
            | Review::AttemptsUsedUp
            | Review::WaitedTooLong
            | Review::ToldToWaitTooLong
            | Review::Template
            | Review::Output
            | Review::NotAllowed
            | Review::Unauthorized => false,
        }
    }
}
