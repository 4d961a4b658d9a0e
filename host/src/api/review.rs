//! The review list: what waits for a person, and what they decide.

use super::extract::{Asked, Sent};
use super::guard::Caller;
use super::{Api, PageQuery, decision_problem, id, ledger_problem, view};
use crate::executor::{Decided, Verb};
use crate::ledger::ReviewSubject;
use crate::problem::Problem;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Which items.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ListQuery {
    /// Closed ones as well.
    all: bool,
    after: Option<oncegate_domain::id::Id>,
    limit: Option<u32>,
}

pub(super) async fn list(State(api): State<Arc<Api>>, Asked(query): Asked<ListQuery>) -> Result<Json<Value>, Problem> {
    let page = PageQuery {
        after: query.after,
        limit: query.limit,
    };
    let items = api
        .ledger
        .review_list(query.all, page.into())
        .await
        .map_err(ledger_problem)?;
    Ok(Json(view::items(items.items.iter().map(view::review_item), items.next)))
}

pub(super) async fn show(State(api): State<Arc<Api>>, Path(text): Path<String>) -> Result<Json<Value>, Problem> {
    let detail = api.ledger.review_show(id(&text)?).await.map_err(ledger_problem)?;
    let detail = detail.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, format!("there is no item {text}")))?;
    Ok(Json(view::review_detail(&detail)))
}

/// What a person decided.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecideBody {
    /// The version of the item that they saw.
    version: i64,
    #[serde(default)]
    reason: String,
    /// Of *retry*: they checked at the destination that the effect does not exist.
    #[serde(default)]
    stated_absent: bool,
    /// Of *resolve*: where to find it at the destination.
    reference: Option<String>,
    /// Of *resolve*: what later steps read.
    output: Option<Value>,
}

pub(super) async fn decide(
    State(api): State<Arc<Api>>,
    Extension(Caller(who)): Extension<Caller>,
    Path((text, verb)): Path<(String, String)>,
    Sent(body): Sent<DecideBody>,
) -> Result<Json<Value>, Problem> {
    let item = id(&text)?;
    let what = verb_of(&verb, &body)?;
    let decided = Decided {
        item,
        version: body.version,
        who,
        why: body.reason,
        what,
    };
    api.executor.decide(decided).await.map_err(decision_problem)?;
    let detail = api.ledger.review_show(item).await.map_err(ledger_problem)?;
    let step = detail.and_then(|detail| match &detail.item.subject {
        ReviewSubject::Step { step, .. } => detail
            .run
            .steps
            .iter()
            .find(|(stored, _)| stored.id == *step)
            .map(|(stored, _)| stored.state.state.as_str()),
        ReviewSubject::Conflict { .. } => None,
    });
    Ok(Json(json!({ "item": text, "done": verb, "step_state": step })))
}

/// A field that says nothing about this decision is a mistake, and a mistake here could change a destination.
fn verb_of(verb: &str, body: &DecideBody) -> Result<Verb, Problem> {
    let wrong = |detail: String| Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    if body.stated_absent && verb != "retry" {
        return wrong(format!("`stated_absent` belongs to retry, not to {verb}"));
    }
    if (body.reference.is_some() || body.output.is_some()) && verb != "resolve" {
        return wrong(format!("`reference` and `output` belong to resolve, not to {verb}"));
    }
    match verb {
        "retry" => Ok(Verb::Retry {
            stated_absent: body.stated_absent,
        }),
        "resolve" => Ok(Verb::Resolve {
            reference: body.reference.clone(),
            output: body.output.clone(),
        }),
        "discard" => Ok(Verb::Discard),
        "ignore" => Ok(Verb::Ignore),
        "run" => Ok(Verb::Run),
        other => wrong(format!(
            "{other:?} is no decision; there are retry, resolve, discard, ignore and run"
        )),
    }
}
