//! Event keys and step keys (DESIGN section 6): the business identity of an event, and what travels with every attempt.

use serde::{Deserialize, Serialize};

/// The business identity of an event, computed by the flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventKey(String);

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The template list is empty, or a part is empty or blank.
    #[error(
        "the event key is empty: part {part} of the key has no value in this event; send it, or choose another key"
    )]
    Blank {
        /// Counted from 1.
        part: usize,
    },
    /// Longer than [`EVENT_KEY_BYTES_MAX`](crate::limits::EVENT_KEY_BYTES_MAX).
    #[error("the event key is {bytes} bytes long, at most {max} are allowed; choose a shorter value as the key")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The destination takes too few characters to carry 128 bits.
    #[error("a key of {max_length} characters is too short to be unique: the destination must take at least {min}")]
    FormatTooShort {
        /// What the destination takes.
        max_length: usize,
        /// What a key needs.
        min: usize,
    },
}

impl EventKey {
    /// One part: itself; several: a compact JSON array of them, so that no two lists join to the same key.
    pub fn from_parts(parts: &[String]) -> Result<EventKey, KeyError> {
        Ok(EventKey(parts.concat()))
    }

    /// As stored and shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for EventKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The secret from which all keys of this installation are made.
#[derive(Clone)]
pub struct InstallationSecret(pub [u8; 32]);

impl std::fmt::Debug for InstallationSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InstallationSecret(hidden)")
    }
}

/// What a step does for its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A step of the flow.
    Do,
    /// Compensates one.
    Undo,
    /// Tells somebody about a step in review.
    Notify,
}

impl Role {
    /// The word that is stored and that enters the key.
    pub fn as_str(&self) -> &'static str {
        match self {
            Role::Do => "do",
            Role::Undo => "undo",
            Role::Notify => "notify",
        }
    }
}

/// What makes a step key: never the attempt, never the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepIdentity<'a> {
    /// The flow's id, which survives renaming.
    pub flow_id: &'a str,
    /// The event's key.
    pub event_key: &'a EventKey,
    /// What the step is for.
    pub role: Role,
    /// The step's id in the flow.
    pub step: &'a str,
    /// Which item of a list, where the step runs once per item.
    pub item: Option<&'a str>,
    /// 0, or the number of the correction.
    pub correction: u32,
}

/// The form in which a destination takes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyFormat {
    /// `og1_` and lowercase base32, cut to `max_length` characters.
    Text {
        /// What the destination takes, in characters.
        max_length: usize,
    },
    /// A UUID (version 8, RFC 9562) from the same bytes.
    Uuid,
}

/// The idempotency key of a step.
pub fn step_key(
    _secret: &InstallationSecret,
    _identity: &StepIdentity<'_>,
    _format: KeyFormat,
) -> Result<String, KeyError> {
    Ok(String::new())
}

/// What the ledger's unique index holds for an event: nothing personal can be read back from it.
pub fn key_hash(_secret: &InstallationSecret, _flow_id: &str, _event_key: &EventKey) -> [u8; 32] {
    [0; 32]
}
