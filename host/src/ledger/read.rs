//! What the ledger gives back: rows as they stand, decoded. Instants are Unix milliseconds.

use super::listed::{AuditLine, ReviewItem};
use super::write::{AttemptKind, Place, StoredRequest};
use crate::flow::{ContextItem, RawBody};
use oncegate_domain::doubt::Finding;
use oncegate_domain::evidence::{Evidence, Report};
use oncegate_domain::id::Id;
use oncegate_domain::key::{InstallationSecret, Role};
use oncegate_domain::outcome::Outcome;
use oncegate_domain::run;
use oncegate_domain::step::{Step, Wait};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Which part of a listing.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The `next` of the part before.
    pub after: Option<Id>,
    /// At most this many; bounded by [`super::PAGE_ITEMS_MAX`].
    pub limit: u32,
}

impl Default for Page {
    fn default() -> Self {
        Self { after: None, limit: 50 }
    }
}

/// One part of a listing, newest first. It may be empty where a search stopped at its bound.
#[derive(Clone, Debug, Serialize)]
pub struct Items<T> {
    /// The part.
    pub items: Vec<T>,
    /// Where the next part begins; `None`: this was the last.
    pub next: Option<Id>,
    /// The search ended here at its bound and not because the part is full: what it looks for may be further back.
    pub stopped: Option<LookedThrough>,
}

/// How far a search went that ended at its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LookedThrough {
    /// So many were looked at.
    pub items: u32,
    /// When the last of them was made.
    pub back_to_ms: i64,
}

/// This installation.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Its id.
    pub id: Id,
    /// What keys are derived with. Never leaves the host.
    pub secret: InstallationSecret,
    /// Changes when the ledger was restored or cloned.
    pub incarnation: i64,
}

/// A run as listed.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// The run.
    pub id: Id,
    /// Its flow.
    pub flow_id: Id,
    /// The flow's name now.
    pub flow: String,
    /// The business key.
    pub key: String,
    /// Business words.
    pub context: Vec<ContextItem>,
    /// Derived from its steps.
    pub state: run::State,
    /// Deliveries of the same event that were not executed, counted up to [`super::DUPLICATES_COUNTED_MAX`].
    pub duplicates: u64,
    /// When it was accepted.
    pub created_ms: i64,
    /// When it reached a final state.
    pub finished_ms: Option<i64>,
    /// When key, business words, payloads and answers were erased.
    pub erased_ms: Option<i64>,
}

/// Which runs.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only of this flow.
    pub flow_id: Option<Id>,
    /// Only in this state.
    pub state: Option<run::State>,
    /// Only those whose key or context contains this text.
    pub text: Option<String>,
}

/// The event of a run, whole.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    /// The event.
    pub id: Id,
    /// When it was received.
    pub received_ms: i64,
    /// Where it came from.
    pub source: String,
    /// How the sender was verified.
    pub verified_by: String,
    /// SHA-256 of the bytes that the sender signed, where it signed any.
    pub signed_digest: Option<[u8; 32]>,
    /// The body as it was sent.
    pub body: RawBody,
    /// Headers that flows may read.
    pub headers: BTreeMap<String, String>,
    /// The query.
    pub query: BTreeMap<String, String>,
    /// When body, headers and query were erased.
    pub erased_ms: Option<i64>,
}

/// A later delivery under the same key.
#[derive(Clone, Debug, Serialize)]
pub struct Delivery {
    /// The event.
    pub id: Id,
    /// When it was received.
    pub received_ms: i64,
    /// Where it came from.
    pub source: String,
    /// How the sender was verified.
    pub verified_by: String,
    /// `first`, `duplicate` or `conflict`.
    pub kind: DeliveryKind,
}

/// What a delivery was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryKind {
    /// It made the run.
    First,
    /// The same event again.
    Duplicate,
    /// The same key with another content.
    Conflict,
}

/// A run as the executor needs it.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Counts the changes of its row.
    pub version: i64,
    /// The run.
    pub id: Id,
    /// Its flow.
    pub flow_id: Id,
    /// The revision it stays on.
    pub flow_revision: u32,
    /// The business key.
    pub key: String,
    /// As stored.
    pub state: run::State,
    /// When it was accepted.
    pub created_ms: i64,
    /// Its event.
    pub event: StoredEvent,
    /// Its steps by ordinal.
    pub steps: Vec<StoredStep>,
}

/// A step as stored.
#[derive(Clone, Debug)]
pub struct StoredStep {
    /// The step.
    pub id: Id,
    /// Its run.
    pub run: Id,
    /// Its place in the run.
    pub ordinal: u32,
    /// Its name in the flow.
    pub step_id: String,
    /// What the call is for.
    pub role: Role,
    /// The item of a fan-out; empty: none.
    pub item: String,
    /// The correction it is; 0: none.
    pub correction: u32,
    /// The connection it uses.
    pub connection: String,
    /// The action it calls.
    pub action: String,
    /// Its standing.
    pub state: Step,
    /// Counts the changes of this row; a write names the version it was computed from.
    pub version: i64,
    /// The lease epoch of its owner.
    pub epoch: i64,
    /// When somebody should look at it; `None`: finished, in review, or waiting for a predecessor.
    pub due_ms: Option<i64>,
    /// Number of the latest attempt; 0: none yet.
    pub last_number: u32,
    /// Until when a resend is recognised.
    pub key_window_end_ms: Option<i64>,
    /// HMAC of the natural key of the latest intent.
    pub natural_key: Option<[u8; 32]>,
    /// What went wrong, for people.
    pub last_error: Option<String>,
    /// The input, as JSON text.
    pub input: Option<String>,
    /// What later steps read.
    pub output: Option<Value>,
    /// What a person would search for at the destination.
    pub reference: Option<String>,
}

/// A step with a due time: somebody should look at it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueStep {
    /// The step.
    pub id: Id,
    /// Its run.
    pub run: Id,
    /// Since when.
    pub due_ms: i64,
    /// Whose lease.
    pub epoch: i64,
    /// Counts the changes of its row.
    pub version: i64,
}

impl DueStep {
    /// Where a scan goes on after this step.
    pub fn cursor(&self) -> DueCursor {
        DueCursor {
            due_ms: self.due_ms,
            step: self.id,
        }
    }
}

/// A place in the due scan of a connection, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueCursor {
    /// Of the last step seen.
    pub due_ms: i64,
    /// The last step seen.
    pub step: Id,
}

impl DueCursor {
    /// Before all steps.
    pub fn first() -> Self {
        DueCursor {
            due_ms: i64::MIN,
            step: Id::from_bytes([0; 16]),
        }
    }
}

/// A step with an intent without evidence: *maybe sent* (DESIGN section 5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The step.
    pub step: DueStep,
    /// The intent.
    pub open: OpenIntent,
}

/// Steps of a connection wait because of the connection: for its rate limit, its breaker or its credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionWait {
    /// The connection.
    pub connection: String,
    /// Why.
    pub reason: Wait,
    /// Until when, the last of them.
    pub until_ms: i64,
    /// What one of the first of them was told, in words.
    pub why: Option<String>,
}

/// An intent whose attempt has no stored end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenIntent {
    /// The attempt's number.
    pub number: u32,
    /// Perform or resend.
    pub kind: AttemptKind,
    /// When it was written.
    pub at_ms: i64,
    /// The last moment at which its first byte could leave.
    pub send_by_ms: i64,
    /// The epoch that wrote it.
    pub epoch: i64,
}

/// The recorded intent that a resend must equal.
#[derive(Clone, Debug)]
pub struct StoredIntent {
    /// The attempt's number.
    pub number: u32,
    /// Perform or resend.
    pub kind: AttemptKind,
    /// When it was written.
    pub at_ms: i64,
    /// The last moment at which its first byte could leave.
    pub send_by_ms: i64,
    /// The same on the clock that counts suspended time.
    pub send_by_boot_ms: i64,
    /// The epoch that wrote it.
    pub epoch: i64,
    /// Another host wrote it, not merely another start of this one.
    pub by_other_host: bool,
    /// Where it went.
    pub place: Place,
    /// The action called.
    pub action: String,
    /// The input it ran with, as JSON text.
    pub input: String,
    /// HMAC of the natural key's fields.
    pub natural_key: Option<[u8; 32]>,
    /// What was sent.
    pub request: StoredRequest,
    /// What the host saw; `None`: no evidence was stored.
    pub evidence: Option<Evidence>,
}

/// An attempt as stored.
#[derive(Clone, Debug)]
pub struct StoredAttempt {
    /// Its number.
    pub number: u32,
    /// What it was.
    pub kind: AttemptKind,
    /// Where it went.
    pub place: Place,
    /// When the intent became durable; `None`: nothing was about to be sent.
    pub intent_ms: Option<i64>,
    /// The last moment at which its first byte could leave.
    pub send_by_ms: Option<i64>,
    /// What was sent.
    pub request: Option<StoredRequest>,
    /// What the host saw; `None`: still open.
    pub evidence: Option<Evidence>,
    /// Status of the answer.
    pub status: Option<u16>,
    /// What the connector said.
    pub report: Option<Report>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What a lookup said.
    pub finding: Option<Finding>,
    /// For people.
    pub message: Option<String>,
    /// When it began.
    pub started_ms: i64,
    /// When it was over.
    pub ended_ms: Option<i64>,
    /// Evidence that came after it was given up.
    pub late: Option<(Evidence, i64)>,
}

/// A run with all that is known of it.
#[derive(Clone, Debug)]
pub struct RunDetail {
    /// As listed.
    pub run: RunSummary,
    /// The revision it stays on.
    pub flow_revision: u32,
    /// Its event.
    pub event: StoredEvent,
    /// Deliveries under its key: the first, then at most [`super::PAGE_ITEMS_MAX`] others.
    pub deliveries: Vec<Delivery>,
    /// Its steps with their attempts, by ordinal.
    pub steps: Vec<(StoredStep, Vec<StoredAttempt>)>,
    /// Review items of it, open and closed, oldest first.
    pub reviews: Vec<ReviewItem>,
    /// What people did to it, oldest first.
    pub audit: Vec<AuditLine>,
}

/// How a run ended, for callers that wait for it.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Its state now.
    pub state: run::State,
    /// It reached a final state.
    pub finished: bool,
    /// `{step: output}` of its completed steps.
    pub outputs: Value,
    /// When the outputs were erased.
    pub erased_ms: Option<i64>,
}
