//! Runs: what happened to an event, in business words.

use super::extract::{Asked, Sent};
use super::guard::Caller;
use super::{Api, PageQuery, decision_problem, id, ledger_problem, view};
use crate::clock::utc;
use crate::ledger::RunFilter;
use crate::problem::Problem;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use oncegate_domain::run;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Which runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ListQuery {
    state: Option<run::State>,
    flow: Option<String>,
    text: Option<String>,
    after: Option<oncegate_domain::id::Id>,
    limit: Option<u32>,
}

pub(super) async fn list(State(api): State<Arc<Api>>, Asked(query): Asked<ListQuery>) -> Result<Json<Value>, Problem> {
    let flow_id = match &query.flow {
        None => None,
        Some(name) => Some(flow_named(&api, name).await?),
    };
    let filter = RunFilter {
        flow_id,
        state: query.state,
        text: query.text,
    };
    let page = PageQuery {
        after: query.after,
        limit: query.limit,
    };
    let items = api.ledger.run_list(filter, page.into()).await.map_err(ledger_problem)?;
    let mut shown = view::items(items.items.iter().map(view::run), items.next);
    // A search that stopped at its bound must not look like one that found nothing: `next` goes on from there.
    if let Some(stopped) = items.stopped {
        shown["stopped"] = json!({ "runs": stopped.items, "back_to": utc(stopped.back_to_ms) });
    }
    Ok(Json(shown))
}

pub(super) async fn show(State(api): State<Arc<Api>>, Path(text): Path<String>) -> Result<Json<Value>, Problem> {
    let run = api.ledger.run_show(id(&text)?).await.map_err(ledger_problem)?;
    let run = run.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, format!("there is no run {text}")))?;
    Ok(Json(view::run_detail(&run)))
}

/// Why a run is cancelled.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelBody {
    reason: String,
}

pub(super) async fn cancel(
    State(api): State<Arc<Api>>,
    Extension(Caller(who)): Extension<Caller>,
    Path(text): Path<String>,
    Sent(body): Sent<CancelBody>,
) -> Result<Json<Value>, Problem> {
    let run = id(&text)?;
    api.executor
        .cancel(run, who, body.reason)
        .await
        .map_err(decision_problem)?;
    let result = api.ledger.run_result(run).await.map_err(ledger_problem)?;
    Ok(Json(
        json!({ "run": text, "state": result.map(|result| result.state.as_str()) }),
    ))
}

async fn flow_named(api: &Api, name: &str) -> Result<oncegate_domain::id::Id, Problem> {
    let rows = api.ledger.catalog_all().await.map_err(ledger_problem)?;
    let flow = rows.flows.iter().find(|flow| flow.name == name);
    let unknown = || {
        Problem::new(
            StatusCode::NOT_FOUND,
            format!("there is no flow {name:?}; see /api/v1/flows"),
        )
    };
    flow.map(|flow| flow.id).ok_or_else(unknown)
}
