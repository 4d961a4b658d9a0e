//! Identifiers: time-ordered, made by the host from a time and random bits that are handed in (the form of a ULID).

use serde::{Deserialize, Serialize};

/// 48 bits of milliseconds and 80 random bits; as text 26 characters of Crockford's base32, in the order of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Id([u8; 16]);

/// A text that is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id: ids are 26 characters out of 0-9 and A-Z without I, L, O and U; copy it from a listing")]
pub struct BadId(pub String);

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl Id {
    /// An id of this moment. `now_ms` outside of 48 bits is clamped; two ids of one millisecond differ by `random` alone.
    pub fn new(now_ms: i64, random: [u8; 10]) -> Id {
        let ms = now_ms.clamp(0, (1 << 48) - 1);
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&ms.to_be_bytes()[2..]);
        bytes[6..].copy_from_slice(&random);
        Id(bytes)
    }

    /// As stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Id {
        Id(bytes)
    }

    /// As stored.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// When it was made, in Unix milliseconds.
    pub fn made_ms(&self) -> i64 {
        self.0[..6].iter().fold(0, |ms, byte| (ms << 8) | i64::from(*byte))
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut bits = u128::from_be_bytes(self.0);
        let mut text = [0; 26];
        for digit in text.iter_mut().rev() {
            *digit = ALPHABET[(bits & 31) as usize];
            bits >>= 5;
        }
        f.write_str(str::from_utf8(&text).map_err(|_| std::fmt::Error)?)
    }
}

impl std::fmt::Debug for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Id({self})")
    }
}

impl std::str::FromStr for Id {
    type Err = BadId;

    /// Small letters are taken as well: people type ids.
    fn from_str(text: &str) -> Result<Id, BadId> {
        let bad = || BadId(text.chars().take(40).collect());
        // The first character carries only 3 bits: anything above 7 would not fit in 128.
        if text.len() != 26 || text.as_bytes()[0] > b'7' {
            return Err(bad());
        }
        let mut bits = 0_u128;
        for byte in text.bytes() {
            let digit = ALPHABET
                .iter()
                .position(|known| *known == byte.to_ascii_uppercase())
                .ok_or_else(bad)?;
            bits = (bits << 5) | digit as u128;
        }
        Ok(Id(bits.to_be_bytes()))
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for Id {
    type Error = BadId;

    fn try_from(text: String) -> Result<Id, BadId> {
        text.parse()
    }
}
