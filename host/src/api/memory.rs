//! Whether the ledger remembers all that happened, and what people say about that.

use super::extract::Sent;
use super::guard::Caller;
use super::{Api, ledger_problem};
use crate::clock::{parse_utc, utc};
use crate::ledger::{Forgetting, Memory, Statement};
use crate::problem::Problem;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use oncegate_domain::limits;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// What a person says about the ledger.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    reason: String,
    /// Of the window, as RFC 3339.
    from: Option<String>,
    to: Option<String>,
}

pub(super) async fn show(State(api): State<Arc<Api>>) -> Json<Value> {
    Json(view(&api))
}

pub(super) async fn tell(
    State(api): State<Arc<Api>>,
    Path(verb): Path<String>,
    Extension(Caller(who)): Extension<Caller>,
    Sent(said): Sent<Said>,
) -> Result<Json<Value>, Problem> {
    let wrong = |what: String| Problem::new(StatusCode::BAD_REQUEST, what);
    if said.reason.trim().is_empty() {
        return Err(wrong("say why: it is kept with the record".to_owned()));
    }
    if said.reason.len() > limits::REASON_BYTES_MAX {
        let most = limits::REASON_BYTES_MAX;
        return Err(wrong(format!(
            "the reason is longer than the {most} bytes that are kept"
        )));
    }
    let statement = match verb.as_str() {
        "reconcile" => window(&said)?,
        "end" => Statement::Ended,
        "moved" => Statement::Moved,
        "copied" => Statement::Copied,
        other => {
            let what = format!("{other:?} cannot be said about the ledger; it is reconcile, end, moved or copied");
            return Err(Problem::new(StatusCode::NOT_FOUND, what));
        }
    };
    let told = api.ledger.tell_memory(statement, &who, &said.reason).await;
    told.map_err(ledger_problem)?;
    Ok(Json(view(&api)))
}

fn window(said: &Said) -> Result<Statement, Problem> {
    let instant = |name: &str, text: Option<&String>| {
        let instant = text.and_then(|text| parse_utc(text));
        let missing = || format!("`{name}` is an instant like 2026-03-29T01:00:00Z");
        instant.ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, missing()))
    };
    Ok(Statement::Forgot {
        from_ms: instant("from", said.from.as_ref())?,
        until_ms: instant("to", said.to.as_ref())?,
    })
}

fn view(api: &Api) -> Value {
    let memory = api.ledger.memory();
    let installation = api.ledger.installation();
    let (word, forgetting): (_, Option<&Forgetting>) = match &memory {
        Memory::Whole => ("whole", None),
        Memory::Reconcile(forgetting) => ("reconcile", Some(forgetting)),
        Memory::Elsewhere(forgetting) => ("elsewhere", Some(forgetting)),
    };
    json!({
        "installation": installation.id.to_string(),
        "memory": word,
        "found_at": forgetting.map(|forgetting| utc(forgetting.window.found_ms)),
        "from": forgetting.map(|forgetting| utc(forgetting.window.from_ms)),
        "to": forgetting.map(|forgetting| utc(forgetting.window.until_ms)),
        "why": forgetting.map(|forgetting| &forgetting.why),
        "notice": memory.notice(),
    })
}
