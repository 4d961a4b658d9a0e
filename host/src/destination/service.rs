//! What a service of the destination is: its paths, how it tells a repeated request, whether it can be asked.
//!
//! A definition only. It knows no socket and no count.

use super::chance::Chances;
use super::dialect::Dialect;
use super::scripted::Scripted;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One scripted service. Build it from [`Service::new`] or take a ready one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Unique within the destination.
    pub name: String,
    /// The requests that make an effect.
    pub writes: Vec<Route>,
    /// How it recognises a request that it has carried out before.
    #[serde(default)]
    pub dedup: Dedup,
    /// Where it can be asked for a record; `None`: it cannot.
    #[serde(default)]
    pub lookup: Option<Route>,
    /// Where its writes can be searched by a text, with a POST of `{"query": TEXT}` that only reads; `None`: nowhere.
    #[serde(default)]
    pub search: Option<Route>,
    /// In whose words it reads and answers.
    #[serde(default)]
    pub dialect: Dialect,
    /// JSON pointers into a request's body that together name the business fact behind it (a lead, an order). Effects are
    /// counted by it as well, so that a destination without keys can be judged. Empty: by key, or by the whole body.
    #[serde(default)]
    pub identity: Vec<String>,
    /// How long after a request has arrived its effect takes place; a usual answer comes after that. In ms.
    #[serde(default)]
    pub commit_after_ms: u64,
    /// Misbehaviour by the dice, where no rule says otherwise.
    #[serde(default)]
    pub chances: Option<Chances>,
    /// Requests that are answered from a script.
    #[serde(default)]
    pub scripted: Vec<Scripted>,
}

/// A method and a path; a path segment `{}` stands for any one segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// In capitals.
    pub method: String,
    /// Begins with `/`, has no query.
    pub path: String,
}

/// How a service recognises a repeated request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dedup {
    /// It does not: every request is an effect.
    #[default]
    None,
    /// By a header. The same key again gets the stored answer; a request without the header is always an effect.
    Header(String),
    /// By a field of the JSON body, as a JSON pointer.
    Field(String),
    /// An upsert: records are named by this JSON pointer, and only a body that changes the record is an effect.
    Natural(String),
    /// The same body again leaves the same state, whatever it is about.
    Repeat,
}

impl Service {
    /// A service that takes `POST path`, recognises nothing and cannot be asked.
    pub fn new(name: &str, path: &str) -> Service {
        Service {
            name: name.to_owned(),
            writes: vec![Route::new("POST", path)],
            dedup: Dedup::None,
            lookup: None,
            search: None,
            dialect: Dialect::Plain,
            identity: Vec::new(),
            commit_after_ms: 0,
            chances: None,
            scripted: Vec::new(),
        }
    }

    /// A CRM: `POST /contacts` honours `Idempotency-Key`, `GET /contacts/by-key/{key}` looks a contact up.
    pub fn crm() -> Service {
        Service::new("crm", "/contacts")
            .dedup(Dedup::Header("Idempotency-Key".to_owned()))
            .lookup("/contacts/by-key/{}")
            .identity(&["/email"])
    }

    /// A mailer: `POST /messages` honours `Idempotency-Key`; it cannot be asked.
    pub fn mailer() -> Service {
        Service::new("mailer", "/messages")
            .dedup(Dedup::Header("Idempotency-Key".to_owned()))
            .identity(&["/to", "/subject"])
    }

    /// A chat: `POST /messages`, no keys, no lookup, so every request is one more message.
    pub fn chat() -> Service {
        Service::new("chat", "/messages").identity(&["/text"])
    }

    /// An address book: `POST /contacts` upserts by e-mail, `GET /contacts/{email}` shows what it holds.
    pub fn address_book() -> Service {
        Service::new("book", "/contacts")
            .dedup(Dedup::Natural("/email".to_owned()))
            .lookup("/contacts/{}")
    }

    /// A service that is a script and nothing else.
    pub fn of_script(name: &str, scripted: Vec<Scripted>) -> Service {
        Service {
            writes: Vec::new(),
            scripted,
            ..Service::new(name, "/")
        }
    }

    /// The same service under another name.
    pub fn named(self, name: &str) -> Service {
        Service {
            name: name.to_owned(),
            ..self
        }
    }

    /// Recognises repeated requests like this.
    pub fn dedup(self, dedup: Dedup) -> Service {
        Service { dedup, ..self }
    }

    /// Answers `GET path`, where one segment `{}` is the key (or the natural key).
    pub fn lookup(self, path: &str) -> Service {
        Service {
            lookup: Some(Route::new("GET", path)),
            ..self
        }
    }

    /// Takes one more kind of write.
    pub fn also(mut self, method: &str, path: &str) -> Service {
        self.writes.push(Route::new(method, path));
        self
    }

    /// Effects are counted by these fields of the body (JSON pointers).
    pub fn identity(self, pointers: &[&str]) -> Service {
        Service {
            identity: pointers.iter().map(|pointer| (*pointer).to_owned()).collect(),
            ..self
        }
    }

    /// Effects take place this long after the request has arrived.
    pub fn commits_after(self, ms: u64) -> Service {
        Service {
            commit_after_ms: ms,
            ..self
        }
    }

    /// Misbehaves by these dice.
    pub fn chances(self, chances: Chances) -> Service {
        Service {
            chances: Some(chances),
            ..self
        }
    }

    /// Whether a request would make an effect here.
    pub(super) fn takes(&self, method: &str, path: &str) -> bool {
        self.writes
            .iter()
            .any(|route| route.method == method && route.segment(path).is_some())
    }

    /// The key that a lookup asks for, percent-decoded.
    pub(super) fn asked_for(&self, method: &str, path: &str) -> Option<String> {
        let route = self.lookup.as_ref().filter(|route| route.method == method)?;
        route.segment(path).map(|name| self.dialect.name(percent_decoded(name)))
    }

    /// Whether a request is a search.
    pub(super) fn searches(&self, method: &str, path: &str) -> bool {
        let route = self.search.as_ref().filter(|route| route.method == method);
        route.is_some_and(|route| route.segment(path).is_some())
    }

    /// The business fact that a body speaks of: its identity fields, where it has them all.
    pub(super) fn identity_of(&self, body: &[u8]) -> Option<String> {
        if self.identity.is_empty() {
            return None;
        }
        let body: Value = serde_json::from_slice(body).ok()?;
        let parts: Option<Vec<String>> = self
            .identity
            .iter()
            .map(|pointer| body.pointer(pointer).map(text_of))
            .collect();
        parts.map(|parts| self.dialect.name(parts.join(" · ")))
    }
}

impl Route {
    /// A route for one method.
    pub fn new(method: &str, path: &str) -> Route {
        Route {
            method: method.to_owned(),
            path: path.to_owned(),
        }
    }

    /// Whether a request is meant; `path` may have a query.
    pub(super) fn fits(&self, method: &str, path: &str) -> bool {
        self.method == method && self.segment(path).is_some()
    }

    /// What stands at `{}` where the path matches (the empty text where the route has none).
    fn segment<'a>(&self, path: &'a str) -> Option<&'a str> {
        let path = path.split('?').next().unwrap_or_default();
        let (mut wanted, mut given) = (self.path.split('/'), path.split('/'));
        let mut found = "";
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return Some(found),
                (Some("{}"), Some(segment)) if !segment.is_empty() => found = segment,
                (Some(expected), Some(segment)) if expected == segment => {}
                _ => return None,
            }
        }
    }
}

/// A JSON value as a name: text without its quotes, anything else as it is written.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

pub(super) fn percent_decoded(segment: &str) -> String {
    let bytes = segment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = segment
            .get(at + 1..at + 3)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
