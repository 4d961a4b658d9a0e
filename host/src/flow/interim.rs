//! Stands in for `oncegate_domain::key` until that is there; then this file becomes a re-export and goes.

use serde::{Deserialize, Serialize};

/// The business identity of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventKey(String);

impl EventKey {
    /// One part is the key itself; several are joined as a compact JSON array.
    pub fn from_parts(parts: &[String]) -> Result<EventKey, KeyError> {
        let text = match parts {
            [one] => one.clone(),
            many => serde_json::to_string(many).unwrap_or_default(),
        };
        if parts.is_empty() || parts.iter().any(|part| part.trim().is_empty()) {
            return Err(KeyError::Blank);
        }
        if text.len() > 512 {
            Err(KeyError::TooLong)
        } else {
            Ok(EventKey(text))
        }
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A part is empty or blank.
    #[error("the event key is empty or blank")]
    Blank,
    /// Over 512 bytes.
    #[error("the event key is longer than 512 bytes")]
    TooLong,
}

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Does the work.
    Do,
    /// Undoes it.
    Undo,
    /// Calls a person.
    Notify,
}
