//! What goes into a call of a guest, and what comes out of it.

/// One call of an action. Resent, it is the same again: input, key and settings are all a guest can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name of the action in the manifest.
    pub action: String,
    /// JSON.
    pub input: String,
    /// The step key. It seeds the guest's randomness as well, so it must never be empty.
    pub key: String,
    /// JSON.
    pub settings: String,
}

/// What a lookup is told of the attempt whose fate is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestDoubt {
    /// Unix milliseconds of the first request that may have left.
    pub first_sent_ms: u64,
    /// The status that was answered, where one was.
    pub status: Option<u16>,
}

/// What a guest says went wrong. Text from outside, shortened to the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// JSON pointer into the input, and what is wrong there.
    pub fields: Vec<(String, String)>,
    /// When the guest would try again, in milliseconds from now.
    pub retry_after_ms: Option<u64>,
}

/// What `perform` returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PerformReturn {
    /// It is done; the output, which should be JSON (not checked here).
    Completed(String),
    /// The destination said no.
    Rejected(Problem),
    /// The destination did not accept the credentials.
    Unauthorized(Problem),
    /// Worth another try.
    Temporary(Problem),
    /// The connector cannot tell.
    Unsure(Problem),
}

/// What `lookup` returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupReturn {
    /// The effect exists.
    Found {
        /// As `perform` would have returned it: should be JSON (not checked here).
        output: String,
        /// What a person would search for at the destination.
        reference: String,
        /// Found by our key; else by its content, every field as asked for.
        matched_by_key: bool,
    },
    /// The effect does not exist.
    Absent,
    /// It cannot be told; why.
    Unsure(String),
}

/// Why a guest did not return by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// It trapped, exited, or returned something larger than allowed; what is known of it.
    #[error("the connector failed: {0}")]
    Trap(String),
    /// It asked for more memory than it may have.
    #[error("the connector asked for more memory than it may have")]
    Memory,
    /// It used up its CPU budget.
    #[error("the connector used up its CPU time")]
    Cpu,
    /// It took longer than a call may last, waiting included.
    #[error("the connector took longer than a call may last")]
    WallClock,
    /// There was no room to run it: the guest did not start, so this is no attempt.
    #[error("the host has no room for another connector call right now")]
    Busy,
}
