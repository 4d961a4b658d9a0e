//! In whose words a service reads and answers: plain ones, or those of a provider that it stands for. What is an effect and
//! what a repetition, the judge decides; a dialect says what a record holds and how an answer looks, as the provider's
//! documentation has it.

mod hubspot;
mod resend;
mod whatsapp;

use super::judge::Said;
use super::script::{Answer, Behaviour};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// In whose words a service reads and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// A record is the body that made it, with an `id` and the `key`.
    #[default]
    Plain,
    /// HubSpot's CRM, version 3 of its API.
    HubSpot,
    /// Resend.
    Resend,
    /// WhatsApp's Cloud API.
    WhatsApp,
}

/// What a well-behaved service has to say.
pub(super) enum Told<'a> {
    /// This record was made, or changed.
    Made { record: &'a Value, new: bool },
    /// The write was carried out before; this is the record. An upsert names records itself, a key only recognises them.
    Known { record: &'a Value, upsert: bool },
    /// The key was used with another body.
    OtherBody,
    /// The write does not say which record it is about.
    Unnamed,
    /// A record that was asked for by this target.
    There { record: &'a Value, target: &'a str },
    /// There is no such record.
    NotThere,
    /// The records that a search has found.
    Hits(&'a [Value]),
}

impl Dialect {
    /// A name of a record, as the service tells records apart.
    pub(super) fn name(self, name: String) -> String {
        match self {
            Dialect::HubSpot => name.to_lowercase(),
            Dialect::Plain | Dialect::Resend | Dialect::WhatsApp => name,
        }
    }

    /// What a service holds after a write, given what it held `before` under the same name. `number` counts its effects.
    pub(super) fn record(
        self,
        service: &str,
        number: usize,
        key: Option<&str>,
        body: &Value,
        before: Option<&Value>,
    ) -> Value {
        match self {
            Dialect::Plain => plain_record(body, &format!("{service}-{number}"), key),
            Dialect::HubSpot => hubspot::record(number, body, before),
            Dialect::Resend => resend::record(number),
            Dialect::WhatsApp => whatsapp::record(number, body),
        }
    }

    pub(super) fn says(self, told: &Told) -> Said {
        let (status, body) = match self {
            Dialect::Plain => plain_says(told),
            Dialect::HubSpot => hubspot::says(told),
            Dialect::Resend => resend::says(told),
            Dialect::WhatsApp => whatsapp::says(told),
        };
        Said {
            status,
            body: body.to_string(),
        }
    }

    /// Trouble of the dice, in the provider's words and with the status that it gives.
    pub(super) fn in_its_words(self, behaviour: Behaviour) -> Behaviour {
        let Answer::Own { status, headers, body } = behaviour.answer else {
            return behaviour;
        };
        let (status, body) = match self {
            Dialect::Plain => (status, body),
            Dialect::HubSpot => hubspot::trouble(status),
            Dialect::Resend => resend::trouble(status),
            Dialect::WhatsApp => whatsapp::trouble(status),
        };
        let answer = Answer::Own { status, headers, body };
        Behaviour { answer, ..behaviour }
    }
}

/// The fields of the body, the service's own id, and the key where there is one.
fn plain_record(body: &Value, id: &str, key: Option<&str>) -> Value {
    let mut fields = body.as_object().cloned().unwrap_or_default();
    fields.insert("id".to_owned(), json!(id));
    if let Some(key) = key {
        fields.insert("key".to_owned(), json!(key));
    }
    Value::Object(fields)
}

fn plain_says(told: &Told) -> (u16, Value) {
    match told {
        Told::Made { record, .. } | Told::Known { record, upsert: false } => (201, (*record).clone()),
        Told::Known { record, upsert: true } | Told::There { record, .. } => (200, (*record).clone()),
        Told::OtherBody => (409, json!({"error": "this key was used with another body"})),
        Told::Unnamed => (422, json!({"error": "the field that names the record is missing"})),
        Told::NotThere => (404, json!({"error": "no such record"})),
        Told::Hits(hits) => (200, json!({ "results": hits })),
    }
}
