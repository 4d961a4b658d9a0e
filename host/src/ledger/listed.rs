//! What the ledger gives back to people: review items, the trail, what describes the installation, counts. Instants are
//! Unix milliseconds.

use super::change::AuditEntry;
use super::read::{RunDetail, StoredEvent};
use crate::flow::ContextItem;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a review item is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ReviewSubject {
    /// A step that cannot go on.
    Step {
        /// The step.
        step: Id,
        /// Its name in the flow.
        name: String,
        /// Its connection.
        connection: String,
        /// Its action.
        action: String,
        /// Why it waits.
        reason: Review,
        /// The effect may exist.
        may_exist: bool,
        /// What went wrong last.
        last_error: Option<String>,
        /// Attempts that counted.
        attempts: u32,
        /// Time of the last try.
        last_try_ms: Option<i64>,
        /// Until when a resend is recognised.
        resend_until_ms: Option<i64>,
    },
    /// The same key with another content.
    Conflict {
        /// The event that was kept with its body.
        event: Id,
    },
}

/// Something that waits (or waited) for a person.
#[derive(Clone, Debug, Serialize)]
pub struct ReviewItem {
    /// The item.
    pub id: Id,
    /// A decision names the version it saw.
    pub version: i64,
    /// Its run (of a conflict: the run that holds the key).
    pub run: Id,
    /// The flow.
    pub flow_id: Id,
    /// The flow's name now.
    pub flow: String,
    /// The business key.
    pub key: String,
    /// Business words.
    pub context: Vec<ContextItem>,
    /// What it is about.
    pub subject: ReviewSubject,
    /// When it came up.
    pub opened_ms: i64,
    /// How it was closed; `None`: open.
    pub closed: Option<Closed>,
}

/// How a review item was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Closed {
    /// When.
    pub at_ms: i64,
    /// `retry`, `resolve`, `discard`, `ignore`, `run`, `cancel`, or `settled` where the host found out by itself.
    pub action: String,
    /// Who.
    pub who: String,
    /// Why, in their words.
    pub why: String,
}

/// A review item with all that a person needs.
#[derive(Clone, Debug)]
pub struct ReviewDetail {
    /// As listed.
    pub item: ReviewItem,
    /// The run it belongs to.
    pub run: RunDetail,
    /// The conflicting event, whole.
    pub conflicting: Option<StoredEvent>,
}

/// One line of the audit trail as stored.
#[derive(Clone, Debug, Serialize)]
pub struct AuditLine {
    /// Its id.
    pub id: Id,
    /// What was written.
    #[serde(flatten)]
    pub entry: AuditEntry,
}

/// A flow's revision as stored.
#[derive(Clone, Debug)]
pub struct StoredFlow {
    /// The stable id.
    pub id: Id,
    /// Its name now.
    pub name: String,
    /// The revision.
    pub revision: u32,
    /// The flow takes events.
    pub active: bool,
    /// The TOML.
    pub source: String,
    /// The example files it names.
    pub examples: BTreeMap<String, String>,
}

/// A connector that is stored, without its bytes: versions add up, and most of them are megabytes that nobody runs.
#[derive(Clone, Debug)]
pub struct KnownConnector {
    /// `sha256:…`.
    pub digest: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How large the component is.
    pub bytes_len: u64,
    /// The section `oncegate:manifest`, as JSON text.
    pub manifest: String,
}

/// A connector as stored.
#[derive(Clone, Debug)]
pub struct StoredConnector {
    /// `sha256:…`.
    pub digest: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The component.
    pub bytes: Vec<u8>,
    /// The section `oncegate:manifest`, as JSON text.
    pub manifest: String,
}

/// A connection's revision as stored.
#[derive(Clone, Debug)]
pub struct StoredConnection {
    /// Its name.
    pub name: String,
    /// The revision.
    pub revision: u32,
    /// It may be used.
    pub active: bool,
    /// The TOML.
    pub source: String,
    /// The approved connector bytes.
    pub digest: String,
    /// Which flows may use it.
    pub flows: Vec<String>,
}

/// Everything that describes the installation, at its current revisions.
#[derive(Clone, Debug, Default)]
pub struct CatalogRows {
    /// Every flow, active or not.
    pub flows: Vec<StoredFlow>,
    /// Every version of every connector.
    pub connectors: Vec<KnownConnector>,
    /// Every connection, active or not.
    pub connections: Vec<StoredConnection>,
}

/// A token as stored.
#[derive(Clone, Debug)]
pub struct StoredToken {
    /// Its id.
    pub id: Id,
    /// What people call it.
    pub name: String,
    /// `admin`, …
    pub role: String,
    /// Not valid from then on.
    pub expires_ms: Option<i64>,
    /// When it was made.
    pub created_ms: i64,
}

/// What is in the ledger, counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// As of when: where a long backlog makes counting slow, one count serves for a while.
    pub counted_ms: i64,
    /// Deliveries taken in, duplicates and conflicts among them.
    pub events: u64,
    /// Runs by state.
    pub runs: Vec<(run::State, u64)>,
    /// Deliveries that were the same event again.
    pub duplicates: u64,
    /// Deliveries under a used key with another content.
    pub conflicts: u64,
    /// Completed steps by flow, step, connection and action, in the newest runs alone.
    pub effects: Vec<EffectCount>,
    /// In how many of the newest runs the effects were counted.
    pub effects_in_runs: u64,
    /// Open review items by reason (`conflict`, or the step's reason).
    pub review: Vec<(String, u64)>,
}

/// How often a step was completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EffectCount {
    /// The flow's name.
    pub flow: String,
    /// The step's name.
    pub step: String,
    /// Its connection.
    pub connection: String,
    /// Its action.
    pub action: String,
    /// How often.
    pub completed: u64,
}

/// What the writer did since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WriterCounts {
    /// Commands carried out, refused ones among them.
    pub commands: u64,
    /// Transactions committed: one flush each.
    pub commits: u64,
    /// Transactions rolled back and repeated command by command.
    pub rollbacks: u64,
    /// How often the embedded ledger's log was moved into it: two flushes each.
    pub moves: u64,
}
