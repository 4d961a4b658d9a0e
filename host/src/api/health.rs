//! Is this host well, and what did it do?

use super::{Api, ledger_problem};
use crate::clock::utc;
use crate::problem::Problem;
use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Ready: the ledger answers and takes in events, and everything that is active can be used.
pub(super) async fn ready(State(api): State<Arc<Api>>) -> Result<String, Problem> {
    // Known without a question: a database that is away is not waited for.
    api.ledger.has_room().map_err(ledger_problem)?;
    api.ledger.answers().await.map_err(ledger_problem)?;
    let broken = api.catalog.snapshot().broken().len();
    let blocked = api.executor.blocked().len();
    let paused = api.executor.paused().len();
    let mut said = vec!["ready".to_owned()];
    said.extend(but(broken, "part cannot be used", "parts cannot be used"));
    said.extend(but(blocked, "connection is blocked", "connections are blocked"));
    said.extend(but(paused, "connection is paused", "connections are paused"));
    if has_synchronous_standby(&api) == Some(false) {
        said.push(
            "but the database has no synchronous standby: a failover to another server can lose acknowledged work"
                .to_owned(),
        );
    }
    said.extend(api.ledger.memory().notice().map(|notice| format!("but {notice}")));
    Ok(said.join(", ") + "\n")
}

/// Whether each COMMIT waits for a second server; `None`: the ledger is not on a server.
pub(super) fn has_synchronous_standby(api: &Api) -> Option<bool> {
    api.ledger
        .neighbours()
        .map(crate::ledger::Neighbours::has_synchronous_standby)
}

fn but(count: usize, one: &str, more: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("but 1 {one}")),
        _ => Some(format!("but {count} {more}")),
    }
}

/// What is in the ledger, counted; `effects` in the newest runs alone, and `effects_in_runs` says in how many.
pub(super) async fn counts(State(api): State<Arc<Api>>) -> Result<Json<Value>, Problem> {
    let counts = api.ledger.counts().await.map_err(ledger_problem)?;
    let runs: Map<String, Value> = counts
        .runs
        .iter()
        .map(|(state, count)| (state.as_str().to_owned(), json!(count)))
        .collect();
    let review: Map<String, Value> = counts
        .review
        .iter()
        .map(|(reason, count)| (reason.clone(), json!(count)))
        .collect();
    Ok(Json(json!({
        "events": counts.events,
        "duplicates": counts.duplicates,
        "conflicts": counts.conflicts,
        "runs": runs,
        "review": review,
        "effects": counts.effects,
        "effects_in_runs": counts.effects_in_runs,
        "counted_at": utc(counts.counted_ms),
        "writer": api.ledger.writer_counts(),
        "synchronous_standby": has_synchronous_standby(&api),
        "blocked": api.executor.blocked().into_keys().collect::<Vec<_>>(),
        "paused": api.executor.paused().into_keys().collect::<Vec<_>>(),
        "in_memory": api.executor.seated(),
        "broken": api.catalog.snapshot().broken(),
        "memory": api.ledger.memory().notice(),
    })))
}

/// What the ledger's writer did since this host came up. Costs nothing: no question to the ledger.
pub(super) async fn writer(State(api): State<Arc<Api>>) -> Json<Value> {
    Json(json!(api.ledger.writer_counts()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_more_are_many() {
        let blocked = |count| but(count, "connection is blocked", "connections are blocked");
        assert_eq!(blocked(0), None);
        assert_eq!(blocked(1).as_deref(), Some("but 1 connection is blocked"));
        assert_eq!(blocked(2).as_deref(), Some("but 2 connections are blocked"));
    }
}
