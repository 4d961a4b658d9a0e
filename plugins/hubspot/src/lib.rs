//! The connector for HubSpot's CRM: contacts, named by their e-mail address, and notes on them.
//!
//! The two actions are the two ways to be asked what became of a request: a contact shows whether it is as it was asked
//! for, a note carries the step key.

mod contact;
mod note;

use oncegate_sdk::prelude::*;

pub use contact::{Contact, ContactInput, Email, PropertyName, PropertyValue, UpsertContact};
pub use note::{ContactId, CreateNote, Note, NoteInput, Timestamp};

/// The one endpoint.
const ENDPOINT: &str = "api";

/// What an answer other than a 2xx means: <https://developers.hubspot.com/docs/api-reference/error-handling>. Beside the
/// usual meanings HubSpot has two 4xx that only ask for patience.
fn failure(answer: &Answer) -> Failure {
    let usual = answer.failure();
    let problem = usual.problem();
    let category = answer.raw_json().and_then(|body| body.pointer("/category")?.scalar());
    let code = category.unwrap_or_else(|| problem.code.clone());
    let message = problem.message.clone();
    match answer.status {
        // A lock lasts two seconds.
        423 => Failure::temporary(code, message).retry_after_ms(2_000),
        // The account moves to another data centre; `Retry-After` says how long that takes.
        477 => Failure::temporary(code, message),
        _ => usual,
    }
}

oncegate_sdk::export!(UpsertContact, CreateNote);
