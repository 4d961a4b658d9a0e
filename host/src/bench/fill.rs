//! A backlog, made by the ledger's own commands and without a host: as if webhooks had been taken in that nobody could work
//! on. Ten minutes of an outage, in seconds.

use super::installation::{CONNECTION, hook};
use super::load::body;
use crate::clock::{Clock, SystemClock};
use crate::executor::intake::first_steps;
use crate::flow::{ContentEncoding, EventView, Flow, RawBody};
use crate::ledger::{Accepted, AttemptKind, Database, Finish, Ledger, NewEvent, NewIntent, Opening, Place};
use crate::ledger::{StepWrite, StoredFlow, StoredRequest, new_id};
use anyhow::{Context, bail};
use futures::future::try_join_all;
use oncegate_domain::id::Id;
use oncegate_domain::key::{EventKey, key_hash};
use oncegate_domain::run;
use oncegate_domain::step::{self, Event, Retry, Review, State, Step};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Commands at the same time: as many as the ledger commits together.
const AT_ONCE: u64 = 256;
/// How far off the time is for which steps wait: nothing of them comes due while the bench runs.
const FAR_MS: i64 = 24 * 3_600_000;

/// How those stand that were not under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They can go at once.
    Ready,
    /// They wait for a time that is far off, after a try that failed.
    Asleep,
    /// A person is asked about them.
    Asked,
}

/// What is made.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// The number of the first event; the others follow.
    pub first: u64,
    /// How many events.
    pub events: u64,
    /// So many of them, the oldest, have an intent without an end: they were under way when their host was gone.
    pub under_way: u64,
    /// The others.
    pub others: Others,
}

/// Fills the ledger in `data`, whose host is down, with events of the flow of one step.
///
/// # Errors
/// The ledger cannot be used.
pub fn fill(data: &Path, database: &Database, backlog: Backlog) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    runtime.block_on(async {
        let opening = Opening {
            database: database.clone(),
            ..Opening::default()
        };
        let ledger = Ledger::open_with(data, Arc::new(SystemClock), &opening).await?;
        let filled = Filler::new(&ledger, backlog).await?.fill().await;
        ledger.close().await;
        filled
    })
}

/// Makes events as intake makes them, and stores them.
pub(super) struct Filler<'a> {
    ledger: &'a Ledger,
    backlog: Backlog,
    stored: StoredFlow,
    flow: Flow,
    now_ms: i64,
}

impl<'a> Filler<'a> {
    /// For the flow of one step, which must be in the ledger.
    pub(super) async fn new(ledger: &'a Ledger, backlog: Backlog) -> anyhow::Result<Self> {
        let flows = ledger.catalog_all().await?.flows;
        let stored = flows.into_iter().find(|flow| flow.name == hook(1));
        let stored = stored.context("the bench's flow of one step is not in the ledger")?;
        let examples = |name: &str| stored.examples.get(name).cloned();
        let Ok((flow, _)) = Flow::parse(&stored.source, &examples) else {
            bail!("the bench's flow is not in order");
        };
        Ok(Self {
            ledger,
            backlog,
            stored,
            flow,
            now_ms: SystemClock.now_ms(),
        })
    }

    /// The flow's id.
    pub(super) fn flow_id(&self) -> Id {
        self.stored.id
    }

    /// An event with a key of the history that a server made.
    pub(super) fn stored(&self, key: &str) -> anyhow::Result<NewEvent> {
        let event = self.event(self.backlog.first, self.now_ms, false)?;
        Ok(NewEvent {
            id: new_id(self.now_ms),
            key: EventKey::from_parts(&[key.to_owned()])?,
            key_hash: Sha256::digest(key).into(),
            fingerprint_covers: false,
            ..event
        })
    }

    async fn fill(&self) -> anyhow::Result<()> {
        let end = self.backlog.first + self.backlog.events;
        for from in (self.backlog.first..end).step_by(AT_ONCE as usize) {
            try_join_all((from..end.min(from + AT_ONCE)).map(|event| self.take_in(event))).await?;
        }
        Ok(())
    }

    async fn take_in(&self, event: u64) -> anyhow::Result<()> {
        let place = event - self.backlog.first;
        // One each millisecond, the last one now: the order of age is the order of numbers.
        let received_ms = self.now_ms.saturating_sub_unsigned(self.backlog.events - place);
        let is_under_way = place < self.backlog.under_way;
        let accepted = self
            .ledger
            .accept(self.event(event, received_ms, is_under_way)?)
            .await?;
        let Accepted::New { run, steps, .. } = accepted else {
            bail!("event {event} was there before");
        };
        match steps.first() {
            Some(step) if is_under_way => {
                self.ledger.intend(self.intent(run, *step, received_ms)?).await?;
            }
            Some(step) if self.backlog.others == Others::Asked => {
                self.ledger.finish(self.asked(run, *step, received_ms)).await?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// What intake makes of the webhook.
    fn event(&self, event: u64, received_ms: i64, is_under_way: bool) -> anyhow::Result<NewEvent> {
        let (id, text) = (new_id(received_ms), body(event));
        let (id_text, parsed) = (id.to_string(), serde_json::from_str(&text)?);
        let view = EventView {
            id: &id_text,
            received_ms,
            source: "webhook",
            body: &parsed,
            headers: &BTreeMap::new(),
            query: &BTreeMap::new(),
        };
        let key = self.flow.event_key(&view)?;
        let mut steps = first_steps(&self.flow, received_ms);
        if self.backlog.others == Others::Asleep && !is_under_way {
            for step in &mut steps {
                step.state = self.asleep(&step.state);
                step.due_ms = step.state.due_ms();
            }
        }
        Ok(NewEvent {
            id,
            flow_id: self.stored.id,
            flow_revision: self.stored.revision,
            key_hash: key_hash(&self.ledger.installation().secret, &self.stored.id.to_string(), &key),
            key,
            fingerprint: self.flow.fingerprint(&view),
            fingerprint_covers: true,
            received_ms,
            source: "webhook".to_owned(),
            verified_by: "none".to_owned(),
            signed_digest: None,
            context: self.flow.context(&view)?,
            body: RawBody {
                bytes: text.into_bytes(),
                encoding: ContentEncoding::Identity,
                content_type: "application/json".to_owned(),
            },
            headers: BTreeMap::new(),
            query: BTreeMap::new(),
            steps,
        })
    }

    fn asleep(&self, ready: &Step) -> Step {
        Step {
            state: State::Retrying {
                reason: Retry::Backoff,
                until_ms: self.now_ms + FAR_MS,
            },
            attempts: 1,
            ..ready.clone()
        }
    }

    fn asked(&self, run: Id, step: Id, at_ms: i64) -> Finish {
        let standing = Step {
            state: State::NeedsReview {
                reason: Review::AttemptsUsedUp,
            },
            attempts: 8,
            ..Step::new()
        };
        Finish {
            run,
            run_state: Some(run::State::NeedsReview),
            run_version: 0,
            epoch: self.ledger.epoch(),
            at_ms,
            step: StepWrite {
                last_error: Some("the destination answered 503".to_owned()),
                ..StepWrite::new(step, 0, standing)
            },
            attempt: None,
            others: Vec::new(),
            notify: Vec::new(),
        }
    }

    /// An intent whose request nobody will ever see again: its exchange counts as over when the bench is.
    fn intent(&self, run: Id, step: Id, at_ms: i64) -> anyhow::Result<NewIntent> {
        let over_ms = self.now_ms + FAR_MS;
        let mut standing = Step::new();
        for event in [Event::Ready { at_ms }, Event::Begin, Event::Intend { at_ms, over_ms }] {
            standing = step::apply(&standing, &event)?;
        }
        Ok(NewIntent {
            run,
            step,
            epoch: self.ledger.epoch(),
            version: 0,
            due_ms: standing.due_ms(),
            step_after: standing,
            number: 1,
            kind: AttemptKind::Perform,
            place: Place {
                connector_digest: "sha256:0".to_owned(),
                connection: CONNECTION.to_owned(),
                connection_revision: 1,
                origin: "http://127.0.0.1".to_owned(),
                account: "bench".to_owned(),
            },
            action: "send".to_owned(),
            input: "{}".to_owned(),
            natural_key: None,
            overtaken_after_ms: None,
            request: StoredRequest {
                method: "POST".to_owned(),
                path_and_query: "/effects/1".to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            at_ms,
            boot_ms: 0,
            send_by_ms: at_ms,
            send_by_boot_ms: 0,
            key_window_end_ms: None,
        })
    }
}
