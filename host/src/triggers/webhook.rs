//! `POST /hooks/{path}`: path → limits → method and head → raw body → signature → inflate → parse → key → durable.
//!
//! In this order, so that what costs us least is refused first (whatever the head alone shows, before a byte of the body is
//! awaited), and nothing of a body is interpreted before its signature was checked over the bytes as sent.

use super::arriving::{Arriving, Held, Room, Stranger};
use super::body::{self, Bounds};
use super::rate::Windows;
use super::refusals::{Refusals, UNAVAILABLE_S};
use super::source;
use super::verify::{self, Evidence, Verified};
use crate::catalog::{ActiveFlow, Catalog};
use crate::clock::{SharedClock, utc};
use crate::credentials::Secrets;
use crate::executor::{Delivery, Executor};
use crate::flow::{RawBody, Respond, Verify, Webhook};
use crate::ledger::{Accepted, LedgerError};
use crate::problem::Problem;
use crate::share::Shares;
use axum::body::Body;
use axum::extract::{ConnectInfo, Path, Query, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use oncegate_domain::id::Id;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// How long a hook with `respond = "result"` waits before it answers 202.
const RESULT_WAIT_MS: i64 = 25_000;
/// Headers kept with an event.
const HEADERS_MAX: usize = 100;

/// What one host takes in.
#[derive(Clone, Debug)]
pub struct HooksLimits {
    /// Bytes of one body.
    pub body_bytes_max: usize,
    /// Time for one body, in milliseconds.
    pub body_ms_max: u64,
    /// Bytes of all bodies that are being taken in.
    pub bodies_bytes_max: usize,
    /// Deliveries whose body is whole, being taken in at the same time.
    pub at_once_max: usize,
    /// Senders that wait for the result of their run at the same time.
    pub results_max: usize,
}

impl HooksLimits {
    /// Slow bodies are what strangers can make many of: they get a part of what there is, however few that is.
    fn room(&self) -> Room {
        let part = |of: usize| (self.at_once_max / of).max(1);
        Room {
            bytes_max: self.bodies_bytes_max,
            // In each case one of the largest must have room.
            hook_bytes_max: (self.bodies_bytes_max / 4 * 3).max(self.body_bytes_max),
            slow_bytes_max: (self.bodies_bytes_max / 2).max(self.body_bytes_max),
            slow_max: part(2),
            slow_per_hook_max: part(4),
            slow_per_source_max: part(32),
        }
    }
}

/// Everything that taking in a delivery needs.
pub struct Hooks {
    executor: Executor,
    catalog: Catalog,
    clock: SharedClock,
    secrets: Secrets,
    trusted_proxies: Vec<IpAddr>,
    bounds: Bounds,
    /// Shared among the hooks: a flood at one keeps nobody out of the others.
    at_once: Shares,
    /// Who waits for a result holds a connection.
    results: Shares,
    windows: Windows,
    arriving: Arc<Arriving>,
    refusals: Refusals,
}

impl Hooks {
    /// The hooks of one host.
    pub fn new(
        executor: Executor,
        catalog: Catalog,
        clock: SharedClock,
        secrets: Secrets,
        trusted_proxies: Vec<IpAddr>,
        limits: &HooksLimits,
    ) -> Self {
        let refusals = Refusals::new(Arc::clone(&clock));
        Self {
            executor,
            catalog,
            clock,
            secrets,
            trusted_proxies,
            bounds: Bounds {
                bytes_max: limits.body_bytes_max,
                ms_max: limits.body_ms_max,
            },
            at_once: Shares::new(limits.at_once_max),
            results: Shares::new(limits.results_max),
            windows: Windows::default(),
            arriving: Arriving::new(limits.room()),
            refusals,
        }
    }

    /// Deliveries that were refused since the start; nothing of them was stored.
    pub fn refused(&self) -> u64 {
        self.refusals.count()
    }
}

/// A body that is whole, from whom it says.
struct Proven {
    raw: Vec<u8>,
    received_ms: i64,
    verified: Verified,
    /// Kept until the event is stored: so much memory bodies take at the most.
    held: Held,
}

/// The routes of the hooks.
pub fn router(hooks: Arc<Hooks>) -> Router {
    Router::new().route("/hooks/{*path}", any(receive)).with_state(hooks)
}

async fn receive(
    State(hooks): State<Arc<Hooks>>,
    Path(path): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    match hooks.take_in(&path, query, peer.ip(), request).await {
        Ok(response) => response,
        Err(problem) => hooks.refusals.answer(&path, problem),
    }
}

impl Hooks {
    async fn take_in(
        &self,
        path: &str,
        query: BTreeMap<String, String>,
        peer: IpAddr,
        request: Request,
    ) -> Result<Response, Problem> {
        let active = self.catalog.flow_by_path(path);
        let active = active.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "no flow listens on this path"))?;
        let hook = active
            .flow
            .webhook()
            .ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "this flow has no hook"))?;
        let source = source::group(source::of(peer, request.headers(), &self.trusted_proxies));
        self.check_limits(hook, source)?;
        if request.method() != Method::POST {
            return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "a hook takes POST"));
        }
        let announced = body::announced(request.headers(), request.body(), self.bounds)?;
        let (parts, incoming) = request.into_parts();
        let headers = &parts.headers;
        let proven = self.prove(hook, source, headers, incoming).await?;
        let Some(place) = self.at_once.try_take(&hook.path) else {
            return Err(body::busy());
        };
        let raw = RawBody {
            bytes: proven.raw,
            encoding: announced.encoding,
            content_type: announced.media_type,
        };
        let parsed = body::parse(&raw, self.bounds)?;
        let delivery = Delivery {
            flow: Arc::clone(&active),
            received_ms: proven.received_ms,
            source: "webhook".to_owned(),
            verified_by: proven.verified.by.to_owned(),
            signed_digest: proven.verified.signed_digest,
            raw,
            body: parsed,
            headers: readable(&parts.headers),
            query,
        };
        let accepted = self
            .executor
            .accept(delivery)
            .await
            .map_err(|error| self.refusals.not_accepted(&error))?;
        // It is taken in; who waits for the result now keeps nobody else out.
        drop((place, proven.held));
        self.answer(&active, hook, accepted).await
    }

    /// Reads the body, between what the head can prove and what only the body can.
    async fn prove(
        &self,
        hook: &Webhook,
        source: IpAddr,
        headers: &HeaderMap,
        incoming: Body,
    ) -> Result<Proven, Problem> {
        let not_verified = |error| self.refusals.not_verified(hook, &error);
        let by_head = verify::by_head(&hook.verify, headers, self.clock.now_ms(), &self.secrets).await;
        let by_head = by_head.map_err(not_verified)?;
        let stranger = by_head.is_none().then(|| Stranger {
            hook: hook.path.clone(),
            source,
        });
        let mut held = self.arriving.hold(&hook.path);
        let raw = body::read(incoming, self.bounds, &mut held, stranger.as_ref()).await?;
        let received_ms = self.clock.now_ms();
        let verified = match by_head {
            Some(verified) => verified,
            None => {
                let evidence = Evidence {
                    headers,
                    raw: &raw,
                    now_ms: received_ms,
                };
                let checked = verify::check(&hook.verify, evidence, &self.secrets).await;
                checked.map_err(not_verified)?
            }
        };
        Ok(Proven {
            raw,
            received_ms,
            verified,
            held,
        })
    }

    fn check_limits(&self, hook: &Webhook, source: IpAddr) -> Result<(), Problem> {
        let now_ms = self.clock.now_ms();
        let limits = [(hook.limit.per_source, Some(source)), (hook.limit.total, None)];
        for (rate, of) in limits.into_iter().filter_map(|(rate, of)| Some((rate?, of))) {
            if let Err(wait_ms) = self.windows.count(&hook.path, of, rate, now_ms) {
                let seconds = wait_ms.div_ceil(1_000).max(1);
                let detail = "this hook was called too often; send it again later";
                return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(seconds));
            }
        }
        Ok(())
    }

    /// What the caller learns. An open hook is never told whether a key existed.
    async fn answer(&self, active: &ActiveFlow, hook: &Webhook, accepted: Accepted) -> Result<Response, Problem> {
        let (run, state, duplicate, conflict) = match &accepted {
            Accepted::New { run, .. } => (*run, "pending", false, false),
            Accepted::Duplicate { run, state, .. } => (*run, state.as_str(), true, false),
            Accepted::Conflict { run, .. } => (*run, "needs_review", false, true),
        };
        if duplicate || conflict {
            tracing::info!(flow = active.flow.name(), %run, duplicate, conflict, "same key again: not executed");
        }
        if hook.verify == Verify::None {
            return Ok((StatusCode::ACCEPTED, Json(json!({ "accepted": true }))).into_response());
        }
        if hook.respond == Respond::Result && !conflict {
            return self.result(hook, run, duplicate).await;
        }
        let mut answer = json!({ "run": run.to_string(), "state": state, "duplicate": duplicate });
        if conflict {
            answer["conflict"] = Value::Bool(true);
        }
        Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
    }

    async fn result(&self, hook: &Webhook, run: Id, duplicate: bool) -> Result<Response, Problem> {
        // Where many wait already, nobody waits more: a slow destination must not fill the open port.
        let place = self.results.try_take(&hook.path);
        let wait_ms = if place.is_some() { RESULT_WAIT_MS } else { 0 };
        let until_ms = self.clock.now_ms() + wait_ms;
        let unavailable = |error: LedgerError| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()).retry_after(UNAVAILABLE_S)
        };
        let result = self.executor.result(run, until_ms).await.map_err(unavailable)?;
        let erased_ms = result.as_ref().and_then(|result| result.erased_ms);
        let (status, state, outputs) = match result {
            Some(result) if result.finished => (StatusCode::OK, result.state.as_str(), result.outputs),
            Some(result) => (StatusCode::ACCEPTED, result.state.as_str(), Value::Null),
            None => (StatusCode::ACCEPTED, "pending", Value::Null),
        };
        let mut answer = json!({ "run": run.to_string(), "state": state, "duplicate": duplicate, "result": outputs });
        // What the run gave is gone, which is another thing than a run that gave nothing.
        if let Some(erased_ms) = erased_ms {
            answer["result"] = Value::Null;
            answer["result_erased_at"] = Value::String(utc(erased_ms));
        }
        Ok((status, Json(answer)).into_response())
    }
}

/// Headers that flows may read and that are kept with the event: none that carries a credential. One that comes several
/// times is one list (RFC 9110 section 5.3), so that no value hides behind another.
fn readable(headers: &HeaderMap) -> BTreeMap<String, String> {
    const SECRET: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];
    let names = headers.keys().filter(|name| !SECRET.contains(&name.as_str()));
    let kept = names.filter_map(|name| {
        let values: Vec<&str> = headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        (!values.is_empty()).then(|| (name.as_str().to_owned(), values.join(", ")))
    });
    kept.take(HEADERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_header_that_comes_twice_is_one_list_and_credentials_are_not_kept() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("idempotency-key", "a"),
            ("idempotency-key", "b"),
            ("cookie", "c"),
            ("x-one", "1"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let expected = [("idempotency-key", "a, b"), ("x-one", "1")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(readable(&headers), BTreeMap::from(expected));
    }
}
