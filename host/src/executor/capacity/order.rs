//! Who goes next of those who stand in a gate's queue, and on whose behalf.
//!
//! A step that failed while others got through says nothing about the connection. It neither closes it for the others nor
//! goes before them while not all may go.

use super::{Admission, GateState};
use oncegate_domain::id::Id;
use tokio::sync::oneshot;

/// Who goes before whom while not all may go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Nothing is known against it.
    Fresh,
    /// It failed, as all did since.
    Failed,
    /// It failed while others got through.
    FailsAlone,
}

impl GateState {
    pub(super) fn is_finding_out(&self) -> bool {
        self.breaker.is_probing() || self.credentials.is_blocked()
    }

    /// Under a block the 401 costs nothing anyway. A step that fails while others get through finds nothing out for them,
    /// so its attempt counts like any other.
    pub(super) fn finds_out(&self, step: Id) -> bool {
        self.credentials.is_blocked() || (self.breaker.is_probing() && !self.breaker.fails_alone(step))
    }

    /// The oldest. But while somebody has to find out, or the ramp is narrow, who failed already goes behind all who did
    /// not, and who failed while others got through comes last: the fault may be their own, and a handful of bad events
    /// must not keep everybody else away. Many bad ones may be the oldest, so every second look is left to the youngest.
    pub(super) fn next_in_queue(&mut self) -> Option<(Id, oneshot::Sender<Admission>)> {
        let key = match self.in_vain() {
            None => self.queue.keys().next(),
            Some(in_vain) => {
                let best = self.queue.keys().map(|(_, step)| self.rank(*step)).min()?;
                let mut equals = self.queue.keys().filter(|(_, step)| self.rank(*step) == best);
                match self.is_finding_out() && in_vain > 0 && in_vain % 2 == 0 {
                    true => equals.next_back(),
                    false => equals.next(),
                }
            }
        };
        let key = *key?;
        let told = self.queue.remove(&key)?;
        Some((key.1, told))
    }

    /// How many found out in vain so far; `None`: all is well.
    fn in_vain(&self) -> Option<usize> {
        if self.credentials.is_blocked() {
            return Some(self.credentials.in_vain_count());
        }
        (!self.breaker.is_closed()).then(|| self.breaker.failed_count())
    }

    fn rank(&self, step: Id) -> Rank {
        if self.breaker.fails_alone(step) || self.credentials.refused_alone(step) {
            Rank::FailsAlone
        } else if self.breaker.has_failed(step) || self.credentials.looked_in_vain(step) {
            Rank::Failed
        } else {
            Rank::Fresh
        }
    }
}
