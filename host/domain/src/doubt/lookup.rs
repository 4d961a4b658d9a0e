//! What a lookup proves: the connector's finding, as far as the host saw the destination being asked.

use crate::doubt::Finding;
use crate::outcome::Trust;

/// What the connector said at the end of `lookup`. A trap or a limit counts as `Unsure`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingReport {
    /// The effect exists: matched by our key, or by content, every field as asked for.
    Found,
    /// The effect does not exist.
    Absent,
    /// Not clear, or the guest was cut.
    Unsure,
}

/// What the host saw of a lookup's reading requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LookupSight {
    /// One was answered 2xx.
    pub answered_2xx: bool,
    /// One was answered with a status that the operator listed in `absent_on`.
    pub answered_absent: bool,
}

impl LookupSight {
    /// From the statuses of the whole answers that this lookup got.
    pub fn of(_statuses: &[u16], _trust: &Trust) -> LookupSight {
        LookupSight::default()
    }
}

/// What the finding counts for.
pub fn judge_lookup(_report: FindingReport, _saw: LookupSight) -> Finding {
    Finding::Unsure
}
