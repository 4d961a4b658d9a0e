//! What describes the installation: flows, connectors, connections, the audit trail, and applying a folder.

use super::extract::{Asked, Sent};
use super::guard::Caller;
use super::{Api, FOLDER_BYTES_MAX, PageQuery, ledger_problem, view};
use crate::catalog::RequestKind;
use crate::catalog::folder::{FolderError, PARTS};
use crate::clock::utc;
use crate::ledger::StoredConnection;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Component, Path};
use std::sync::Arc;

pub(super) async fn audit(State(api): State<Arc<Api>>, Asked(query): Asked<PageQuery>) -> Result<Json<Value>, Problem> {
    let items = api.ledger.audit_list(query.into()).await.map_err(ledger_problem)?;
    Ok(Json(view::items(items.items.iter().map(view::audit), items.next)))
}

pub(super) async fn flows(State(api): State<Arc<Api>>) -> Result<Json<Value>, Problem> {
    let rows = api.ledger.catalog_all().await.map_err(ledger_problem)?;
    let snapshot = api.catalog.snapshot();
    let items = rows.flows.iter().map(|row| {
        let active = snapshot.flow(row.id);
        let hook = active.as_ref().and_then(|active| active.flow.webhook());
        json!({
            "id": row.id.to_string(),
            "name": row.name,
            "title": active.as_ref().map(|active| active.flow.title()),
            "revision": row.revision,
            "active": row.active,
            "hook": hook.map(|hook| format!("/hooks/{}", hook.path)),
            "open": hook.map(|hook| hook.verify == crate::flow::Verify::None),
            "verify": hook.map(|hook| hook.verify.word()),
            "uses": active.map(|active| active.flow.uses()),
        })
    });
    Ok(Json(view::items(items, None)))
}

pub(super) async fn connectors(State(api): State<Arc<Api>>) -> Result<Json<Value>, Problem> {
    let rows = api.ledger.catalog_all().await.map_err(ledger_problem)?;
    let items = rows.connectors.iter().map(|row| {
        let uses = |connection: &&StoredConnection| connection.active && connection.digest == row.digest;
        let used_by: Vec<_> = rows
            .connections
            .iter()
            .filter(uses)
            .map(|connection| &connection.name)
            .collect();
        json!({ "name": row.name, "version": row.version, "digest": row.digest, "bytes": row.bytes_len,
            "used_by": used_by })
    });
    Ok(Json(view::items(items, None)))
}

/// Connections as they are in force. Of a secret only the place is known here, and not even that is shown.
pub(super) async fn connections(State(api): State<Arc<Api>>) -> Result<Json<Value>, Problem> {
    let rows = api.ledger.catalog_all().await.map_err(ledger_problem)?;
    let snapshot = api.catalog.snapshot();
    let (blocked, failing) = (api.executor.blocked(), api.executor.failing());
    let paused = api.executor.paused();
    let items = rows.connections.iter().map(|row| {
        let blocked = blocked.get(&row.name).filter(|_| row.active);
        let failing = failing.get(&row.name).filter(|_| row.active);
        let paused = paused.get(&row.name);
        let inforce = snapshot.connection(&row.name);
        let actions = inforce.map(|connection| {
            let action = |approved: &Arc<crate::catalog::Approved>| {
                let writes = approved
                    .requests()
                    .iter()
                    .filter(|rule| rule.kind == RequestKind::Write);
                json!({ "name": approved.action, "writes": writes.map(ToString::to_string).collect::<Vec<_>>() })
            };
            connection.actions.values().map(action).collect::<Vec<_>>()
        });
        json!({
            "name": row.name,
            "revision": row.revision,
            "active": row.active,
            "connector": inforce.map(|connection| connection.spec.connector.clone()),
            "account": inforce.map(|connection| connection.spec.account.clone()),
            "digest": row.digest,
            "flows": row.flows,
            "actions": actions,
            "paused_since": paused.map(|paused| utc(paused.since_ms)),
            "paused_by": paused.map(|paused| &paused.who),
            "paused_why": paused.map(|paused| &paused.why),
            "blocked": blocked.map(|blocked| &blocked.why),
            "blocked_since": blocked.map(|blocked| utc(blocked.since_ms)),
            "next_look_at": blocked.map(|blocked| utc(blocked.next_look_ms)),
            "failing": failing.map(|failing| &failing.why),
            "failing_since": failing.map(|failing| utc(failing.since_ms)),
            "failing_until": failing.map(|failing| utc(failing.until_ms)),
        })
    });
    Ok(Json(view::items(items, None)))
}

/// An installation folder, as it is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplyBody {
    files: Vec<File>,
    /// Only say what would change.
    #[serde(default)]
    dry_run: bool,
    /// Connections that move on to the version of their connector that is there.
    #[serde(default)]
    approve: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Relative to the folder.
    path: String,
    /// The bytes.
    base64: Option<String>,
    /// In place of the bytes of a connector that this host has already: `sha256:…`.
    digest: Option<String>,
}

pub(super) async fn apply(
    State(api): State<Arc<Api>>,
    Extension(Caller(who)): Extension<Caller>,
    body: Result<Sent<ApplyBody>, Problem>,
) -> Result<Json<Value>, Problem> {
    let Sent(body) = body.map_err(too_large)?;
    let failed = |error: std::io::Error| Problem::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string());
    let folder = tempfile::tempdir().map_err(failed)?;
    for part in PARTS {
        std::fs::create_dir(folder.path().join(part)).map_err(failed)?;
    }
    for file in &body.files {
        let path = inside(folder.path(), &file.path)?;
        let bytes = content(&api, file).await?;
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(&path, bytes).map_err(failed)?;
    }
    let plan = api
        .catalog
        .plan(folder.path(), &body.approve)
        .await
        .map_err(|error| folder_problem(&error))?;
    let said = plan.to_string();
    let waiting: Vec<String> = plan.waiting.iter().map(|waiting| waiting.connection.clone()).collect();
    if !body.dry_run {
        api.catalog
            .apply(plan, &who, api.clock.now_ms())
            .await
            .map_err(|error| folder_problem(&error))?;
        api.executor.look_again();
    }
    let warnings = match body.dry_run {
        true => Vec::new(),
        false => api.executor.unusable().await,
    };
    Ok(Json(
        json!({ "applied": !body.dry_run, "plan": said, "waiting": waiting, "warnings": warnings }),
    ))
}

async fn content(api: &Api, file: &File) -> Result<Vec<u8>, Problem> {
    let wrong = |what: String| Problem::new(StatusCode::BAD_REQUEST, format!("{}: {what}", file.path));
    match (&file.base64, &file.digest) {
        (Some(text), None) => STANDARD
            .decode(text)
            .map_err(|_| wrong("the content is not base64".to_owned())),
        (None, Some(digest)) => {
            let known = api.ledger.connector(digest).await.map_err(ledger_problem)?;
            known
                .map(|known| known.bytes)
                .ok_or_else(|| wrong(format!("this host has no connector {digest}; send it as base64")))
        }
        (None, None) | (Some(_), Some(_)) => Err(wrong("give either base64 or digest".to_owned())),
    }
}

/// Says how a folder gets in that is too large to be sent.
fn too_large(problem: Problem) -> Problem {
    if problem.status != StatusCode::PAYLOAD_TOO_LARGE {
        return problem;
    }
    let detail = format!(
        "the new files of the folder have more than {FOLDER_BYTES_MAX} bytes together; apply fewer new connectors at a \
         time, or put the folder on the host's machine and use `oncegate serve --apply`"
    );
    Problem { detail, ..problem }
}

/// A file's place in the folder. A path that leads out of it would write where the host may and the caller may not.
fn inside(folder: &Path, path: &str) -> Result<std::path::PathBuf, Problem> {
    let relative = Path::new(path);
    if path.is_empty() || !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        let detail = format!("{path:?} is no path inside the folder");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    Ok(folder.join(relative))
}

fn folder_problem(error: &FolderError) -> Problem {
    let status = match error {
        FolderError::Problems(_) => StatusCode::UNPROCESSABLE_ENTITY,
        FolderError::Stale => StatusCode::CONFLICT,
        FolderError::Catalog(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::new(status, error.to_string())
}
