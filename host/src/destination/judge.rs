//! The judge: what every service received and what it did, counted per key, per service and per business fact.
//!
//! All of it sits behind one lock of `Destination`, so that a repeated key is recognised however close the requests come.
//! It reads no socket and waits for nothing; the journal is the only file it touches.

mod book;
mod scripts;

use super::dialect::{Dialect, Told};
use super::journal::Journal;
use super::rules::Rules;
use super::script::Behaviour;
use super::seen::Seen;
use super::service::{Dedup, Service, text_of};
use book::{Book, Record};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;

/// Requests kept for reading; later ones are only counted, so that a load test does not eat the machine.
const REQUESTS_KEPT_MAX: usize = 100_000;

/// One change that a service made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The service's name.
    pub service: String,
    /// What the service tells requests apart by: key or natural key; `None` where it does not.
    pub key: Option<String>,
    /// The business fact, from the service's identity fields.
    pub identity: Option<String>,
    /// The body that asked for it.
    pub body: String,
}

impl Effect {
    /// What effects are listed by: the key, else the business fact, else the body.
    pub fn name(&self) -> &str {
        self.key.as_deref().or(self.identity.as_deref()).unwrap_or(&self.body)
    }
}

/// Something that was done more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicate {
    /// The service's name.
    pub service: String,
    /// The business fact; where the service names none: the key (upserts: and the body), or the body.
    pub what: String,
    /// How often; more than once.
    pub count: u64,
}

/// What one service received and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Effects by key (else by business fact, else by body).
    pub effects: BTreeMap<String, u64>,
    /// Effects by business fact, where the service names identity fields.
    pub by_identity: BTreeMap<String, u64>,
    /// All effects.
    pub effects_total: u64,
    /// Connections taken.
    pub connections: u64,
    /// Requests of which at least one byte came.
    pub requests: u64,
    /// Requests whose key was known already, answered from what was stored.
    pub replays: u64,
    /// Requests with a known key and another body, answered 409.
    pub other_bodies: u64,
}

/// The whole count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// By service.
    pub services: BTreeMap<String, Count>,
    /// All effects.
    pub effects_total: u64,
    /// What was done more than once.
    pub duplicates: Vec<Duplicate>,
}

/// A status and a JSON body.
pub(super) struct Said {
    pub status: u16,
    pub body: String,
}

pub(super) struct Judge {
    books: BTreeMap<String, Book>,
    seen: Vec<Seen>,
    journal: Option<Journal>,
    pub rules: Rules,
}

impl Judge {
    /// With what the journal remembers, if there is one.
    pub fn new(services: Vec<Service>, journal: Option<Journal>, remembered: Vec<Effect>) -> Judge {
        let books = services
            .into_iter()
            .map(|service| (service.name.clone(), Book::new(service)))
            .collect();
        let mut judge = Judge {
            books,
            seen: Vec::new(),
            journal,
            rules: Rules::default(),
        };
        for effect in remembered {
            if let Some(book) = judge.books.get_mut(&effect.service) {
                book.take_effect(effect);
            }
        }
        judge
    }

    pub fn connected(&mut self, service: &str) {
        if let Some(book) = self.books.get_mut(service) {
            book.connections += 1;
        }
    }

    /// Keeps a request; returns where, for `update`.
    pub fn saw(&mut self, seen: Seen) -> Option<usize> {
        if let Some(book) = self.books.get_mut(&seen.service) {
            book.requests += 1;
        }
        (self.seen.len() < REQUESTS_KEPT_MAX).then(|| {
            self.seen.push(seen);
            self.seen.len() - 1
        })
    }

    /// More of a request came.
    pub fn update(&mut self, at: Option<usize>, change: impl FnOnce(&mut Seen)) {
        if let Some(seen) = at.and_then(|at| self.seen.get_mut(at)) {
            change(seen);
        }
    }

    pub fn seen(&self) -> &[Seen] {
        &self.seen
    }

    pub fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.books.values().flat_map(|book| &book.effects)
    }

    /// What the dice say about a write, where the service has any.
    pub fn roll(&mut self, service: &str, key: Option<&str>, body: &[u8]) -> Option<Behaviour> {
        let book = self.books.get_mut(service)?;
        let chances = book.service.chances.as_ref()?;
        let identity = book.service.identity_of(body);
        let subject = identity
            .or_else(|| key.map(str::to_owned))
            .unwrap_or_else(|| lossy(body));
        let arrivals = book.arrivals.entry(subject.clone()).or_default();
        let arrival = *arrivals;
        *arrivals += 1;
        let trouble = chances.roll(service, &subject, arrival)?;
        Some(book.service.dialect.in_its_words(trouble))
    }

    /// A record that is there without any effect of ours.
    pub fn put_record(&mut self, service: &str, key: &str, body: &Value) {
        if let Some(book) = self.books.get_mut(service) {
            let (dialect, number) = (book.service.dialect, book.records.len() + 1);
            let record = Record {
                body: body.to_string(),
                shown: dialect.record(&format!("{service}-old"), number, Some(key), body, None),
            };
            book.records.insert(key.to_owned(), record);
        }
    }

    /// Carries a write out as a well-behaved service would, and says what such a service answers.
    ///
    /// # Errors
    /// Where the journal cannot be written; nothing was changed then.
    pub fn commit(&mut self, service: &str, key: Option<&str>, body: &[u8]) -> io::Result<Said> {
        let Some(book) = self.books.get_mut(service) else {
            return Ok(Dialect::Plain.says(&Told::NotThere));
        };
        let body = lossy(body);
        let dialect = book.service.dialect;
        let upsert = matches!(book.service.dedup, Dedup::Natural(_));
        if upsert && key.is_none() {
            return Ok(dialect.says(&Told::Unnamed));
        }
        let before = key.and_then(|key| book.records.get(key));
        let new = before.is_none();
        if let Some(before) = before {
            if before.body == body || (upsert && book.changes_nothing(before, &body)) {
                let said = dialect.says(&Told::Known {
                    record: &before.shown,
                    upsert,
                });
                book.replays += 1;
                return Ok(said);
            }
            if !upsert {
                book.other_bodies += 1;
                return Ok(dialect.says(&Told::OtherBody));
            }
        }
        let identity = book.service.identity_of(body.as_bytes());
        let effect = Effect {
            service: service.to_owned(),
            key: key.map(str::to_owned),
            identity,
            body,
        };
        if let Some(journal) = &mut self.journal {
            journal.append(&effect)?;
        }
        let record = book.take_effect(effect);
        Ok(dialect.says(&Told::Made { record: &record, new }))
    }

    /// What a service holds under the key that a target names.
    pub fn look_up(&self, service: &str, key: &str, target: &str) -> Said {
        let book = self.books.get(service);
        let dialect = book.map(|book| book.service.dialect).unwrap_or_default();
        match book.and_then(|book| book.records.get(key)) {
            Some(record) => dialect.says(&Told::There {
                record: &record.shown,
                target,
            }),
            None => dialect.says(&Told::NotThere),
        }
    }

    /// What a service shows of the writes whose body holds the text that a search asks for.
    pub fn search(&self, service: &str, body: &[u8]) -> Said {
        let Some(book) = self.books.get(service) else {
            return Dialect::Plain.says(&Told::NotThere);
        };
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let hits: Vec<Value> = match body["query"].as_str() {
            Some(text) => {
                let found = book.shown_effects().filter(|(body, _)| body.contains(text));
                found.map(|(_, record)| record).collect()
            }
            None => Vec::new(),
        };
        book.service.dialect.says(&Told::Hits(&hits))
    }

    pub fn tally(&self) -> Tally {
        let services = self
            .books
            .iter()
            .map(|(name, book)| (name.clone(), book.count()))
            .collect();
        let duplicates = self.books.values().flat_map(Book::duplicates).collect();
        Tally {
            services,
            effects_total: self.effects().count() as u64,
            duplicates,
        }
    }
}

/// What a service tells requests apart by, as far as this request says it.
pub(super) fn key_of(
    service: &Service,
    header: impl Fn(&str) -> Option<String>,
    body: Option<&[u8]>,
) -> Option<String> {
    match &service.dedup {
        Dedup::None => None,
        Dedup::Header(name) => header(name),
        Dedup::Repeat => body.map(lossy),
        Dedup::Field(pointer) | Dedup::Natural(pointer) => {
            let body: Value = serde_json::from_slice(body?).ok()?;
            body.pointer(pointer).map(|name| service.dialect.name(text_of(name)))
        }
    }
}

fn lossy(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}
