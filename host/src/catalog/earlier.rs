//! Versions of connectors that no connection uses any more and that steps in doubt were sent with, ready to be called:
//! after an outage there may be thousands of such steps, and each would read and load its connector anew.
//!
//! Only for speed: the bytes stay in the ledger, and whatever is forgotten here is read from there again.

use super::Connector;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Compiled code of a large connector is some 40 MB.
const KEPT_MAX: usize = 4;

/// The versions that were asked for last.
#[derive(Default)]
pub(super) struct Earlier(Mutex<VecDeque<Arc<Connector>>>);

impl Earlier {
    /// A version that was kept.
    pub(super) fn get(&self, digest: &str) -> Option<Arc<Connector>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|connector| connector.digest == digest)?;
        let connector = kept.remove(at)?;
        kept.push_back(Arc::clone(&connector));
        Some(connector)
    }

    /// Keeps a version, in place of the one that nobody has asked for the longest.
    pub(super) fn keep(&self, connector: &Arc<Connector>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|known| known.digest != connector.digest);
        if kept.len() >= KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(Arc::clone(connector));
    }
}
