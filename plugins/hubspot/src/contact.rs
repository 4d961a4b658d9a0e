//! One contact, created or updated by its e-mail address. The same request again leaves the same contact, and a contact
//! that is in every field as asked for shows that the request took effect.
//!
//! <https://developers.hubspot.com/docs/api-reference/legacy/crm/objects/contacts/batch/upsert-contacts> (there is no
//! upsert of one contact alone, so it is a batch of one) and, for reading a contact by its e-mail address,
//! <https://developers.hubspot.com/docs/api-reference/crm-contacts-v3/guide>.

mod input;

use std::collections::BTreeMap;

use oncegate_sdk::prelude::*;
use serde_json::json;

use crate::{ENDPOINT, failure};

pub use input::{ContactInput, Email, PropertyName, PropertyValue};

/// Creates or updates one contact.
#[derive(Debug)]
pub struct UpsertContact;

#[derive(Deserialize)]
struct BatchDone {
    status: String,
    #[serde(default)]
    results: Vec<Record>,
    #[serde(default)]
    errors: Option<Vec<BatchError>>,
}

#[derive(Deserialize)]
struct BatchError {
    #[serde(default)]
    category: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Record {
    id: String,
    #[serde(default)]
    properties: BTreeMap<String, Option<String>>,
}

/// A contact that is there.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Contact {
    /// HubSpot's own id, by which notes and deals are tied to the contact.
    pub id: String,
    /// The e-mail address that was asked for.
    pub email: String,
}

impl Action for UpsertContact {
    const NAME: &'static str = "upsert-contact";
    type Settings = NoSettings;
    type Input = ContactInput;
    type Output = Contact;

    fn perform(call: &Call<UpsertContact>) -> Result<Contact, Failure> {
        let input = &call.input;
        let properties: BTreeMap<&str, &str> = input.wanted().collect();
        let batch = json!({"inputs": [{"idProperty": "email", "id": input.email.0, "properties": properties}]});
        let request = Request::post(ENDPOINT, "/crm/v3/objects/contacts/batch/upsert");
        let answer = request.json(&batch).send()?;
        if !answer.is_success() {
            return Err(failure(&answer));
        }
        let done: BatchDone = answer.json()?;
        // 207: the batch was carried out and this contact was not.
        if let Some(BatchError { category, message }) = done.errors.into_iter().flatten().next() {
            return Err(Failure::rejected(category, message));
        }
        match done.results.into_iter().next() {
            Some(record) if done.status == "COMPLETE" => Ok(contact(record, input)),
            Some(_) | None => {
                let message = format!("HubSpot took the request and calls it {:?}", done.status);
                Err(Failure::unsure("not_complete", message))
            }
        }
    }

    fn lookup(call: &Call<UpsertContact>, _doubt: &Doubt) -> Result<Finding<Contact>, Failure> {
        let input = &call.input;
        let names: Vec<&str> = std::iter::once("email")
            .chain(input.wanted().map(|(name, _)| name))
            .collect();
        let request = Request::get(ENDPOINT, "/crm/v3/objects/contacts/{email}")
            .value("email", &input.email.0)
            .query("idProperty", "email")
            .query("properties", names.join(","));
        let Some(answer) = request.send()?.unless_missing()? else {
            return Ok(Finding::Absent);
        };
        let record: Record = answer.json()?;
        Ok(match other_than_asked(&record, input) {
            Some(name) => Finding::unsure(format!("the contact is there, and its `{name}` is not as asked for")),
            None => {
                let id = record.id.clone();
                Finding::by_content(contact(record, input), id)
            }
        })
    }
}

fn contact(record: Record, input: &ContactInput) -> Contact {
    Contact {
        id: record.id,
        email: input.email.0.clone(),
    }
}

/// The first field that is not as asked for. A contact is also found by a second address of its own, and that one is not
/// the contact that was asked for. What was cleared is not there, or `null`.
fn other_than_asked<'a>(record: &Record, input: &'a ContactInput) -> Option<&'a str> {
    let has = |name: &str| {
        record
            .properties
            .get(name)
            .and_then(Option::as_deref)
            .unwrap_or_default()
    };
    if !has("email").eq_ignore_ascii_case(&input.email.0) {
        return Some("email");
    }
    input
        .wanted()
        .find(|(name, value)| has(name) != *value)
        .map(|(name, _)| name)
}
