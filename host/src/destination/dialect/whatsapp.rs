//! WhatsApp's Cloud API: a message for each request, whatever it says. Being told to slow down is a 400 here.
//!
//! <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages>,
//! <https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes/>.

use super::{Dialect, Told};
use crate::destination::Service;
use serde_json::{Value, json};

impl Service {
    /// WhatsApp: `POST /VERSION/NUMBER/messages`, no keys, no lookup, so every request is one more message.
    pub fn whatsapp() -> Service {
        let service = Service::new("whatsapp", "/{}/{}/messages").identity(&["/to", "/text/body"]);
        Service {
            dialect: Dialect::WhatsApp,
            ..service
        }
    }
}

pub(super) fn record(number: usize, body: &Value) -> Value {
    let to = body["to"].as_str().unwrap_or_default();
    json!({
        "messaging_product": "whatsapp",
        "contacts": [{"input": to, "wa_id": to.trim_start_matches('+')}],
        "messages": [{"id": format!("wamid.HBgN{number:08}")}],
    })
}

pub(super) fn says(told: &Told) -> (u16, Value) {
    match told {
        Told::Made { record, .. } | Told::Known { record, .. } | Told::There { record, .. } => (200, (*record).clone()),
        Told::OtherBody | Told::Unnamed => (400, error(100, "Invalid parameter")),
        Told::NotThere => (400, error(100, "Unsupported get request")),
        Told::Hits(hits) => (200, json!({ "data": hits })),
    }
}

fn error(code: u32, title: &str) -> Value {
    let message = format!("(#{code}) {title}");
    json!({"error": {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "AKt3NCDBjkXlSHs"}})
}

pub(super) fn trouble(status: u16) -> (u16, String) {
    let (status, error) = match status {
        429 => (400, error(130_429, "Rate limit hit")),
        _ => (status, error(2, "Service temporarily unavailable")),
    };
    (status, error.to_string())
}
