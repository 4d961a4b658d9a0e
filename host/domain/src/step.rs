//! A step's standing, and the only place where it changes.

mod apply;
mod decide;
mod recover;
mod standing;

pub use apply::{IllegalTransition, apply};
pub use decide::{AttemptEnd, LookupEnd, Move, after_attempt, after_lookup, after_weighing, hold, next_move, suspect};
pub use recover::recover;

pub(crate) use decide::sent_by_ms;

use crate::doubt::{AbsentProof, Doubt, Finding, Unsettled};
use crate::evidence::Evidence;
use crate::outcome::{Outcome, Permanent};
use serde::{Deserialize, Serialize};

/// A step's durable standing: every decision about it can be taken from this and the rules alone. It is written three times or
/// more for each step, so what it does not have is left out of its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Where it stands.
    pub state: State,
    /// When everything it waits for was done; `None`: not yet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ready_ms: Option<i64>,
    /// Counted attempts (those that tried to connect or send).
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempts: u32,
    /// Lookups made.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lookups: u32,
    /// Permanent refusals so far.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refusals: u32,
    /// The first intent ever written for this step, or the earliest that may be forgotten; key windows are counted from here.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_intent_ms: Option<i64>,
    /// The latest intent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub last_intent_ms: Option<i64>,
    /// Tries in a row that counted no attempt or lookup: told to wait, or nothing could be tried. They cost nothing, but our
    /// patience grows with them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uncounted: u32,
    /// Since when it has been waiting without a try (rate limit, breaker, block, pause).
    #[serde(default, skip_serializing_if = "is_default")]
    pub waiting_since_ms: Option<i64>,
    /// Set while an intent has no evidence: a doubt of its own, which the end of this attempt settles or makes lasting.
    /// It is kept apart from `doubt`, so that a refusal of this attempt never clears the doubt that another one left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub open_intent: Option<OpenIntent>,
    /// Set while an effect may exist that nothing has settled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub doubt: Option<Doubt>,
    /// It is never resent while in doubt: the one resend in its life that a conclusive *absent* allows has been made (a
    /// second doubt is looked up again, but never resent), or the destination *accepted* the order.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resend_spent: bool,
    /// When the ledger was found to have forgotten, the last time that put this step in doubt: once for each time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspected_ms: Option<i64>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An intent to send that is durable, and of whose fate nothing is stored yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenIntent {
    /// When it was written.
    pub at_ms: i64,
    /// `send_by + request timeout`: when the exchange is over at the latest.
    pub over_ms: i64,
}

/// Where a step stands, as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum State {
    /// Not begun: waits for its predecessors, or is ready and waits for a hand.
    Pending,
    /// An attempt or a lookup is under way.
    Processing,
    /// Will be tried again.
    Retrying {
        /// Plain backoff, or a lookup.
        reason: Retry,
        /// Not before.
        until_ms: i64,
    },
    /// Waits without burning attempts.
    Waiting {
        /// What for.
        reason: Wait,
        /// Looked at again then, at the latest.
        until_ms: i64,
    },
    /// The effect exists (or the read was answered).
    Completed,
    /// Closed without the effect, by a flow's `on_failure` or a person's discard.
    Failed,
    /// A person decides.
    NeedsReview {
        /// Why.
        reason: Review,
    },
    /// Never begun, for a stated reason.
    Skipped {
        /// Why.
        reason: Skip,
    },
    /// Cancel was asked for while in doubt: it is settled first, never resent.
    Cancelling {
        /// The next lookup is not before this.
        until_ms: i64,
    },
    /// Cancelled before anything was sent, or after the doubt was settled as *absent*.
    Cancelled,
}

/// Why a step is `retrying`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// The effect is known not to exist; the next try follows the policy.
    Backoff,
    /// In doubt: a lookup (or a resend under the destination's own protection) follows.
    Lookup,
}

/// Why a step is `waiting`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// The destination, or the connection's own rate, says later.
    RateLimited,
    /// The destination is failing; its breaker is open.
    BreakerOpen,
    /// The credentials were refused, or the connection is not usable.
    ConnectionBlocked,
    /// A person paused it.
    Paused,
    /// A timer of the flow.
    Timer,
    /// A person's approval.
    Approval,
    /// An earlier event of the same order is not done.
    InOrder,
}

/// Why a step needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    /// Refused for good; the effect does not exist.
    Refused(Permanent),
    /// Tried as often as the policy allows; the effect does not exist.
    AttemptsUsedUp,
    /// Waited as long as it may; the effect does not exist.
    WaitedTooLong,
    /// The destination asked to wait longer than the policy allows; the effect does not exist.
    ToldToWaitTooLong,
    /// In doubt, and the host has no way to settle it: the effect may exist.
    Doubt(Unsettled),
    /// A template could not be evaluated; nothing was sent.
    Template,
    /// What an earlier step gave out does not fit what this step needs; nothing was sent.
    Output,
    /// The connector or connection it needs is missing or does not allow it; nothing was sent.
    NotAllowed,
    /// The destination did not accept the credentials for what this step asks, and they work otherwise; the effect does not
    /// exist.
    Unauthorized,
}

/// Why a step was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// Its `when` was false.
    WhenFalse,
    /// A step it follows failed or was cancelled.
    Predecessor,
}

/// What happens to a step. Decisions are taken before (see [`after_attempt`] and its siblings); `apply` checks that they
/// are legal and is the only place that carries them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Everything it waits for is done.
    Ready {
        /// When.
        at_ms: i64,
    },
    /// It will never begin.
    Skip(Skip),
    /// An attempt or a lookup begins.
    Begin,
    /// The intent to send is durable. From here on the step is in doubt until evidence says otherwise.
    Intend {
        /// When.
        at_ms: i64,
        /// `send_by + request timeout`: when the exchange is over at the latest.
        over_ms: i64,
    },
    /// An attempt ended.
    Attempted {
        /// When.
        at_ms: i64,
        /// How.
        outcome: Outcome,
        /// What the host saw.
        evidence: Evidence,
        /// It tried to connect or send, and was not told to wait.
        counted: bool,
        /// When the exchange was known to be over.
        over_ms: i64,
        /// What follows.
        next: Next,
    },
    /// A lookup ended.
    LookedUp {
        /// When.
        at_ms: i64,
        /// What it said, as far as it counts.
        finding: Finding,
        /// It asked the destination, and was not told to wait.
        counted: bool,
        /// An *absent* that is conclusive, and why.
        absent_proof: Option<AbsentProof>,
        /// What follows.
        next: Next,
    },
    /// It cannot go on now for a reason that burns nothing; or must go to a person without a try.
    Hold {
        /// When.
        at_ms: i64,
        /// What follows.
        next: Next,
    },
    /// A 401 was found to be no matter of the connection, for which its step was kept waiting: it goes on as after any refusal.
    Weighed {
        /// When.
        at_ms: i64,
        /// The attempt counts after all.
        counted: bool,
        /// What follows.
        next: Next,
    },
    /// The ledger may have forgotten what it sent: an unfinished step starts in doubt.
    Suspect {
        /// What may be forgotten.
        suspicion: Suspicion,
        /// What follows.
        next: Next,
    },
    /// A late 2xx of an attempt that was given up: counts as *found*.
    LateConfirmation,
    /// A person asked to cancel.
    Cancel {
        /// When.
        at_ms: i64,
    },
    /// A person decided about a step in review.
    Decide(Decision),
}

/// What a ledger may have forgotten about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    /// When the ledger was found to have forgotten; tells one time from another.
    pub found_ms: i64,
    /// What was intended before is not forgotten: the earliest that the step may have been sent.
    pub from_ms: i64,
    /// When an exchange that is forgotten was over at the latest.
    pub over_ms: i64,
    /// Whatever was sent had the key that the step has now.
    pub same_key: bool,
}

/// What follows for a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Done.
    Complete,
    /// Tried or asked again.
    Retry {
        /// Why.
        reason: Retry,
        /// Not before.
        until_ms: i64,
    },
    /// Waits, burning nothing.
    Wait {
        /// Why.
        reason: Wait,
        /// Looked at again then.
        until_ms: i64,
    },
    /// A person decides.
    Review(Review),
    /// Cancelled (asked for before).
    Cancel,
}

/// A person's decision about a step in review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Try again, with fresh counters. Where the effect may exist, this asks the destination first if it can.
    Retry {
        /// When.
        at_ms: i64,
        /// The person states, with a reason, that they checked and the effect does not exist.
        stated_absent: bool,
    },
    /// It exists; the person gave the reference.
    Resolve,
    /// It must not happen; the record is kept.
    Discard,
}

impl State {
    /// The word of DESIGN section 1.
    pub fn as_str(&self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Processing => "processing",
            State::Retrying { .. } => "retrying",
            State::Waiting { .. } => "waiting",
            State::Completed => "completed",
            State::Failed => "failed",
            State::NeedsReview { .. } => "needs_review",
            State::Skipped { .. } => "skipped",
            State::Cancelling { .. } => "cancelling",
            State::Cancelled => "cancelled",
        }
    }
}

impl Retry {
    /// The word of DESIGN section 1.
    pub fn as_str(&self) -> &'static str {
        match self {
            Retry::Backoff => "backoff",
            Retry::Lookup => "lookup",
        }
    }
}

impl Wait {
    /// The word of DESIGN section 1.
    pub fn as_str(&self) -> &'static str {
        match self {
            Wait::RateLimited => "rate_limited",
            Wait::BreakerOpen => "breaker_open",
            Wait::ConnectionBlocked => "connection_blocked",
            Wait::Paused => "paused",
            Wait::Timer => "timer",
            Wait::Approval => "approval",
            Wait::InOrder => "in_order",
        }
    }
}
