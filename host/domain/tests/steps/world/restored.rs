//! The ledger goes back to an older state, and does not know what it has forgotten.

use super::World;
use super::rules::Known;
use crate::play::TIMEOUT_MS;
use oncegate_domain::doubt::FindingReport;
use oncegate_domain::step::{self, Event, Step, Suspicion};

/// A copy of the ledger, and what is known once it was put back.
#[derive(Default)]
pub(super) struct Restored {
    copy: Option<(Step, Known, i64)>,
    suspicion: Option<Suspicion>,
}

impl World {
    /// Somebody copies the ledger, or puts the copy back; true when something happened to the step.
    pub(super) fn go_back(&mut self) -> bool {
        if !self.dice.one_in(10) {
            return false;
        }
        let Some((step, known, from_ms)) = self.restored.copy.take() else {
            self.restored.copy = Some((self.step.clone(), self.known.clone(), self.now_ms));
            return false;
        };
        self.now_ms += self.dice.of(&[1, 20_000]);
        let same_key = !self.dice.one_in(4);
        if !same_key {
            // The flow was made anew: the destination never saw the key that the step has now.
            self.key_known_ms = None;
        }
        self.log.push(format!("{} restored to {from_ms}", self.now_ms));
        (self.step, self.known) = (step, known);
        self.restored.suspicion = Some(Suspicion {
            found_ms: self.now_ms,
            from_ms,
            over_ms: self.now_ms + 5_000 + TIMEOUT_MS as i64,
            same_key,
        });
        self.seen.insert("restored".to_owned());
        true
    }

    /// The ledger has forgotten, and the step was not put in doubt for it yet.
    pub(super) fn is_suspicious(&self) -> bool {
        let suspicion = self.restored.suspicion.as_ref();
        suspicion.is_some_and(|suspicion| !self.step.is_suspected_since(suspicion.found_ms))
    }

    /// What comes before all else while the ledger may have forgotten; true when the step changed.
    pub(super) fn suspect(&mut self) -> bool {
        let Some(suspicion) = self.restored.suspicion else {
            return false;
        };
        let now = self.circumstances();
        let event = step::suspect(&self.step, &suspicion, Some(&self.terms), &self.policy, &now);
        assert!(event.is_some() || !self.can_go_on(), "it must begin in doubt\n{self}");
        let Some(event @ Event::Suspect { .. }) = event else {
            return false;
        };
        let known = &mut self.known;
        known.over_ms = match known.doubt {
            true => known.over_ms.max(suspicion.over_ms),
            false => suspicion.over_ms,
        };
        known.doubt = true;
        known.absents.clear();
        known.asked = false;
        let first_ms = known.first_intent_ms.unwrap_or(suspicion.from_ms);
        known.first_intent_ms = Some(first_ms.min(suspicion.from_ms));
        known.forgotten = Some(suspicion.same_key && known.forgotten != Some(false));
        self.seen.insert("suspect".to_owned());
        self.apply(event);
        true
    }

    fn can_go_on(&self) -> bool {
        self.is_suspicious() && !self.step.is_final() && self.step.due_ms().is_some()
    }

    /// Asked by a key that a forgotten request never carried, *absent* proves nothing: what the host makes of it.
    pub(super) fn limited(&self, truth: FindingReport) -> FindingReport {
        match (truth, self.known.forgotten) {
            (FindingReport::Absent, Some(false)) => FindingReport::Unsure,
            (truth, _) => truth,
        }
    }
}
