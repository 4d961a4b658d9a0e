//! From the evidence of one attempt to its outcome (DESIGN section 3): one pure, total function per kind of action.

use crate::evidence::Facts;
use serde::{Deserialize, Serialize};

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The effect exists.
    Confirmed(Proof),
    /// The destination (or the host) said no; the effect does not exist because of this attempt.
    Refused(Refusal),
    /// Nothing left the host; worth another try.
    Unsent,
    /// The effect may exist.
    Unknown,
}

/// What proves that the effect exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The destination answered, and the answer proves it.
    Answered(u16),
    /// A read showed it before anything was sent, and the connection grants `may_find`.
    FoundAlreadyThere,
    /// The destination took the order and carries it out later.
    Accepted,
}

/// Why an attempt was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Worth another try (reads, and statuses approved as `refused_before_effect`).
    Temporary,
    /// 425 or 429: wait as told. Counts no attempt.
    RateLimited,
    /// The credentials were not accepted.
    Unauthorized,
    /// Never worth the same try again.
    Permanent(Permanent),
}

/// Why a refusal is for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permanent {
    /// The host denied the request (not listed, forbidden header, second write, place changed …).
    Denied,
    /// The connector's report does not fit what was seen on the wire.
    ConnectorFault,
    /// The destination rejected the data.
    Rejected,
}

/// What the operator approved about the destination's answers for one action (`[trust]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Statuses beside 2xx that prove the effect when the connector says ok.
    pub confirms: Vec<u16>,
    /// Statuses that the destination gives only before it has done anything.
    pub refused_before_effect: Vec<u16>,
    /// Statuses of a lookup that mean *absent* (such as 404).
    pub absent_on: Vec<u16>,
    /// An error inside a 2xx means that nothing was done.
    pub errors_in_2xx_refused: bool,
    /// The connector may report an effect that it found before sending.
    pub may_find: bool,
}

/// The outcome of one attempt of a write action.
pub fn of_write(_facts: &Facts, _trust: &Trust) -> Outcome {
    Outcome::Unknown
}

/// The outcome of one attempt of a read action: reads know no unknown.
pub fn of_read(_facts: &Facts, _trust: &Trust) -> Outcome {
    Outcome::Unsent
}
