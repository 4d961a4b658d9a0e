//! Conflicting events as the flow of the run that holds their key reads them: it may be erased, they are not.

use super::DecisionError;
use crate::catalog::ActiveFlow;
use crate::executor::Shared;
use crate::executor::intake::{conflict_key, first_steps};
use crate::flow::{BodyLimits, ContextItem, EventView};
use crate::ledger::{ConflictRun, ReviewDetail, StoredEvent};
use oncegate_domain::id::Id;
use oncegate_domain::key::{EventKey, key_hash};
use std::sync::Arc;

/// What a flow reads in an event.
struct Read {
    context: Vec<ContextItem>,
    /// Why it has none, where it has none.
    key: Result<EventKey, String>,
}

fn read(flow: &ActiveFlow, event: &StoredEvent) -> Result<Read, String> {
    let body = event.body.parse(&BodyLimits::default());
    let body = body.map_err(|error| error.to_string())?;
    let id = event.id.to_string();
    let view = EventView {
        id: &id,
        received_ms: event.received_ms,
        source: &event.source,
        body: &body,
        headers: &event.headers,
        query: &event.query,
    };
    Ok(Read {
        context: flow.flow.context(&view).map_err(|error| error.to_string())?,
        key: flow.flow.event_key(&view).map_err(|error| error.to_string()),
    })
}

impl Shared {
    async fn flow_of(&self, flow_id: Id, revision: u32) -> Result<Arc<ActiveFlow>, String> {
        let flow = self.catalog.flow_at(flow_id, revision).await;
        flow.map_err(|error| error.to_string())
    }

    /// The business words of a conflicting event under the key of `run`.
    ///
    /// # Errors
    /// Why they cannot be told.
    pub async fn words_of(&self, run: Id, event: Id) -> Result<Vec<ContextItem>, String> {
        let holder = self.ledger.run_show(run).await.map_err(|error| error.to_string())?;
        let holder = holder.ok_or_else(|| format!("there is no run {run}"))?;
        let event = self.ledger.event(event).await.map_err(|error| error.to_string())?;
        let flow = self.flow_of(holder.run.flow_id, holder.flow_revision).await?;
        Ok(read(&flow, &event)?.context)
    }

    /// The run that a conflicting event becomes where a person calls it another event.
    pub(super) async fn conflict_run(&self, detail: &ReviewDetail) -> Result<ConflictRun, DecisionError> {
        let event = detail.conflicting.as_ref();
        let event = event.ok_or_else(|| DecisionError::NotFound("conflicting event".to_owned()))?;
        let holder = &detail.run.run;
        let flow = self.flow_of(holder.flow_id, detail.run.flow_revision).await;
        let flow = flow.map_err(DecisionError::NotPossible)?;
        let Read { context, key } = read(&flow, event).map_err(DecisionError::NotPossible)?;
        // The plain key of an erased run is gone; the event says it again.
        let key = match holder.erased_ms {
            None => EventKey::from_parts(std::slice::from_ref(&holder.key)).map_err(|error| error.to_string()),
            Some(_) => key,
        };
        let key = key.and_then(|key| conflict_key(&key, event.id).map_err(|error| error.to_string()));
        let key = key.map_err(DecisionError::NotPossible)?;
        Ok(ConflictRun {
            flow_revision: detail.run.flow_revision,
            key_hash: key_hash(&self.secret, &flow.id.to_string(), &key),
            key,
            context,
            steps: first_steps(&flow.flow, self.clock.now_ms()),
        })
    }
}
