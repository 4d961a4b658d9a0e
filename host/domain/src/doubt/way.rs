//! The way out of a doubt, computed anew before every request.

use crate::doubt::{Circumstances, Terms, Way};
use crate::retry::Policy;
use crate::step::Step;

/// The way out of the doubt that `step` is in, as of now; `None` when it is in none.
pub fn way(_step: &Step, _terms: &Terms, _policy: &Policy, _now: &Circumstances) -> Option<Way> {
    None
}

/// When the window in which the destination recognises (key) or tolerates (natural) a repeat is over, on the ledger's
/// clock: the last moment at which a resend may be over. `None`: no window, or no intent yet.
pub fn key_window_end_ms(_step: &Step, _terms: &Terms) -> Option<i64> {
    None
}
