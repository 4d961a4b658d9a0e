//! The destination and the wire to it: true to the terms, and in nothing else reliable.

use super::World;
use crate::play::TIMEOUT_MS;
use oncegate_domain::doubt::Dedup;
use oncegate_domain::evidence::{Cut, Evidence, Report};

impl World {
    /// The request takes effect at the destination, at once or as late as the terms allow.
    pub(super) fn arrive(&mut self) {
        if let Dedup::Key { window_ms } = self.terms.dedup
            && let Some(known_ms) = self.key_known_ms
            && self.now_ms < known_ms + window_ms as i64
        {
            return;
        }
        let late_ms = self.terms.lookup_after_ms.unwrap_or(0).max(TIMEOUT_MS) as i64 - 1;
        self.effects.push(self.now_ms + self.dice.of(&[0, late_ms]));
        self.key_known_ms = Some(self.now_ms);
    }

    /// What the wire brings, and what the connector makes of it; a destination true to the terms.
    pub(super) fn exchange(&mut self) -> (Evidence, Report) {
        let any = [
            Report::Ok,
            Report::Rejected,
            Report::Temporary,
            Report::Unsure,
            Report::Unauthorized,
            Report::Cut(Cut::Trap),
        ];
        let report = self.dice.of(&any);
        match self.dice.roll(12) {
            0 => (Evidence::NothingSent, report),
            1..=3 => {
                if self.dice.one_in(2) {
                    self.arrive();
                }
                (Evidence::MaybeSent, report)
            }
            4 => (Evidence::Answered(401), report),
            5 => (Evidence::Answered(429), report),
            6 => (Evidence::Answered(503), report),
            7 => {
                let refused =
                    self.terms.trust.errors_in_2xx_refused && matches!(report, Report::Rejected | Report::Unauthorized);
                if !refused {
                    self.arrive();
                }
                (Evidence::Answered(200), report)
            }
            // "It exists already" is answered, and confirmed by ok, only where it does.
            8 if self.has_effect() => (Evidence::Answered(409), report),
            8 | 9 => (Evidence::Answered(422), report),
            10 => (Evidence::Answered(403), report),
            _ => {
                if self.dice.one_in(2) {
                    self.arrive();
                }
                (Evidence::Answered(self.dice.of(&[500, 302, 408])), report)
            }
        }
    }
}
