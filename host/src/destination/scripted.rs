//! Requests that are answered from a script, word for word, for destinations that are described by examples (the drill):
//! what they do is still counted as everywhere.

use super::service::{Route, Service};
use serde::{Deserialize, Serialize};

/// What stands for the key of the request in a scripted answer.
const KEY_MARK: &str = "{{key}}";
/// How every key begins that goes into a body or a header as text.
const KEY_BEGINS: &str = "og1_";

/// One kind of request, and what is answered to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scripted {
    /// Which requests.
    pub route: Route,
    /// What they are told.
    pub says: Reaction,
}

/// What a scripted request does and is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// It makes the effect, and is then told this.
    Write(Spoken),
    /// It reads, and is told this.
    Read(Spoken),
    /// It asks for the effect.
    Lookup {
        /// Reaction once the service has made an effect.
        found: Spoken,
        /// Reaction before.
        absent: Spoken,
    },
}

/// A status and a body, in which `{{key}}` stands for the key that the service saw last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spoken {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Spoken {
    pub(super) fn with_key(&self, key: &str) -> String {
        self.body.replace(KEY_MARK, key)
    }
}

impl Service {
    /// The script for a request, where there is one.
    pub(super) fn scripted(&self, method: &str, target: &str) -> Option<&Reaction> {
        let found = self
            .scripted
            .iter()
            .find(|scripted| scripted.route.fits(method, target));
        found.map(|scripted| &scripted.says)
    }

    /// Whether a request may change something here.
    pub(super) fn is_write(&self, method: &str, target: &str) -> bool {
        match self.scripted(method, target) {
            Some(Reaction::Write(_)) => true,
            Some(Reaction::Read(_) | Reaction::Lookup { .. }) => false,
            None => !matches!(method, "GET" | "HEAD") && !self.searches(method, target),
        }
    }
}

/// A key somewhere in a text.
pub(super) fn key_in(text: &str) -> Option<&str> {
    let key = &text[text.find(KEY_BEGINS)?..];
    let end = key
        .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
        .unwrap_or(key.len());
    Some(&key[..end])
}
