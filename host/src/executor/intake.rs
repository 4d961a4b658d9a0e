//! From a delivery to a run: the key, the fingerprint, the business words, and one transaction that makes it durable.

use super::Shared;
use super::live::{LiveStep, RunCell, RunFacts};
use super::scheduler::{Ready, Reserved};
use crate::catalog::ActiveFlow;
use crate::flow::{EventView, Fingerprint, Flow, RawBody, TemplateError};
use crate::ledger::{Accepted, LedgerError, NewEvent, NewStep, new_id};
use oncegate_domain::id::Id;
use oncegate_domain::key::{EventKey, Role, key_hash};
use oncegate_domain::step::{self, Event, Step};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One delivery, verified and parsed.
pub struct Delivery {
    /// The flow.
    pub flow: Arc<ActiveFlow>,
    /// When it was received.
    pub received_ms: i64,
    /// Where it came from.
    pub source: String,
    /// How the sender was verified.
    pub verified_by: String,
    /// SHA-256 of the bytes that the sender signed, where it signed any.
    pub signed_digest: Option<[u8; 32]>,
    /// The body as it was sent.
    pub raw: RawBody,
    /// The parsed body.
    pub body: Value,
    /// Headers that flows may read.
    pub headers: BTreeMap<String, String>,
    /// The query.
    pub query: BTreeMap<String, String>,
}

/// Why a delivery was not taken in. Nothing of it was stored.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The event has no usable key, or lacks what the flow's context needs: the sender must mend it.
    #[error("{0}")]
    Event(#[from] TemplateError),
    /// It could not be made durable: the sender should try again.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
}

impl Shared {
    /// Makes a delivery durable and begins its run.
    pub async fn accept(self: &Arc<Self>, delivery: Delivery) -> Result<Accepted, IntakeError> {
        let id = new_id(delivery.received_ms);
        let id_text = id.to_string();
        let view = EventView {
            id: &id_text,
            received_ms: delivery.received_ms,
            source: &delivery.source,
            body: &delivery.body,
            headers: &delivery.headers,
            query: &delivery.query,
        };
        let flow = &delivery.flow.flow;
        let key = flow.event_key(&view)?;
        let context = flow.context(&view)?;
        let fingerprint = flow.fingerprint(&view);
        let steps = first_steps(flow, delivery.received_ms);
        let new = NewEvent {
            id,
            flow_id: delivery.flow.id,
            flow_revision: delivery.flow.revision,
            key_hash: key_hash(&self.secret, &delivery.flow.id.to_string(), &key),
            key: key.clone(),
            fingerprint,
            fingerprint_covers: flow
                .webhook()
                .is_none_or(|hook| hook.fingerprint != Fingerprint::Nothing),
            received_ms: delivery.received_ms,
            source: delivery.source.clone(),
            verified_by: delivery.verified_by,
            signed_digest: delivery.signed_digest,
            body: delivery.raw,
            headers: delivery.headers.clone(),
            query: delivery.query.clone(),
            context: context.clone(),
            steps: steps.clone(),
        };
        let reserved = match steps.iter().find(|step| step.due_ms.is_some()) {
            Some(first) => self.seats.reserve(&first.connection).await,
            None => None,
        };
        let accepted = self.ledger.accept(new).await?;
        if let Accepted::New { run, event, steps: ids } = &accepted {
            let facts = RunFacts {
                id: *run,
                flow: Arc::clone(&delivery.flow),
                key,
                event_id: *event,
                received_ms: delivery.received_ms,
                source: delivery.source,
                body: delivery.body,
                headers: delivery.headers,
                query: delivery.query,
                context,
                created_ms: delivery.received_ms,
            };
            self.begin_run(facts, ids, steps, reserved);
        }
        Ok(accepted)
    }

    /// A run that was just accepted is worked on here, at once, from memory.
    fn begin_run(self: &Arc<Self>, facts: RunFacts, ids: &[Id], steps: Vec<NewStep>, mut reserved: Option<Reserved>) {
        let epoch = self.ledger.epoch();
        let steps: Vec<LiveStep> = ids
            .iter()
            .zip(steps)
            .map(|(id, new)| LiveStep::from_new(*id, epoch, new))
            .collect();
        let ready: Vec<Ready> = steps
            .iter()
            .filter(|live| live.standing.due_ms().is_some())
            .map(|live| (live.id, live.connection.clone()))
            .collect();
        let cell = self.live.keep(RunCell::new(facts, steps));
        for step in &ready {
            self.offer(&cell, step, reserved.take());
        }
    }
}

/// Every step of a run, those that wait for nothing being ready.
pub fn first_steps(flow: &Flow, at_ms: i64) -> Vec<NewStep> {
    let plans = flow.steps().iter().enumerate();
    plans
        .map(|(index, plan)| {
            let state = match step::apply(&Step::new(), &Event::Ready { at_ms }) {
                Ok(ready) if plan.after.is_empty() => ready,
                Ok(_) | Err(_) => Step::new(),
            };
            NewStep {
                ordinal: u32::try_from(index).unwrap_or(u32::MAX),
                step_id: plan.id.clone(),
                role: Role::Do,
                item: String::new(),
                connection: plan.connection.clone(),
                action: plan.action.clone(),
                due_ms: state.due_ms(),
                state,
                input: None,
            }
        })
        .collect()
}

/// The key under which a conflicting event runs, once a person said that it is another event.
pub fn conflict_key(key: &EventKey, event: Id) -> Result<EventKey, oncegate_domain::key::KeyError> {
    EventKey::from_parts(&[key.to_string(), "another event".to_owned(), event.to_string()])
}
