//! What the ledger takes: one plain record per command. Instants are Unix milliseconds of the host's clock.

use crate::flow::{ContextItem, RawBody};
use oncegate_domain::doubt::Finding;
use oncegate_domain::evidence::{Evidence, Report};
use oncegate_domain::id::Id;
use oncegate_domain::key::{EventKey, Role};
use oncegate_domain::outcome::Outcome;
use oncegate_domain::run;
use oncegate_domain::step::Step;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One delivery from outside, with the run it asks for.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// Its id, from [`super::new_id`]: made before it is stored, for the flow's context may show it.
    pub id: Id,
    /// The flow, by its stable id.
    pub flow_id: Id,
    /// The revision that the run stays on.
    pub flow_revision: u32,
    /// The business key, in clear.
    pub key: EventKey,
    /// What the unique index holds: HMAC of the key.
    pub key_hash: [u8; 32],
    /// Digest of what the flow's fingerprint covers.
    pub fingerprint: [u8; 32],
    /// `false`: the fingerprint covers nothing, and the same key is always the same event.
    pub fingerprint_covers: bool,
    /// When it was received.
    pub received_ms: i64,
    /// Where it came from: `webhook`, `schedule`, …
    pub source: String,
    /// How the sender was verified: `none`, `bearer`, `standard-webhooks`, …
    pub verified_by: String,
    /// Digest of the signed bytes, where the sender signs. Unique within the flow: the same bytes are the same event, also
    /// under another key, for that may come from a part which the signature does not cover.
    pub signed_digest: Option<[u8; 32]>,
    /// The body as it was sent.
    pub body: RawBody,
    /// The request's headers that flows may read.
    pub headers: BTreeMap<String, String>,
    /// The request's query.
    pub query: BTreeMap<String, String>,
    /// Business words.
    pub context: Vec<ContextItem>,
    /// Every step of the run, in the order of their ordinals.
    pub steps: Vec<NewStep>,
}

/// A step as it is first written.
#[derive(Clone, Debug)]
pub struct NewStep {
    /// Its place in the flow, unique within the run (notify steps follow the flow's own).
    pub ordinal: u32,
    /// Its name in the flow.
    pub step_id: String,
    /// What the call is for.
    pub role: Role,
    /// Tells repeated steps of one name apart (a notice per review); empty: there is one. Part of the step key.
    pub item: String,
    /// The connection it uses.
    pub connection: String,
    /// The action it calls.
    pub action: String,
    /// The input, as JSON text, where it is known from the start (a notice tells about a review, not about the event).
    pub input: Option<String>,
    /// Its first standing.
    pub state: Step,
    /// When somebody should look at it. `None`: derived from the standing (a step that is ready always gets one).
    pub due_ms: Option<i64>,
}

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepted {
    /// A new run; the caller's host holds its lease.
    New {
        /// The run.
        run: Id,
        /// The event.
        event: Id,
        /// The steps, in the order given. Their version is 0, their epoch [`super::Ledger::epoch`].
        steps: Vec<Id>,
    },
    /// The same event again: counted, listed, not executed.
    Duplicate {
        /// The run of the first delivery.
        run: Id,
        /// Its state now.
        state: run::State,
    },
    /// The same key with another content: kept with its body in front of a person.
    Conflict {
        /// The run that holds the key.
        run: Id,
        /// The event that was kept.
        event: Id,
        /// The open review item.
        item: Id,
    },
}

/// An attempt's name: attempts have numbers within their step, and the number is stored, never inferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttemptId {
    /// The step.
    pub step: Id,
    /// Counted from 1 over performs, resends and lookups alike.
    pub number: u32,
}

/// What an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// The connector's `perform`.
    Perform,
    /// `perform` again while in doubt: the same request to the same place.
    Resend,
    /// The connector's `lookup`: reads only.
    Lookup,
}

impl AttemptKind {
    /// The word as stored and shown.
    pub fn as_str(&self) -> &'static str {
        match self {
            AttemptKind::Perform => "perform",
            AttemptKind::Resend => "resend",
            AttemptKind::Lookup => "lookup",
        }
    }
}

/// Where an attempt goes and with which code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Digest of the connector's bytes, `sha256:…`.
    pub connector_digest: String,
    /// The connection's name.
    pub connection: String,
    /// Its revision.
    pub connection_revision: u32,
    /// The origin the request goes to; empty where the attempt chose none.
    pub origin: String,
    /// The account at the destination.
    pub account: String,
}

/// The mutating request with its key and without credentials. A resend must equal it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRequest {
    /// Upper case.
    pub method: String,
    /// Percent-encoded, with the query.
    pub path_and_query: String,
    /// In the order sent.
    pub headers: Vec<(String, String)>,
    /// May be empty.
    pub body: Vec<u8>,
}

/// The intent to send a mutating request: durable before the first byte leaves.
#[derive(Clone, Debug)]
pub struct NewIntent {
    /// The run the step belongs to.
    pub run: Id,
    /// The step.
    pub step: Id,
    /// The lease epoch the caller holds.
    pub epoch: i64,
    /// The step's version that `step_after` was computed from; the stored one is one more afterwards.
    pub version: i64,
    /// The standing with the doubt begun.
    pub step_after: Step,
    /// When recovery should look if no evidence is stored: `send_by + request timeout`.
    pub due_ms: Option<i64>,
    /// The attempt's number: one more than [`super::StoredStep::last_number`].
    pub number: u32,
    /// Never `Lookup`.
    pub kind: AttemptKind,
    /// Where it goes.
    pub place: Place,
    /// The action called.
    pub action: String,
    /// The input, as JSON text: a resend runs with this one.
    pub input: String,
    /// HMAC of the natural key's fields.
    pub natural_key: Option<[u8; 32]>,
    /// Refuse with `Overtaken` when another step's intent with this natural key is as late as this or later. Tested in
    /// the same transaction, so that no newer value slips in between. For resends of natural actions.
    pub overtaken_after_ms: Option<i64>,
    /// What is sent.
    pub request: StoredRequest,
    /// Now, on the ledger's clock.
    pub at_ms: i64,
    /// Now, on the clock that counts suspended time.
    pub boot_ms: i64,
    /// The last moment at which the first byte may leave.
    pub send_by_ms: i64,
    /// The same on the clock that counts suspended time.
    pub send_by_boot_ms: i64,
    /// Until when a resend is recognised.
    pub key_window_end_ms: Option<i64>,
}

/// Leave to send one mutating request, once. Only the ledger makes one, after the intent is durable.
#[derive(Debug)]
pub struct Intent {
    attempt: AttemptId,
    send_by_ms: i64,
    send_by_boot_ms: i64,
}

impl Intent {
    pub(in crate::ledger) fn new(intent: &NewIntent) -> Self {
        let attempt = AttemptId {
            step: intent.step,
            number: intent.number,
        };
        Self {
            attempt,
            send_by_ms: intent.send_by_ms,
            send_by_boot_ms: intent.send_by_boot_ms,
        }
    }

    /// One that no ledger holds, for tests of what consumes it.
    #[cfg(test)]
    pub(crate) fn for_test(step: Id, send_by_ms: i64, send_by_boot_ms: i64) -> Self {
        Self {
            attempt: AttemptId { step, number: 1 },
            send_by_ms,
            send_by_boot_ms,
        }
    }

    /// The attempt it belongs to.
    pub fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// The last moment at which the first byte may leave, on the ledger's clock.
    pub fn send_by_ms(&self) -> i64 {
        self.send_by_ms
    }

    /// The same on the clock that counts suspended time.
    pub fn send_by_boot_ms(&self) -> i64 {
        self.send_by_boot_ms
    }
}

/// One change of a step's standing. Fields that are `None` leave the stored value as it is, except `due_ms` (`None`:
/// derived from the standing) and `last_error` (`None`: cleared when the step is completed, else kept).
#[derive(Clone, Debug)]
pub struct StepWrite {
    /// The step.
    pub id: Id,
    /// The version that `after` was computed from; the stored one is one more afterwards.
    pub version: i64,
    /// The new standing. Entering `needs_review` opens a review item, leaving it closes the open one.
    pub after: Step,
    /// When somebody should look at it again.
    pub due_ms: Option<i64>,
    /// What went wrong, for people.
    pub last_error: Option<String>,
    /// What later steps read.
    pub output: Option<Arc<Value>>,
    /// What a person would search for at the destination.
    pub reference: Option<String>,
    /// The input, as JSON text.
    pub input: Option<String>,
}

impl StepWrite {
    /// A change of the standing alone.
    pub fn new(id: Id, version: i64, after: Step) -> Self {
        Self {
            id,
            version,
            after,
            due_ms: None,
            last_error: None,
            output: None,
            reference: None,
            input: None,
        }
    }
}

/// The end of an attempt.
#[derive(Clone, Debug)]
pub struct AttemptEnd {
    /// The attempt's number.
    pub number: u32,
    /// What it was.
    pub kind: AttemptKind,
    /// An intent with this number is stored: its row is completed. Else a whole row is written.
    pub has_intent: bool,
    /// Where it went; ignored where an intent is stored.
    pub place: Option<Place>,
    /// What the host saw on the wire.
    pub evidence: Evidence,
    /// Status of the answer, also of a lookup's read.
    pub status: Option<u16>,
    /// What the connector said; `None` for a lookup.
    pub report: Option<Report>,
    /// How it ended; `None` for a lookup.
    pub outcome: Option<Outcome>,
    /// What a lookup said, as far as it counts.
    pub finding: Option<Finding>,
    /// For people: what happened.
    pub message: Option<String>,
    /// When it began.
    pub started_ms: i64,
    /// When the exchange was over.
    pub ended_ms: i64,
}

/// The end of an attempt and all that follows from it, in one commit.
#[derive(Clone, Debug)]
pub struct Finish {
    /// The run.
    pub run: Id,
    /// Its new state; `None`: unchanged, no row is written.
    pub run_state: Option<run::State>,
    /// The version of its row that the caller read.
    pub run_version: i64,
    /// The lease epoch the caller holds.
    pub epoch: i64,
    /// Now.
    pub at_ms: i64,
    /// The step.
    pub step: StepWrite,
    /// Its attempt, if there was one.
    pub attempt: Option<AttemptEnd>,
    /// Steps that become ready or skipped with it.
    pub others: Vec<StepWrite>,
    /// Steps that tell people about a review.
    pub notify: Vec<NewStep>,
}

/// What [`super::Ledger::finish`] made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The ids of the notify steps, in the order given; version 0, the caller's epoch.
    pub notify: Vec<Id>,
    /// The review item that was opened for the step itself.
    pub item: Option<Id>,
}
