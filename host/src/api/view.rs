//! How the ledger's rows look to people and programs. Business words, times as RFC 3339, no credential anywhere.

use crate::clock::utc;
use crate::flow::BodyLimits;
use crate::ledger::{
    AttemptKind, AuditLine, ReviewDetail, ReviewItem, ReviewSubject, RunDetail, RunSummary, StoredAttempt, StoredEvent,
    StoredRequest, StoredStep,
};
use data_encoding::HEXLOWER;
use oncegate_domain::id::Id;
use oncegate_domain::step::{State, Step};
use serde_json::{Value, json};

pub(super) fn items(items: impl Iterator<Item = Value>, next: Option<Id>) -> Value {
    json!({ "items": items.collect::<Vec<_>>(), "next": next.map(|id| id.to_string()) })
}

pub(super) fn run(run: &RunSummary) -> Value {
    json!({
        "id": run.id.to_string(),
        "flow": run.flow,
        "key": run.erased_ms.is_none().then_some(&run.key),
        "context": run.context,
        "state": run.state.as_str(),
        "duplicates": run.duplicates,
        "created_at": utc(run.created_ms),
        "finished_at": run.finished_ms.map(utc),
        "erased_at": run.erased_ms.map(utc),
    })
}

pub(super) fn run_detail(detail: &RunDetail) -> Value {
    let mut shown = run(&detail.run);
    shown["revision"] = json!(detail.flow_revision);
    shown["event"] = event(&detail.event);
    shown["deliveries"] = detail
        .deliveries
        .iter()
        .map(|delivery| {
            json!({ "id": delivery.id.to_string(), "received_at": utc(delivery.received_ms), "source": delivery.source,
                "verified_by": delivery.verified_by, "kind": delivery.kind })
        })
        .collect();
    shown["steps"] = detail
        .steps
        .iter()
        .map(|(stored, attempts)| step(stored, attempts))
        .collect();
    shown["reviews"] = detail.reviews.iter().map(review_item).collect();
    shown["audit"] = detail.audit.iter().map(audit).collect();
    shown
}

/// The body is shown without its packing: people read it. What was sent stays in the ledger.
fn event(event: &StoredEvent) -> Value {
    let body = event.body.plain(&BodyLimits::default());
    let is_there = event.erased_ms.is_none();
    json!({
        "id": event.id.to_string(),
        "received_at": utc(event.received_ms),
        "source": event.source,
        "verified_by": event.verified_by,
        "signed_digest": event.signed_digest.map(|digest| format!("sha256:{}", HEXLOWER.encode(&digest))),
        "content_type": event.body.content_type,
        "content_encoding": event.body.encoding.as_str(),
        "body": body.as_deref().ok().filter(|_| is_there).map(String::from_utf8_lossy),
        "erased_at": event.erased_ms.map(utc),
        "body_unreadable": body.as_ref().err().filter(|_| is_there).map(ToString::to_string),
    })
}

fn step(step: &StoredStep, attempts: &[StoredAttempt]) -> Value {
    let standing = &step.state;
    let (why, until_ms) = standing_words(standing);
    json!({
        "id": step.id.to_string(),
        "step": step.step_id,
        "role": step.role.as_str(),
        "to": format!("{}.{}", step.connection, step.action),
        "state": standing.state.as_str(),
        "why": why,
        "until": until_ms.map(utc),
        "in_doubt_since": standing.in_doubt_since_ms().map(utc),
        "resend_safe_until": step.key_window_end_ms.map(utc),
        "attempts": standing.attempts,
        "lookups": standing.lookups,
        "last_error": step.last_error,
        "input": step.input,
        "output": step.output,
        "reference": step.reference,
        "timeline": attempts.iter().map(attempt).collect::<Vec<_>>(),
    })
}

/// Why a step is where it is, and until when. Whatever is not over says so.
fn standing_words(standing: &Step) -> (Option<String>, Option<i64>) {
    let plain = |why: &str| Some(why.to_owned());
    match standing.state {
        State::Pending if standing.ready_ms.is_none() => (plain("waits for the steps before it"), None),
        State::Pending => (
            plain("ready; it is being prepared, or goes as soon as there is room for it"),
            None,
        ),
        State::Processing => (
            plain("it is being carried out, or the destination is being asked"),
            None,
        ),
        State::Retrying { reason, until_ms } => (Some(reason.to_string()), Some(until_ms)),
        State::Waiting { reason, until_ms } => (Some(reason.to_string()), Some(until_ms)),
        State::NeedsReview { reason } => (Some(reason.to_string()), None),
        State::Skipped { reason } => (Some(reason.to_string()), None),
        State::Cancelling { until_ms } => (plain("cancelled; a doubt is settled first"), Some(until_ms)),
        State::Completed | State::Failed | State::Cancelled => (None, None),
    }
}

fn attempt(attempt: &StoredAttempt) -> Value {
    let what = match attempt.kind {
        AttemptKind::Perform => "tried",
        AttemptKind::Resend => "sent again",
        AttemptKind::Lookup => "asked",
    };
    json!({
        "number": attempt.number,
        "what": what,
        "started_at": utc(attempt.started_ms),
        "intent_at": attempt.intent_ms.map(utc),
        "ended_at": attempt.ended_ms.map(utc),
        "connector": attempt.place.connector_digest,
        "connection_revision": attempt.place.connection_revision,
        "origin": attempt.place.origin,
        "account": attempt.place.account,
        "request": attempt.request.as_ref().map(request),
        "saw": attempt.evidence.map(|evidence| evidence.to_string()),
        "status": attempt.status,
        "outcome": attempt.outcome.map(|outcome| outcome.to_string()),
        "finding": attempt.finding.map(|finding| finding.to_string()),
        "message": attempt.message,
        "late": attempt.late.map(|(evidence, at_ms)| json!({ "saw": evidence.to_string(), "at": utc(at_ms) })),
    })
}

fn request(request: &StoredRequest) -> Value {
    json!({
        "method": request.method,
        "path": request.path_and_query,
        "headers": request.headers,
        "body": String::from_utf8_lossy(&request.body),
    })
}

pub(super) fn review_item(item: &ReviewItem) -> Value {
    let mut shown = json!({
        "id": item.id.to_string(),
        "version": item.version,
        "run": item.run.to_string(),
        "flow": item.flow,
        "key": item.key,
        "context": item.context,
        "opened_at": utc(item.opened_ms),
        "closed": item.closed.as_ref().map(|closed| {
            json!({ "at": utc(closed.at_ms), "action": closed.action, "who": closed.who, "why": closed.why })
        }),
    });
    let more = match &item.subject {
        ReviewSubject::Step {
            step,
            name,
            connection,
            action,
            reason,
            may_exist,
            last_error,
            attempts,
            last_try_ms,
            resend_until_ms,
        } => json!({
            "kind": "step",
            "step_id": step.to_string(),
            "step": name,
            "to": format!("{connection}.{action}"),
            "reason": reason.to_string(),
            "effect_may_exist": may_exist,
            "last_error": last_error,
            "attempts": attempts,
            "last_try_at": last_try_ms.map(utc),
            "resend_safe_until": resend_until_ms.map(utc),
        }),
        ReviewSubject::Conflict { event } => json!({
            "kind": "conflict",
            "event": event.to_string(),
            "reason": "the same key came again with another content: the same event, or another one?",
        }),
    };
    if let (Value::Object(shown), Value::Object(more)) = (&mut shown, more) {
        shown.extend(more);
    }
    shown
}

pub(super) fn review_detail(detail: &ReviewDetail) -> Value {
    let mut shown = review_item(&detail.item);
    shown["run_detail"] = run_detail(&detail.run);
    shown["conflicting_event"] = detail.conflicting.as_ref().map(event).unwrap_or_default();
    shown
}

pub(super) fn audit(line: &AuditLine) -> Value {
    json!({
        "id": line.id.to_string(),
        "at": utc(line.entry.at_ms),
        "who": line.entry.who,
        "what": line.entry.what,
        "subject": line.entry.subject,
        "why": line.entry.why,
    })
}
