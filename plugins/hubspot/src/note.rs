//! One note on a contact. HubSpot makes a new one of every request, so the note carries the step key as its last line, and
//! that is how it is found again.
//!
//! <https://developers.hubspot.com/docs/api-reference/crm-notes-v3/guide> and, for the search,
//! <https://developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm>.

use oncegate_sdk::prelude::*;
use serde_json::json;

use crate::{ENDPOINT, failure};

/// Characters of a note, HubSpot's limit.
const BODY_CHARS_MAX: usize = 65_536;
/// HubSpot's type of the tie from a note to a contact.
const NOTE_TO_CONTACT: u32 = 202;

/// Puts one note on a contact.
#[derive(Debug)]
pub struct CreateNote;

/// A note as it should be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteInput {
    /// HubSpot's id of the contact, as `upsert-contact` gives it out.
    pub contact: ContactId,
    /// The note as plain text. What looks like HTML in it is shown and not obeyed.
    pub text: String,
    /// When it happened, such as `{{ event.received_at }}`: where the note stands in the contact's timeline.
    pub at: Timestamp,
}

/// HubSpot's id of a contact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct ContactId(String);

impl TryFrom<String> for ContactId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<ContactId, Self::Error> {
        if text.is_empty() || text.len() > 20 || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err("`contact` is HubSpot's id of a contact, such as 512: the `id` that upsert-contact gives out");
        }
        Ok(ContactId(text))
    }
}

/// An instant in UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("format" = "date-time"))]
pub struct Timestamp(String);

impl TryFrom<String> for Timestamp {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Timestamp, Self::Error> {
        let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        let (seconds, fraction) = shape.split_once('.').unwrap_or((shape.trim_end_matches('Z'), "0Z"));
        let digits = fraction.strip_suffix('Z').unwrap_or_default();
        if seconds != "0000-00-00T00:00:00"
            || digits.is_empty()
            || digits.contains(|c| c != '0')
            || !text.ends_with('Z')
        {
            return Err("`at` is an instant in UTC, such as 2026-01-31T09:30:00Z");
        }
        Ok(Timestamp(text))
    }
}

/// A note that is there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// HubSpot's own id.
    pub id: String,
}

#[derive(Deserialize)]
struct Hits {
    results: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    id: String,
    properties: HitProperties,
}

#[derive(Deserialize)]
struct HitProperties {
    #[serde(default)]
    hs_note_body: Option<String>,
}

impl Action for CreateNote {
    const NAME: &'static str = "create-note";
    type Settings = NoSettings;
    type Input = NoteInput;
    type Output = Note;

    fn perform(call: &Call<CreateNote>) -> Result<Note, Failure> {
        let body = body(&call.input.text, &call.key)?;
        let to_contact = json!({"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": NOTE_TO_CONTACT});
        let note = json!({
            "properties": {"hs_timestamp": call.input.at, "hs_note_body": body},
            "associations": [{"to": {"id": call.input.contact}, "types": [to_contact]}],
        });
        let answer = Request::post(ENDPOINT, "/crm/v3/objects/notes").json(&note).send()?;
        if answer.is_success() {
            answer.json()
        } else {
            Err(failure(&answer))
        }
    }

    /// The search is HubSpot's own, over an index that it makes: a hit is only what shows our key in full.
    fn lookup(call: &Call<CreateNote>, _doubt: &Doubt) -> Result<Finding<Note>, Failure> {
        let search = json!({"query": call.key, "properties": ["hs_note_body"], "limit": 20});
        let answer = Request::post(ENDPOINT, "/crm/v3/objects/notes/search")
            .json(&search)
            .send_ok()?;
        let Hits { results } = answer.json()?;
        if results.is_empty() {
            return Ok(Finding::Absent);
        }
        let ours = results.into_iter().find(|hit| {
            let body = hit.properties.hs_note_body.as_deref().unwrap_or_default();
            body.contains(&call.key)
        });
        Ok(match ours {
            Some(hit) => Finding::by_key(Note { id: hit.id.clone() }, hit.id),
            None => Finding::unsure("HubSpot's search gave other notes and none with our key"),
        })
    }
}

/// The text as HTML, for that is what HubSpot takes, with the key below it.
fn body(text: &str, key: &str) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::rejected("text", "the note has no text").field("/text", "write something"));
    }
    let shown = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\n', "<br>");
    let body = format!("{shown}<br><small>{key}</small>");
    let chars = body.chars().count();
    if chars > BODY_CHARS_MAX {
        let message = format!("the note has {chars} characters as HTML; HubSpot takes {BODY_CHARS_MAX}");
        return Err(Failure::rejected("text", message).field("/text", "shorten it"));
    }
    Ok(body)
}
