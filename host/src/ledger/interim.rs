//! Stands in for `oncegate_domain::{id, key}` until they are merged; then this file goes.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// 128 bits, time-ordered, shown as 26 characters of Crockford's base32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u128);

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl Id {
    /// From a time in Unix milliseconds and random bits.
    pub fn new(now_ms: i64, random: [u8; 10]) -> Self {
        let mut bytes = [0u8; 16];
        bytes[6..].copy_from_slice(&random);
        Self(((now_ms.max(0) as u128) << 80) | u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..26)
            .rev()
            .try_for_each(|i| write!(f, "{}", ALPHABET[(self.0 >> (5 * i)) as usize & 31] as char))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Id {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        if s.len() != 26 {
            return Err(format!("{s:?} is no id"));
        }
        let mut n = 0u128;
        for c in s.bytes() {
            let v = ALPHABET
                .iter()
                .position(|a| *a == c)
                .ok_or_else(|| format!("{s:?} is no id"))?;
            n = (n << 5) | v as u128;
        }
        Ok(Self(n))
    }
}

impl Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The business identity of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventKey(String);

impl EventKey {
    /// From its parts.
    pub fn from_parts(parts: &[String]) -> Result<Self, String> {
        Ok(Self(parts.join("|")))
    }

    /// In clear.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The step itself.
    Do,
    /// Its compensation.
    Undo,
    /// Tells people.
    Notify,
}

/// What keys are derived with.
#[derive(Clone)]
pub struct InstallationSecret(pub [u8; 32]);

impl fmt::Debug for InstallationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallationSecret")
    }
}
