//! A person pauses a connection, or lets it go on.

use super::extract::Sent;
use super::guard::Caller;
use super::{Api, ledger_problem};
use crate::clock::utc;
use crate::ledger::{LedgerError, PersonPause};
use crate::problem::Problem;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use oncegate_domain::limits::REASON_BYTES_MAX;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Why.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PauseBody {
    #[serde(default)]
    reason: String,
}

pub(super) async fn pause(
    State(api): State<Arc<Api>>,
    Extension(Caller(who)): Extension<Caller>,
    Path(name): Path<String>,
    Sent(body): Sent<PauseBody>,
) -> Result<Json<Value>, Problem> {
    let asked = asked(&api, name.clone(), who, body)?;
    let changed = api.executor.pause(asked).await;
    shown(&api, &name, changed)
}

pub(super) async fn resume(
    State(api): State<Arc<Api>>,
    Extension(Caller(who)): Extension<Caller>,
    Path(name): Path<String>,
    Sent(body): Sent<PauseBody>,
) -> Result<Json<Value>, Problem> {
    let asked = asked(&api, name.clone(), who, body)?;
    let changed = api.executor.resume(asked).await;
    shown(&api, &name, changed)
}

fn asked(api: &Api, connection: String, who: String, body: PauseBody) -> Result<PersonPause, Problem> {
    if body.reason.len() > REASON_BYTES_MAX {
        let detail = format!(
            "the reason has {} bytes, and at most {REASON_BYTES_MAX} are kept; say it shorter",
            body.reason.len()
        );
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    Ok(PersonPause {
        connection,
        who,
        why: body.reason,
        at_ms: api.clock.now_ms(),
    })
}

/// How it stands now, whoever brought that about.
fn shown(api: &Api, name: &str, changed: Result<bool, LedgerError>) -> Result<Json<Value>, Problem> {
    let changed = changed.map_err(ledger_problem)?;
    let paused = api.executor.paused();
    let paused = paused.get(name);
    Ok(Json(json!({
        "connection": name,
        "changed": changed,
        "paused": paused.is_some(),
        "paused_since": paused.map(|paused| utc(paused.since_ms)),
        "paused_by": paused.map(|paused| &paused.who),
        "paused_why": paused.map(|paused| &paused.why),
    })))
}
