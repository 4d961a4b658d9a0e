//! `/api/v1`: what operators, designers and programs ask of a host. A token always, on loopback as well.
//!
//! Every handler is thin: it reads the request, asks the room that knows, and shows the answer (`view`).

mod extract;
mod forget;
mod guard;
mod health;
mod installation;
mod memory;
mod metrics;
mod pauses;
mod review;
mod runs;
mod view;

pub use guard::{Names, new_token, token_hash};

use crate::catalog::Catalog;
use crate::clock::SharedClock;
use crate::executor::{DecisionError, Executor};
use crate::ledger::{Ledger, LedgerError, Page};
use crate::problem::Problem;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, middleware};
use oncegate_domain::id::Id;
use serde::Deserialize;
use std::sync::Arc;

/// Bytes of a request's body. The largest is the output that a person gives when they resolve a step.
const BODY_BYTES_MAX: usize = 4 << 20;
/// Bytes of an installation folder with its new connectors, of which one that brings an interpreter has up to 27 MB as
/// base64. Only `apply` takes so much.
const FOLDER_BYTES_MAX: usize = 128 << 20;

/// What the API works with.
pub struct Api {
    /// The ledger.
    pub ledger: Ledger,
    /// Flows, connections and connectors.
    pub catalog: Catalog,
    /// Carries out decisions.
    pub executor: Executor,
    /// The time.
    pub clock: SharedClock,
    /// The names under which this host may be called.
    pub names: Names,
}

/// The routes of the API. Whoever serves them must provide the peer's address to nobody: the token decides.
pub fn router(api: Arc<Api>) -> Router {
    let admitted = middleware::from_fn_with_state(Arc::clone(&api), guard::admit);
    let guarded = Router::new()
        .route("/runs", get(runs::list))
        .route("/runs/{id}", get(runs::show))
        .route("/runs/{id}/cancel", post(runs::cancel))
        .route("/review", get(review::list))
        .route("/review/{id}", get(review::show))
        .route("/review/{id}/{verb}", post(review::decide))
        .route("/forget", post(forget::forget))
        .route("/audit", get(installation::audit))
        .route("/flows", get(installation::flows))
        .route("/connectors", get(installation::connectors))
        .route("/connections", get(installation::connections))
        .route("/connections/{name}/pause", post(pauses::pause))
        .route("/connections/{name}/resume", post(pauses::resume))
        .route("/counts", get(health::counts))
        .route("/writer", get(health::writer))
        .route("/ledger", get(memory::show))
        .route("/ledger/{verb}", post(memory::tell))
        .route(
            "/apply",
            post(installation::apply).layer(DefaultBodyLimit::max(FOLDER_BYTES_MAX)),
        )
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, "there is nothing here; the API is at /api/v1/…"))
        .method_not_allowed_fallback(async || {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "not with this method; listings are read with GET, and changes are made with POST",
            )
        })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(admitted.clone());
    Router::new()
        .nest("/api/v1", guarded)
        .route("/metrics", get(metrics::show).layer(admitted))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(health::ready))
        .with_state(api)
}

/// Which part of a listing.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PageQuery {
    after: Option<Id>,
    limit: Option<u32>,
}

impl From<PageQuery> for Page {
    fn from(query: PageQuery) -> Self {
        Self {
            after: query.after,
            limit: query.limit.unwrap_or(Page::default().limit),
        }
    }
}

fn id(text: &str) -> Result<Id, Problem> {
    let not_found = |_| {
        Problem::new(
            StatusCode::NOT_FOUND,
            format!("{text:?} is no id; ids have 26 characters"),
        )
    };
    text.parse().map_err(not_found)
}

/// What a failure of the ledger means for the caller.
fn ledger_problem(error: LedgerError) -> Problem {
    let text = error.to_string();
    match error {
        LedgerError::NotFound { .. } => Problem::new(StatusCode::NOT_FOUND, text),
        LedgerError::Stale { .. } | LedgerError::LeaseLost { .. } | LedgerError::Overtaken { .. } => {
            Problem::new(StatusCode::CONFLICT, text)
        }
        LedgerError::Invalid { .. } => Problem::new(StatusCode::BAD_REQUEST, text),
        LedgerError::Corrupt { .. } => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, text),
        LedgerError::Unwritable(_)
        | LedgerError::Away(_)
        | LedgerError::NoRoom { .. }
        | LedgerError::LeaseEnds
        | LedgerError::InTheWay(_)
        | LedgerError::Database(_)
        | LedgerError::Fatal(_)
        | LedgerError::Closed
        | LedgerError::Open { .. } => Problem::new(StatusCode::SERVICE_UNAVAILABLE, text).retry_after(5),
    }
}

fn decision_problem(error: DecisionError) -> Problem {
    let text = error.to_string();
    match error {
        DecisionError::Ledger(error) => ledger_problem(error),
        DecisionError::NotFound(_) => Problem::new(StatusCode::NOT_FOUND, text),
        DecisionError::NeedsReason | DecisionError::TooLong { .. } => Problem::new(StatusCode::BAD_REQUEST, text),
        DecisionError::NotPossible(_) | DecisionError::NeedsStatement | DecisionError::Illegal(_) => {
            Problem::new(StatusCode::CONFLICT, text)
        }
    }
}
