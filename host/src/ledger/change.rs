//! What people do, as the ledger takes it: decisions, and what describes the installation. Instants are Unix milliseconds.

use super::write::{AttemptId, NewStep, StepWrite};
use crate::flow::ContextItem;
use oncegate_domain::evidence::Evidence;
use oncegate_domain::id::Id;
use oncegate_domain::key::EventKey;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::run;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a person does about a step in review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonAction {
    /// Try again (asks first where the effect may exist).
    Retry,
    /// It exists.
    Resolve,
    /// It must not happen.
    Discard,
}

impl PersonAction {
    /// The word as stored and shown.
    pub fn as_str(&self) -> &'static str {
        match self {
            PersonAction::Retry => "retry",
            PersonAction::Resolve => "resolve",
            PersonAction::Discard => "discard",
        }
    }
}

/// A person's decision about a step in review.
#[derive(Clone, Debug)]
pub struct PersonDecision {
    /// The review item.
    pub item: Id,
    /// The version of it that the person saw.
    pub version: i64,
    /// Who decides.
    pub who: String,
    /// Why, in their words; may be empty for a plain retry.
    pub why: String,
    /// What.
    pub action: PersonAction,
    /// The person states to have checked that the effect does not exist.
    pub stated_absent: bool,
    /// When.
    pub at_ms: i64,
    /// The step after it; its step must be the item's.
    pub step: StepWrite,
    /// Steps that become ready or skipped with it.
    pub others: Vec<StepWrite>,
    /// The run's new state; `None`: unchanged.
    pub run_state: Option<run::State>,
    /// The version of the run's row that the caller read.
    pub run_version: i64,
}

/// A person's decision about a conflicting event.
#[derive(Clone, Debug)]
pub struct ConflictDecision {
    /// The review item.
    pub item: Id,
    /// The version of it that the person saw.
    pub version: i64,
    /// Who decides.
    pub who: String,
    /// Why, in their words.
    pub why: String,
    /// When.
    pub at_ms: i64,
    /// `None`: the same event, ignore. `Some`: another event, run it.
    pub run: Option<ConflictRun>,
}

/// The run of a conflicting event that a person called another event.
#[derive(Clone, Debug)]
pub struct ConflictRun {
    /// The revision it runs on.
    pub flow_revision: u32,
    /// The key with the correction's suffix.
    pub key: EventKey,
    /// Its HMAC.
    pub key_hash: [u8; 32],
    /// Business words.
    pub context: Vec<ContextItem>,
    /// Every step.
    pub steps: Vec<NewStep>,
}

/// Cancels what has not been sent.
#[derive(Clone, Debug)]
pub struct Cancel {
    /// The run.
    pub run: Id,
    /// Who asks for it.
    pub who: String,
    /// Why, in their words.
    pub why: String,
    /// When.
    pub at_ms: i64,
    /// Every step that changes. A version that is not the stored one makes the whole command `Stale`.
    pub steps: Vec<StepWrite>,
    /// The run's new state.
    pub run_state: run::State,
    /// The version of the run's row that the caller read.
    pub run_version: i64,
}

/// A person pauses a connection, or lets it go on.
#[derive(Clone, Debug)]
pub struct PersonPause {
    /// Its name.
    pub connection: String,
    /// Who asks for it.
    pub who: String,
    /// Why, in their words; may be empty.
    pub why: String,
    /// When.
    pub at_ms: i64,
}

/// Evidence that came after its attempt was given up. Appended whoever owns the step now; it changes no state.
#[derive(Clone, Debug)]
pub struct LateEvidence {
    /// The run.
    pub run: Id,
    /// The attempt.
    pub attempt: AttemptId,
    /// The lease epoch under which its intent was recorded: an attempt of this number may be another owner's by now.
    pub epoch: i64,
    /// What was seen.
    pub evidence: Evidence,
    /// Status of the answer.
    pub status: Option<u16>,
    /// How the attempt ended. One that is confirmed counts as *found*.
    pub outcome: Option<Outcome>,
    /// What later steps would have read.
    pub output: Option<Value>,
    /// What a person would search for at the destination.
    pub reference: Option<String>,
    /// When.
    pub at_ms: i64,
}

/// One line of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// When.
    pub at_ms: i64,
    /// Who.
    pub who: String,
    /// What was done: `review.resolve`, `run.cancel`, `flow.save`, …
    pub what: String,
    /// To what: a name or an id.
    pub subject: String,
    /// Why, in their words.
    pub why: String,
}

/// All that one apply changes about the installation.
#[derive(Clone, Debug, Default)]
pub struct InstallationChange {
    /// Connectors that are new here.
    pub connectors: Vec<NewConnector>,
    /// Connections that are new or changed.
    pub connections: Vec<NewConnection>,
    /// Flows that are new or changed.
    pub flows: Vec<NewFlow>,
    /// Names of flows that take no more events.
    pub gone_flows: Vec<String>,
    /// Names of connections that are not used any more.
    pub gone_connections: Vec<String>,
    /// Who.
    pub who: String,
    /// When.
    pub at_ms: i64,
}

/// A flow as uploaded.
#[derive(Clone, Debug)]
pub struct NewFlow {
    /// Its name.
    pub name: String,
    /// The name it had: it keeps that flow's id and keys.
    pub renamed_from: Option<String>,
    /// The TOML.
    pub source: String,
    /// The example files it names.
    pub examples: BTreeMap<String, String>,
    /// When.
    pub at_ms: i64,
    /// Who.
    pub who: String,
}

/// A connector as added.
#[derive(Clone, Debug)]
pub struct NewConnector {
    /// `sha256:…` of the bytes.
    pub digest: String,
    /// From the manifest.
    pub name: String,
    /// From the manifest.
    pub version: String,
    /// The component.
    pub bytes: Vec<u8>,
    /// The section `oncegate:manifest`, as JSON text.
    pub manifest: String,
    /// When.
    pub at_ms: i64,
    /// Who.
    pub who: String,
}

/// A connection as approved.
#[derive(Clone, Debug)]
pub struct NewConnection {
    /// Its name.
    pub name: String,
    /// The TOML (secrets by reference only).
    pub source: String,
    /// The approved connector bytes, `sha256:…`.
    pub digest: String,
    /// Which flows may use it.
    pub flows: Vec<String>,
    /// When.
    pub at_ms: i64,
    /// Who.
    pub who: String,
}

/// An access token; only its hash is stored.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What people call it.
    pub name: String,
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// `admin` (later also `designer`, `operator`, `viewer`).
    pub role: String,
    /// Not valid from then on.
    pub expires_ms: Option<i64>,
    /// When.
    pub at_ms: i64,
}
