//! What the host saw on the wire, and what the connector said about it. Two different things, kept apart.

use serde::{Deserialize, Serialize};

/// What the host saw of an attempt's one mutating request, weakest first (the order decides which one stands).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// No mutating request was asked for.
    None,
    /// Zero bytes of the request were handed to the transport, counted.
    NothingSent,
    /// At least one byte may have left, and no whole answer was read.
    MaybeSent,
    /// Status, headers and the whole framed body were read within the limits.
    Answered(u16),
}

/// What the connector reported at the end of `perform`. It can make an outcome more cautious, never less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// `ok(completed(output))`.
    Ok,
    /// `ok(accepted(token))`: the destination took the order and will carry it out later.
    Accepted,
    /// `err(rejected)`: the destination said no.
    Rejected,
    /// `err(unauthorized)`: the destination did not accept the credentials.
    Unauthorized,
    /// `err(temporary)`: worth another try.
    Temporary,
    /// `err(unsure)`: the connector cannot tell.
    Unsure,
    /// The guest did not return by itself.
    Cut(Cut),
}

/// Why a guest did not return by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// It trapped (also: an answer that was too large or not as described).
    Trap,
    /// It asked for more memory than it may have.
    Memory,
    /// It used up its CPU budget.
    Cpu,
    /// It took longer than an attempt may last.
    WallClock,
}

/// All that is known of one attempt when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Of the attempt's one mutating request (for a read action: of its strongest read).
    pub evidence: Evidence,
    /// The host denied a request of this attempt.
    pub denied: bool,
    /// A reading request of this attempt was answered 2xx.
    pub read_answered_2xx: bool,
    /// What the connector said.
    pub report: Report,
}
