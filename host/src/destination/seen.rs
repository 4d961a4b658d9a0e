//! A request as the destination saw it.

use serde::{Serialize, Serializer};

/// A request, or what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// The service's name.
    pub service: String,
    /// Which connection of the destination it came on, from 1; two requests with the same number shared one.
    pub connection: u64,
    /// When its first byte was there, in ms since the destination was started.
    pub at_ms: u64,
    /// As it stood in the request line; empty where the head was never whole.
    pub method: String,
    /// Path and query as they stood in the request line.
    pub path: String,
    /// In the order in which they came, names in lower case.
    pub headers: Vec<(String, String)>,
    /// As much of the body as was read.
    #[serde(serialize_with = "as_text")]
    pub body: Vec<u8>,
    /// Bytes of this request that were read from the socket, head included.
    pub bytes: u64,
    /// Whether all of it was read.
    pub whole: bool,
    /// What the service tells requests apart by, where this one says it.
    pub key: Option<String>,
}

impl Seen {
    /// The first header of this name (any case).
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn as_text<S: Serializer>(body: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(body))
}
