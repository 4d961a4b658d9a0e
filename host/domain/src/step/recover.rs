//! Where a step stands whose owner died.

use crate::step::{Event, Step};

/// What happens to a step that was found under way when its owner is gone: an intent without evidence is `maybe_sent`; no
/// intent is `none`. `None`: nothing was under way.
pub fn recover(_step: &Step, _at_ms: i64) -> Option<Event> {
    None
}
