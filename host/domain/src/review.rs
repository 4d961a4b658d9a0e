//! What a person may do with a step in review (DESIGN section 7).

use crate::doubt::Terms;
use crate::step::Step;

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

/// The effect may exist, as far as the host knows.
pub fn effect_may_exist(step: &Step) -> bool {
    step.in_doubt()
}

/// What *retry* means for this step; `None` when it is not in review.
pub fn retry_offer(_step: &Step, _terms: &Terms) -> Option<RetryOffer> {
    None
}
