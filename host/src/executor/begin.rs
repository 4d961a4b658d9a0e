//! The beginning of an attempt: what to do with the step as of now, and everything the call needs.
//!
//! The connection may have changed, a window may have closed and a cancel may have come since the step was last looked
//! at: all of it is asked again here, right before every call.

use super::Shared;
use super::grant::Granted;
use super::live::{LiveStep, RunCell, outputs};
use super::mission::Mission;
use super::settle::{Abandoned, Change};
use super::signing::Signing;
use crate::catalog::Approved;
use crate::flow::StepPlan;
use crate::ledger::{AttemptKind, StoredIntent};
use oncegate_domain::doubt::{Blocked, Circumstances, Unsettled};
use oncegate_domain::key::{self, Role, StepIdentity, step_key};
use oncegate_domain::step::{self, Event, Move, Next, Review, Skip, Step};
use std::sync::Arc;

/// What the beginning came to.
pub enum Begun {
    /// Call the connector.
    Call(Box<Mission>),
    /// The standing has changed without a call.
    Settled,
    /// Nothing before this moment.
    NotBefore(i64),
}

/// A step that goes to a person without a call: nothing was sent.
struct ToReview {
    reason: Review,
    why: String,
}

/// Decides what to do with the step now, and prepares it.
pub async fn begin(shared: &Arc<Shared>, cell: &Arc<RunCell>, index: usize) -> Result<Begun, Abandoned> {
    let live = &cell.steps.lock().await[index].clone();
    let Some(plan) = plan_of(cell, live) else {
        let why = format!("the flow's revision has no step {:?}", live.name);
        return review(
            shared,
            cell,
            index,
            ToReview {
                reason: Review::NotAllowed,
                why,
            },
        )
        .await;
    };
    if shared.is_found_late(cell, index, live).await? {
        return Ok(Begun::Settled);
    }
    let recorded = if live.standing.doubts_known_request() {
        shared.ledger.last_intent(live.id).await?
    } else {
        None
    };
    let granted = match granted(shared, cell, live, recorded.as_ref()).await {
        Ok(granted) => granted,
        Err(to_review) => return review(shared, cell, index, to_review).await,
    };
    let circumstances = circumstances(shared, cell, live, &granted.approved, recorded.as_ref()).await?;
    let kind = match step::next_move(&live.standing, &granted.approved.terms, &plan.retry, &circumstances) {
        Move::Perform => AttemptKind::Perform,
        Move::Resend => AttemptKind::Resend,
        Move::Lookup => AttemptKind::Lookup,
        Move::WaitUntil(at_ms) => return Ok(Begun::NotBefore(at_ms)),
        Move::Review(reason) => {
            // What went wrong last says more than the reason, which the item shows anyway.
            let why = live.last_error.clone().unwrap_or_else(|| reason.to_string());
            return review(shared, cell, index, ToReview { reason, why }).await;
        }
        Move::Nothing => return Ok(Begun::Settled),
    };
    let input = match (&recorded, &live.input) {
        (Some(intent), _) => Ok(intent.input.clone()),
        (None, Some(input)) => Ok(input.clone()),
        (None, None) => render(cell, index, &cell.steps.lock().await, &granted.approved),
    };
    let input = match input {
        Ok(input) => input,
        Err(to_review) => return review(shared, cell, index, to_review).await,
    };
    let signing = match shared.signer.sign(&granted.approved).await {
        Ok(signing) => signing,
        Err(missing) => {
            let terms = (plan, &*granted.approved);
            shared.hold_blocked(cell, index, terms, &missing).await?;
            return Ok(Begun::Settled);
        }
    };
    match prepare(shared, cell, live, plan, granted, input, signing) {
        Ok(mission) => Ok(Begun::Call(Box::new(Mission {
            index,
            kind,
            recorded,
            ..mission
        }))),
        Err(to_review) => review(shared, cell, index, to_review).await,
    }
}

/// Skips a ready step whose `when` says no; `true`: it was skipped (or went to a person because nobody can tell).
pub async fn skip_unless_wanted(shared: &Arc<Shared>, cell: &Arc<RunCell>, index: usize) -> Result<bool, Abandoned> {
    let flow = &cell.facts.flow.flow;
    let wanted = {
        let steps = cell.steps.lock().await;
        let live = &steps[index];
        let conditional = plan_of(cell, live).is_some_and(|plan| plan.conditional);
        if !conditional || live.role != Role::Do || live.last_number > 0 || live.standing.ready_ms.is_none() {
            return Ok(false);
        }
        let outputs = outputs(&steps, flow.steps().len());
        cell.facts.with_scope(&outputs, |scope| flow.when(index, scope))
    };
    match wanted {
        Ok(true) => Ok(false),
        Ok(false) => {
            shared
                .settle(cell, index, Change::of(Event::Skip(Skip::WhenFalse)))
                .await?;
            Ok(true)
        }
        Err(error) => {
            review(
                shared,
                cell,
                index,
                ToReview {
                    reason: Review::Template,
                    why: error.to_string(),
                },
            )
            .await?;
            Ok(true)
        }
    }
}

/// What the flow says about a step.
pub fn plan_of<'a>(cell: &'a RunCell, live: &LiveStep) -> Option<&'a StepPlan> {
    let flow = &cell.facts.flow.flow;
    match live.role {
        Role::Do | Role::Undo => flow.steps().get(live.ordinal as usize),
        Role::Notify => flow.notify().iter().find(|plan| plan.id == live.name),
    }
}

/// What the step may do: as of now, or, in doubt, as of its intent.
async fn granted(
    shared: &Shared,
    cell: &RunCell,
    live: &LiveStep,
    recorded: Option<&StoredIntent>,
) -> Result<Granted, ToReview> {
    match recorded {
        None => shared.granted(cell, live).await.map_err(|refused| ToReview {
            reason: Review::NotAllowed,
            why: refused.to_string(),
        }),
        // Where the connection is gone nobody can ask or resend, and the effect may exist.
        Some(intent) => shared
            .granted_as_recorded(live, intent)
            .await
            .map_err(|refused| ToReview {
                reason: Review::Doubt(Unsettled::Blocked(Blocked::PlaceChanged)),
                why: refused.to_string(),
            }),
    }
}

async fn circumstances(
    shared: &Shared,
    cell: &RunCell,
    live: &LiveStep,
    approved: &Approved,
    recorded: Option<&StoredIntent>,
) -> Result<Circumstances, Abandoned> {
    let reaches = |origin: &str| approved.places.values().any(|place| place.origin.to_string() == origin);
    let place_changed = recorded
        .is_some_and(|intent| intent.place.account != approved.account || !reaches(&intent.place.origin))
        || shared.may_have_gone_elsewhere(cell, live).await?;
    let overtaken = match recorded.and_then(|intent| Some((intent, intent.natural_key?))) {
        None => false,
        Some((intent, key)) => {
            shared
                .ledger
                .later_intent(&live.connection, &live.action, key, intent.at_ms, live.id)
                .await?
        }
    };
    let by_other_host = recorded.is_some_and(|intent| intent.by_other_host);
    Ok(Circumstances {
        now_ms: shared.clock.now_ms(),
        overtaken,
        blocked: (place_changed.then_some(Blocked::PlaceChanged)).or(by_other_host.then_some(Blocked::OtherHost)),
        jitter: shared.jitter(),
    })
}

fn prepare(
    shared: &Arc<Shared>,
    cell: &Arc<RunCell>,
    live: &LiveStep,
    plan: &StepPlan,
    granted: Granted,
    input: String,
    signing: Signing,
) -> Result<Mission, ToReview> {
    let not_allowed = |why: String| ToReview {
        reason: Review::NotAllowed,
        why,
    };
    let approved = granted.approved;
    let identity = StepIdentity {
        flow_id: &cell.facts.flow.id.to_string(),
        event_key: &cell.facts.key,
        role: live.role,
        step: &live.name,
        item: (!live.item.is_empty()).then_some(live.item.as_str()),
        correction: live.correction,
    };
    let key =
        step_key(&shared.secret, &identity, approved.key.format()).map_err(|error| not_allowed(error.to_string()))?;
    Ok(Mission {
        shared: Arc::clone(shared),
        cell: Arc::clone(cell),
        index: live.ordinal as usize,
        step: live.id,
        name: live.name.clone(),
        component: granted.component,
        policy: plan.retry,
        number: live.last_number + 1,
        kind: AttemptKind::Perform,
        key,
        natural_key: natural_key(shared, &approved, &input),
        input,
        recorded: None,
        signing,
        probe: false,
        tape: None,
        started_ms: shared.clock.now_ms(),
        approved,
    })
}

/// What names the thing that is changed, without its values: other steps that change the same thing carry the same.
fn natural_key(shared: &Shared, approved: &Approved, input: &str) -> Option<[u8; 32]> {
    let fields = approved.natural_key(input)?;
    Some(key::natural_key(&shared.secret, &approved.account, &fields))
}

/// The step's input, for the first time. It is stored with the attempt, so that every later one carries the same.
fn render(cell: &RunCell, index: usize, steps: &[LiveStep], approved: &Approved) -> Result<String, ToReview> {
    let flow = &cell.facts.flow.flow;
    let input = cell
        .facts
        .with_scope(&outputs(steps, flow.steps().len()), |scope| flow.input(index, scope))
        .map_err(|error| ToReview {
            reason: Review::Template,
            why: error.to_string(),
        })?;
    approved.check_input(&input).map_err(|why| ToReview {
        reason: Review::Output,
        why: why.to_string(),
    })?;
    Ok(input.to_string())
}

async fn review(
    shared: &Arc<Shared>,
    cell: &Arc<RunCell>,
    index: usize,
    to_review: ToReview,
) -> Result<Begun, Abandoned> {
    let at_ms = shared.clock.now_ms();
    let reason = in_all_honesty(&cell.steps.lock().await[index].standing, to_review.reason);
    let change = Change::of(Event::Hold {
        at_ms,
        next: Next::Review(reason),
    })
    .with_error(to_review.why);
    shared.settle(cell, index, change).await?;
    Ok(Begun::Settled)
}

/// What cannot be sent as things are may have been sent by a ledger that has forgotten it: *nothing was sent* is no longer
/// for us to say.
fn in_all_honesty(standing: &Step, reason: Review) -> Review {
    let forgotten = standing.doubt.as_ref().and_then(|doubt| doubt.forgotten);
    match (forgotten, reason.effect_may_exist()) {
        (Some(_), false) => Review::Doubt(Unsettled::Forgotten),
        (Some(_), true) | (None, _) => reason,
    }
}
