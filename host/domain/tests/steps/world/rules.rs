//! What must hold, stated once more and independently of the code: the oracle of the sequences.

use super::World;
use crate::play::TIMEOUT_MS;
use oncegate_domain::doubt::{Blocked, Dedup};
use oncegate_domain::step::{Retry, Review, State};

/// What the test knows by itself, without asking the step: the oracle.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// An attempt may have taken effect, and nothing has settled it.
    pub(super) doubt: bool,
    /// When the exchange of the last unknown attempt was over.
    pub(super) over_ms: i64,
    /// When lookups that counted said absent since the last unknown attempt.
    pub(super) absents: Vec<i64>,
    /// Lookups that counted since the last unknown attempt.
    pub(super) asked: bool,
    /// A person asked for another try without a statement, and nobody has asked since.
    pub(super) must_ask: bool,
    pub(super) first_intent_ms: Option<i64>,
    pub(super) resends_after_absent: u32,
    /// Since the last decision of a person.
    pub(super) counted: u32,
    pub(super) lookups: u32,
    pub(super) cancelled: bool,
    pub(super) resolved: bool,
    pub(super) final_state: Option<State>,
    /// The ledger may have forgotten a request: whether that carried the key that the step has now.
    pub(super) forgotten: Option<bool>,
}

impl World {
    /// The rules of DESIGN section 5, stated once more and independently: may a request leave now?
    pub(super) fn may_send(&mut self) {
        assert!(!self.known.cancelled, "a cancelled step sends nothing\n{self}");
        if !self.known.doubt {
            return;
        }
        assert_ne!(
            self.blocked,
            Some(Blocked::PlaceChanged),
            "nothing is sent to another place in doubt\n{self}"
        );
        assert!(!self.known.must_ask, "a click in doubt asks before it sends\n{self}");
        let first_ms = self.known.first_intent_ms.unwrap();
        let asks = self
            .terms
            .lookup_after_ms
            .map(|after_ms| after_ms.max(TIMEOUT_MS) as i64);
        match self.terms.dedup {
            Dedup::Natural { repeat_within_ms } => {
                assert!(
                    self.known.forgotten.is_none(),
                    "a later change may be forgotten as well\n{self}"
                );
                assert!(
                    self.now_ms < first_ms + repeat_within_ms as i64,
                    "past the natural bound\n{self}"
                );
                assert!(!self.overtaken, "an old value over a newer one\n{self}");
                assert!(self.blocked.is_none(), "another host's intent\n{self}");
                let asked_out = self.known.lookups >= self.policy.attempts;
                assert!(
                    self.known.asked || asks.is_none() || asked_out,
                    "a lookup by content comes first\n{self}"
                );
            }
            Dedup::None => {
                assert!(self.blocked.is_none(), "another host's intent without keys\n{self}");
                assert!(
                    self.absent_twice(asks),
                    "without key it takes a conclusive absent\n{self}"
                );
                self.resend_after_absent();
            }
            Dedup::Key { window_ms } => {
                let end_ms = first_ms + (window_ms / 10 * 9) as i64;
                let open = self.now_ms + (TIMEOUT_MS as i64) < end_ms;
                let open = open && self.known.forgotten != Some(false);
                assert!(open || self.absent_twice(asks), "the key window is over\n{self}");
                assert!(
                    self.known.resends_after_absent == 0,
                    "a second doubt is never resent\n{self}"
                );
                if !self.known.absents.is_empty() {
                    self.resend_after_absent();
                }
                let asked_out = self.known.lookups >= self.policy.attempts;
                let absent = !self.known.absents.is_empty();
                assert!(
                    asks.is_none() || asked_out || absent,
                    "it is asked before the key is leant on\n{self}"
                );
            }
        }
    }

    pub(super) fn absent_twice(&self, apart_ms: Option<i64>) -> bool {
        match (self.known.absents.first(), self.known.absents.last(), apart_ms) {
            (Some(first_ms), Some(last_ms), Some(apart_ms)) => last_ms - first_ms >= apart_ms,
            _ => false,
        }
    }

    /// The conclusive absent ends the doubt; it allows one resend in the life of the step.
    pub(super) fn resend_after_absent(&mut self) {
        assert!(!self.terms.absent_to_review, "the connection wants a person\n{self}");
        self.known.resends_after_absent += 1;
        assert_eq!(
            self.known.resends_after_absent, 1,
            "one resend in the life of a step\n{self}"
        );
        self.known.doubt = false;
    }

    /// What holds after every event, whatever came before.
    pub(super) fn check(&mut self) {
        let intended = self.step.open_intent.is_some() && !self.step.is_final();
        assert_eq!(
            self.step.in_doubt(),
            self.known.doubt || intended,
            "doubt sticks, and none is invented\n{self}"
        );
        assert!(
            self.known.counted <= self.policy.attempts,
            "attempts exceed the policy\n{self}"
        );
        assert!(
            self.known.lookups <= self.policy.attempts,
            "lookups exceed the policy\n{self}"
        );
        assert_eq!(self.step.attempts, self.known.counted, "the count\n{self}");
        match self.step.state {
            State::Retrying {
                reason: Retry::Backoff, ..
            } => assert!(!self.known.doubt, "backoff in doubt\n{self}"),
            State::NeedsReview {
                reason: Review::Doubt(_),
            } => assert!(self.known.doubt, "{self}"),
            State::NeedsReview { .. } => {
                assert!(!self.known.doubt, "refused in doubt\n{self}");
                assert!(
                    !self.has_effect() || self.is_suspicious(),
                    "it says that the effect does not exist\n{self}"
                );
            }
            State::Completed => assert!(self.has_effect(), "completed without an effect\n{self}"),
            State::Cancelled => assert!(!self.has_effect(), "cancelled, and the effect exists\n{self}"),
            State::Pending
            | State::Processing
            | State::Retrying { .. }
            | State::Waiting { .. }
            | State::Failed
            | State::Skipped { .. }
            | State::Cancelling { .. } => {}
        }
        match self.terms.dedup {
            Dedup::None | Dedup::Key { .. } => assert!(self.effects.len() <= 1, "two effects\n{self}"),
            Dedup::Natural { .. } => {}
        }
        if let Some(state) = self.known.final_state {
            assert_eq!(self.step.state, state, "final states stay final\n{self}");
        }
        if self.step.is_final() {
            self.known.final_state = Some(self.step.state);
        }
    }
}
