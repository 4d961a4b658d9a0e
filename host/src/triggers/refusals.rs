//! How a delivery is refused: what its sender is told, and what of it is written to the log.

use super::hushed::Hushed;
use super::verify::NotVerified;
use crate::clock::SharedClock;
use crate::executor::IntakeError;
use crate::flow::Webhook;
use crate::ledger::LedgerError;
use crate::problem::Problem;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::atomic::{AtomicU64, Ordering};

/// When the host cannot store: come again after this.
pub const UNAVAILABLE_S: u64 = 5;
/// Its disk is short of room: that takes a while.
const NO_ROOM_S: u64 = 60;

/// The refusals of one host.
pub struct Refusals {
    clock: SharedClock,
    count: AtomicU64,
    /// What senders did wrong.
    lines: Hushed,
    /// What is wrong with the host: a flood of the others must not hush it.
    errors: Hushed,
}

impl Refusals {
    /// None so far.
    pub fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            count: AtomicU64::new(0),
            lines: Hushed::default(),
            errors: Hushed::default(),
        }
    }

    /// How many there were since the start; nothing of them was stored.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The answer.
    pub fn answer(&self, path: &str, problem: Problem) -> Response {
        self.count.fetch_add(1, Ordering::Relaxed);
        if let Some(left_out) = self.lines.line(self.clock.now_ms()) {
            let status = problem.status.as_u16();
            tracing::info!(path = ?path, status, why = problem.detail, left_out, "delivery refused");
        }
        let no_method = problem.status == StatusCode::METHOD_NOT_ALLOWED;
        let mut response = problem.into_response();
        if no_method {
            let post = HeaderValue::from_static("POST");
            response.headers_mut().insert(header::ALLOW, post);
        }
        response
    }

    /// A delivery is not believed, or cannot be checked.
    pub fn not_verified(&self, hook: &Webhook, error: &NotVerified) -> Problem {
        match error {
            NotVerified::Token => Problem::new(StatusCode::UNAUTHORIZED, error.to_string()),
            NotVerified::Signature(fault) => {
                if let Some(left_out) = self.lines.line(self.clock.now_ms()) {
                    tracing::info!(path = hook.path, why = %fault, left_out, "a delivery is not believed");
                }
                Problem::new(StatusCode::UNAUTHORIZED, error.to_string())
            }
            NotVerified::NoSecret(_) => {
                // The caller learns nothing of our set-up; the operator reads it in the log.
                if let Some(left_out) = self.errors.line(self.clock.now_ms()) {
                    tracing::error!(path = hook.path, %error, left_out, "a hook cannot be verified");
                }
                let detail = "this hook is not set up yet; send it again later";
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).retry_after(UNAVAILABLE_S)
            }
        }
    }

    /// An event has no usable key, or cannot be stored.
    pub fn not_accepted(&self, error: &IntakeError) -> Problem {
        match error {
            IntakeError::Event(error) => Problem::new(StatusCode::BAD_REQUEST, error.to_string()),
            // Told once, when it began.
            IntakeError::Ledger(LedgerError::NoRoom { .. }) => {
                let detail = "the host has no room for new events now; nothing was done with it, send it again";
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).retry_after(NO_ROOM_S)
            }
            IntakeError::Ledger(error) => {
                if let Some(left_out) = self.errors.line(self.clock.now_ms()) {
                    tracing::error!(%error, left_out, "an event could not be stored, so it was not accepted");
                }
                let detail = "the event could not be stored; nothing was done with it, send it again";
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).retry_after(UNAVAILABLE_S)
            }
        }
    }
}
