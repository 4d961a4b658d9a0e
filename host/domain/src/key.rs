//! Event keys and step keys (DESIGN section 6): the business identity of an event, and what travels with every attempt.

use crate::limits::{EVENT_KEY_BYTES_MAX, STEP_KEY_BITS_MIN};
use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

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
    /// Longer than [`EVENT_KEY_BYTES_MAX`].
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
        if parts.is_empty() {
            return Err(KeyError::Blank { part: 1 });
        }
        // A blank part is refused even beside others: all events that lack it would share a key, and one of them would run.
        if let Some(index) = parts.iter().position(|part| part.trim().is_empty()) {
            return Err(KeyError::Blank { part: index + 1 });
        }
        let key = match parts {
            [one] => one.clone(),
            several => json_array(several),
        };
        if key.len() > EVENT_KEY_BYTES_MAX {
            return Err(KeyError::TooLong {
                bytes: key.len(),
                max: EVENT_KEY_BYTES_MAX,
            });
        }
        Ok(EventKey(key))
    }

    /// As stored and shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Compact JSON, by hand: the form is part of the key and must never change with a library.
fn json_array(parts: &[String]) -> String {
    let mut text = String::from("[");
    for (index, part) in parts.iter().enumerate() {
        text.push_str(if index == 0 { "\"" } else { ",\"" });
        for symbol in part.chars() {
            match symbol {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                control if control < ' ' => text.push_str(&format!("\\u{:04x}", u32::from(control))),
                plain => text.push(plain),
            }
        }
        text.push('"');
    }
    text.push(']');
    text
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

/// The idempotency key of a step: the same for every attempt, in every process, for ever. It contains nothing personal.
///
/// # Errors
/// [`KeyError::FormatTooShort`] where the destination takes fewer characters than 128 bits need.
pub fn step_key(
    secret: &InstallationSecret,
    identity: &StepIdentity<'_>,
    format: KeyFormat,
) -> Result<String, KeyError> {
    let correction = identity.correction.to_string();
    let bytes = digest(
        secret,
        &[
            b"oncegate step key 1",
            identity.flow_id.as_bytes(),
            identity.event_key.as_str().as_bytes(),
            identity.role.as_str().as_bytes(),
            identity.step.as_bytes(),
            // No item and an empty item are two things: the first byte tells them apart.
            &identity.item.map_or(vec![0], |item| [&[1], item.as_bytes()].concat()),
            correction.as_bytes(),
        ],
    );
    match format {
        KeyFormat::Text { max_length } => text_key(&bytes, max_length),
        KeyFormat::Uuid => Ok(uuid_key(&bytes)),
    }
}

/// What the ledger's unique index holds for an event: nothing personal can be read back from it.
pub fn key_hash(secret: &InstallationSecret, flow_id: &str, event_key: &EventKey) -> [u8; 32] {
    digest(
        secret,
        &[
            b"oncegate event key 1",
            flow_id.as_bytes(),
            event_key.as_str().as_bytes(),
        ],
    )
}

/// What names the thing that a natural action changes, within one account: steps that change the same thing carry the same
/// bytes, and nothing of its value can be read back. `values` are those of the natural key's fields, as canonical JSON.
pub fn natural_key(secret: &InstallationSecret, account: &str, values: &str) -> [u8; 32] {
    digest(
        secret,
        &[b"oncegate natural key 1", account.as_bytes(), values.as_bytes()],
    )
}

/// What stands in the record for a business word that was forgotten: who knows the word can find the record again, and nobody
/// can read the word from it.
pub fn forgotten_word(secret: &InstallationSecret, name: &str, value: &str) -> String {
    let bytes = digest(
        secret,
        &[b"oncegate forgotten word 1", name.as_bytes(), value.as_bytes()],
    );
    BASE32_NOPAD.encode(&bytes[..16]).to_ascii_lowercase()
}

/// HMAC over length-prefixed parts, so that no two lists of parts are the same bytes. The first part names the use.
fn digest(secret: &InstallationSecret, parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

const TEXT_PREFIX: &str = "og1_";

fn text_key(bytes: &[u8; 32], max_length: usize) -> Result<String, KeyError> {
    // Five bits a character.
    let min = TEXT_PREFIX.len() + STEP_KEY_BITS_MIN.div_ceil(5);
    if max_length < min {
        return Err(KeyError::FormatTooShort { max_length, min });
    }
    let mut key = format!("{TEXT_PREFIX}{}", BASE32_NOPAD.encode(bytes).to_ascii_lowercase());
    key.truncate(max_length);
    Ok(key)
}

fn uuid_key(bytes: &[u8; 32]) -> String {
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&bytes[..16]);
    uuid[6] = (uuid[6] & 0x0f) | 0x80;
    uuid[8] = (uuid[8] & 0x3f) | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&uuid);
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}
