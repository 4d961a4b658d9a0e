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
    /// One was denied. What it would have shown nobody knows: to a connector that reads page after page it is the page on
    /// which the record may stand.
    pub denied: bool,
}

impl LookupSight {
    /// From the statuses of the whole answers that this lookup's reads got, and from whether the host denied one of them.
    pub fn of(statuses: &[u16], denied: bool, trust: &Trust) -> LookupSight {
        LookupSight {
            answered_2xx: statuses.iter().any(|status| matches!(status, 200..=299)),
            answered_absent: statuses.iter().any(|status| trust.absent_on.contains(status)),
            denied,
        }
    }
}

/// What the finding counts for. *Found* and *absent* count only when the host itself saw the destination answer a reading
/// request of this lookup: a connector that asked nothing knows nothing. *Found* needs a 2xx: a status that the operator
/// listed as *absent* shows no effect. Where a request was denied neither counts, for the connector did not see all it asked
/// for.
pub fn judge_lookup(report: FindingReport, saw: LookupSight) -> Finding {
    match report {
        FindingReport::Found | FindingReport::Absent if saw.denied => Finding::Unsure,
        FindingReport::Found if saw.answered_2xx => Finding::Found,
        FindingReport::Absent if saw.answered_2xx || saw.answered_absent => Finding::Absent,
        FindingReport::Found | FindingReport::Absent | FindingReport::Unsure => Finding::Unsure,
    }
}
