//! Settling a doubt (DESIGN section 5): whether to ask, to resend, or to call a person.

mod lookup;
mod way;

pub use lookup::{FindingReport, LookupSight, judge_lookup};
pub use way::{key_window_end_ms, resend_until_ms, way};

pub(crate) use way::{lookup_after_ms, way_of, window_open};

use crate::outcome::Trust;
use serde::{Deserialize, Serialize};

/// What a step carries while it is in doubt. Everything that the way out depends on is stored here; the way itself is
/// computed anew before every request, for time goes by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// When the request that left it may have been sent.
    pub since_ms: i64,
    /// When the exchange was known to be over: the moment the host aborted it and stored that, or, with no evidence
    /// stored, `send_by + request timeout`. `lookup_after` is counted from here.
    pub over_ms: i64,
    /// Status of the answer that left the doubt, if there was one.
    pub status: Option<u16>,
    /// A lookup has asked since the last unknown attempt (whatever it said).
    pub asked: bool,
    /// When a lookup first said *absent* (since the last unknown attempt).
    pub absent_ms: Option<i64>,
    /// The *absent* is conclusive. The doubt ends with the intent of the one resend that follows.
    pub absent_proof: Option<AbsentProof>,
    /// A person asked for another try without stating that the effect does not exist: nothing is sent before a lookup.
    pub ask_first: bool,
    /// The doubt cannot be settled at the place it was sent to: a person was called.
    pub blocked: Option<Blocked>,
    /// Set where it is about a request that the ledger may have forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<Forgotten>,
}

/// What is known of a request that the ledger may have forgotten: nothing but how it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// It had the key that the step has now. Else neither a key nor an *absent* under a key says anything about it.
    pub same_key: bool,
    /// A request that the ledger does know is in doubt as well: a resend must equal that one.
    pub beside_known: bool,
}

impl Doubt {
    /// Whatever is in doubt was sent under the key that the step has now.
    pub(crate) fn is_under_our_key(&self) -> bool {
        self.forgotten.is_none_or(|forgotten| forgotten.same_key)
    }
}

/// Why an *absent* is conclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbsentProof {
    /// Seen once, and the destination honours the key of the resend: it proves only while the key window is open.
    WithKey,
    /// Seen twice, `lookup_after` apart.
    Twice,
}

/// Why a doubt cannot be settled by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocked {
    /// The connector built another request than the recorded one.
    RequestChanged,
    /// Origin or account are not those of the intent any more.
    PlaceChanged,
    /// The intent was written by another host.
    OtherHost,
}

/// What the destination can do about duplicates, as the operator approved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dedup {
    /// Nothing.
    None,
    /// It honours a key for this long.
    Key {
        /// How long a key is honoured, counted from the first intent.
        window_ms: u64,
    },
    /// Repeating the same request leaves the same state.
    Natural {
        /// How long after the first intent a repeat is allowed.
        repeat_within_ms: u64,
    },
}

/// All that is approved about one action and its destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// What the action does to the world.
    pub effect: Effect,
    /// What the destination can do about duplicates.
    pub dedup: Dedup,
    /// Longest time after which a request can no longer take effect and is visible; `None`: there is no lookup.
    pub lookup_after_ms: Option<u64>,
    /// A conclusive *absent* goes to a person and not to a resend.
    pub absent_to_review: bool,
    /// Time limit of one exchange.
    pub request_timeout_ms: u64,
    /// What the destination's answers prove.
    pub trust: Trust,
}

/// What an action does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only reads.
    Read,
    /// It changes the destination.
    Write,
}

/// The way out of a doubt, as of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Ask the destination, not before this moment.
    Lookup {
        /// Not before.
        at_ms: i64,
    },
    /// Send the same request again, not before this moment.
    Resend {
        /// Not before.
        at_ms: i64,
    },
    /// A person decides.
    Review(Unsettled),
}

/// Why a doubt needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unsettled {
    /// The destination has neither key nor lookup.
    NoWayToAsk,
    /// Lookups gave no clear answer within the policy.
    LookupUnclear,
    /// The destination says absent, and no (further) resend is allowed.
    Absent,
    /// The time in which a repeat is recognised (key) or harmless (natural) is over.
    WindowOver,
    /// The attempts allowed by the policy are used up.
    AttemptsUsedUp,
    /// A later change of the same thing has been sent: an old value must not overwrite it.
    Overtaken,
    /// See [`Blocked`].
    Blocked(Blocked),
    /// The step was cancelled while in doubt; it is never resent.
    Cancelled,
    /// It has waited as long as it may for a chance to ask or to send.
    WaitedTooLong,
    /// The ledger may have forgotten that it was sent, and the destination offers nothing that would tell, or make a second
    /// time harmless.
    Forgotten,
}

/// What a lookup said, as far as it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The effect exists.
    Found,
    /// The effect does not exist (as of the moment of asking).
    Absent,
    /// Not clear.
    Unsure,
}

/// What decides the way besides doubt, terms and policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circumstances {
    /// Now, on the ledger's clock.
    pub now_ms: i64,
    /// A later intent of this connection and action carries the same natural key.
    pub overtaken: bool,
    /// The place is not that of the intent any more, or the intent is another host's. `None` when not in doubt.
    pub blocked: Option<Blocked>,
    /// In -1.0 ..= 1.0; scales the jitter of the policy.
    pub jitter: f64,
}
