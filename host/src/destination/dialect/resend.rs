//! Resend: an e-mail for each request, unless the key in `Idempotency-Key` is known.
//!
//! <https://resend.com/docs/api-reference/emails/send-email>, <https://resend.com/docs/api-reference/errors>.

use super::{Dialect, Told};
use crate::destination::{Dedup, Service};
use serde_json::{Value, json};

impl Service {
    /// Resend: `POST /emails` honours `Idempotency-Key`; an e-mail cannot be asked for by it.
    pub fn resend() -> Service {
        let service = Service::new("resend", "/emails")
            .dedup(Dedup::Header("Idempotency-Key".to_owned()))
            .identity(&["/to", "/text"]);
        Service {
            dialect: Dialect::Resend,
            ..service
        }
    }
}

pub(super) fn record(number: usize) -> Value {
    json!({"id": format!("49a3999c-0ce1-4ea6-ab68-{number:012}")})
}

pub(super) fn says(told: &Told) -> (u16, Value) {
    match told {
        Told::Made { record, .. } | Told::Known { record, .. } | Told::There { record, .. } => (200, (*record).clone()),
        Told::OtherBody => {
            let message = "Same idempotency key used with a different request payload.";
            (409, error(409, "invalid_idempotent_request", message))
        }
        Told::Unnamed => (
            422,
            error(
                422,
                "missing_required_field",
                "The request body is missing one or more required fields.",
            ),
        ),
        Told::NotThere => (404, error(404, "not_found", "Email not found")),
        Told::Hits(hits) => (200, json!({"object": "list", "data": hits})),
    }
}

fn error(status: u16, name: &str, message: &str) -> Value {
    json!({"statusCode": status, "name": name, "message": message})
}

pub(super) fn trouble(status: u16) -> (u16, String) {
    let error = match status {
        429 => error(
            429,
            "rate_limit_exceeded",
            "Too many requests. You can only make 2 requests per second.",
        ),
        _ => error(status, "service_unavailable", "The service is temporarily unavailable."),
    };
    (status, error.to_string())
}
