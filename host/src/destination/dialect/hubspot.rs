//! HubSpot's CRM: contacts, upserted one at a time by a batch of one, and notes, which a search finds by their text.
//!
//! <https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide>,
//! <https://developers.hubspot.com/docs/api-reference/crm-notes-v3/guide>,
//! <https://developers.hubspot.com/docs/api-reference/error-handling>.

use super::{Dialect, Told};
use crate::destination::{Dedup, Route, Service};
use serde_json::{Map, Value, json};

const WHEN: &str = "2026-01-31T09:30:00.000Z";
const CONTACTS: &str = "/crm/v3/objects/contacts";
const NOTES: &str = "/crm/v3/objects/notes";

impl Service {
    /// HubSpot's contacts: an upsert by e-mail address is one effect where it changes the contact, and none where it does
    /// not. They are counted by contact.
    pub fn hubspot() -> Service {
        let service = Service::new("hubspot", &format!("{CONTACTS}/batch/upsert"))
            .dedup(Dedup::Natural("/inputs/0/id".to_owned()))
            .lookup(&format!("{CONTACTS}/{{}}"))
            .identity(&["/inputs/0/id"]);
        Service {
            dialect: Dialect::HubSpot,
            ..service
        }
    }

    /// HubSpot's notes: every request makes one, and a search shows those whose text holds what is asked for.
    pub fn hubspot_notes() -> Service {
        let service = Service::new("hubspot-notes", NOTES).identity(&["/properties/hs_note_body"]);
        Service {
            search: Some(Route::new("POST", &format!("{NOTES}/search"))),
            dialect: Dialect::HubSpot,
            ..service
        }
    }
}

/// A contact keeps what an upsert does not name; values are texts.
pub(super) fn record(number: usize, body: &Value, before: Option<&Value>) -> Value {
    let upsert = &body["inputs"][0];
    let mut properties = before.map(properties_of).unwrap_or_default();
    let asked = if upsert.is_object() { upsert } else { body };
    properties.extend(properties_of(asked));
    if let Some(email) = upsert["id"].as_str() {
        properties.insert("email".to_owned(), json!(email.to_lowercase()));
    }
    let id = before.map_or_else(|| json!((500 + number).to_string()), |before| before["id"].clone());
    json!({"id": id, "properties": properties, "createdAt": WHEN, "updatedAt": WHEN, "archived": false})
}

fn properties_of(record: &Value) -> Map<String, Value> {
    record["properties"].as_object().cloned().unwrap_or_default()
}

pub(super) fn says(told: &Told) -> (u16, Value) {
    match told {
        Told::Made { record, .. } if record["properties"]["hs_note_body"].is_string() => (201, (*record).clone()),
        Told::Made { record, new } => (200, batch(record, *new)),
        Told::Known { record, .. } => (200, batch(record, false)),
        Told::There { record, target } => (200, shown(record, target)),
        Told::Hits(hits) => (200, json!({"total": hits.len(), "results": hits})),
        Told::Unnamed => (400, error("VALIDATION_ERROR", "inputs[0].id is required")),
        Told::OtherBody => (409, error("CONFLICT", "the request is another one")),
        Told::NotThere => (404, error("OBJECT_NOT_FOUND", "resource not found")),
    }
}

fn batch(record: &Value, new: bool) -> Value {
    let mut result = record.clone();
    result["new"] = json!(new);
    json!({"status": "COMPLETE", "results": [result], "startedAt": WHEN, "completedAt": WHEN})
}

/// Of a contact's properties only those that were asked for, and two that are always there.
fn shown(record: &Value, target: &str) -> Value {
    let query = target.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let asked = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("properties="))
        .unwrap_or_default();
    let asked = crate::destination::service::percent_decoded(asked);
    let mut shown = record.clone();
    let mut properties = properties_of(record);
    properties.retain(|name, _| asked.split(',').any(|asked| asked == name));
    properties.insert("hs_object_id".to_owned(), record["id"].clone());
    properties.insert("createdate".to_owned(), json!(WHEN));
    shown["properties"] = Value::Object(properties);
    shown
}

fn error(category: &str, message: &str) -> Value {
    json!({"status": "error", "message": message, "correlationId": "5c2ed6c7-4f2a-4c5e-9a3a-0f6f3f3a9d11", "category": category})
}

pub(super) fn trouble(status: u16) -> (u16, String) {
    let error = match status {
        429 => error("RATE_LIMITS", "You have reached your ten_secondly_rolling limit."),
        _ => error("SERVICE_UNAVAILABLE", "HubSpot is temporarily unavailable"),
    };
    (status, error.to_string())
}
