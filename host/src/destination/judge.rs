//! The judge: what every service received and what it did, counted per key, per service and per business fact.
//!
//! All of it sits behind one lock of `Destination`, so that a repeated key is recognised however close the requests come.
//! It reads no socket and waits for nothing; the journal is the only file it touches.

use super::journal::Journal;
use super::rules::Rules;
use super::script::Behaviour;
use super::scripted::{Told, key_in};
use super::seen::Seen;
use super::service::{Dedup, Service, text_of};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
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

struct Book {
    service: Service,
    records: BTreeMap<String, Record>,
    effects: Vec<Effect>,
    connections: u64,
    requests: u64,
    replays: u64,
    other_bodies: u64,
    /// How often the dice were thrown about each business fact.
    arrivals: BTreeMap<String, u32>,
}

struct Record {
    /// The body as it came.
    body: String,
    /// What a lookup and a repeated request are told.
    shown: Value,
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
        chances.roll(service, &subject, arrival)
    }

    /// A record that is there without any effect of ours.
    pub fn put_record(&mut self, service: &str, key: &str, body: &Value) {
        if let Some(book) = self.books.get_mut(service) {
            let id = format!("{service}-old-{}", book.records.len() + 1);
            let record = Record {
                body: body.to_string(),
                shown: shown(body, &id, Some(key)),
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
            return Ok(said(404, json!({"error": "no such service"})));
        };
        let body = lossy(body);
        let natural = matches!(book.service.dedup, Dedup::Natural(_));
        if natural && key.is_none() {
            return Ok(said(
                422,
                json!({"error": "the field that names the record is missing"}),
            ));
        }
        if let Some(record) = key.and_then(|key| book.records.get(key)) {
            let same = record.body == body || (natural && same_json(&record.body, &body));
            if same {
                book.replays += 1;
                return Ok(said(if natural { 200 } else { 201 }, record.shown.clone()));
            }
            if !natural {
                book.other_bodies += 1;
                return Ok(said(409, json!({"error": "this key was used with another body"})));
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
        Ok(said(201, book.take_effect(effect)))
    }

    /// Does what a script says, and says it.
    pub fn scripted(&mut self, service: &str, told: &Told, key: Option<&str>, body: &[u8]) -> Said {
        let done = match told {
            Told::Write(_) => Some(self.commit(service, key, body)),
            Told::Read(_) | Told::Lookup { .. } => None,
        };
        let spoken = match (told, done) {
            (Told::Write(_), Some(Ok(refused))) if refused.status >= 300 => return refused,
            (Told::Write(_), Some(Err(error))) => {
                let why = format!("the journal cannot be written: {:?}", error.kind());
                return said(500, json!({ "error": why }));
            }
            (Told::Write(spoken) | Told::Read(spoken), _) => spoken,
            (Told::Lookup { found, absent }, _) => {
                let exists = self.books.get(service).is_some_and(|book| !book.effects.is_empty());
                if exists { found } else { absent }
            }
        };
        Said {
            status: spoken.status,
            body: spoken.with_key(&self.key_seen(service).unwrap_or_default()),
        }
    }

    /// The key that a service saw last, wherever a request carried it.
    fn key_seen(&self, service: &str) -> Option<String> {
        let header_or_field = match &self.books.get(service)?.service.dedup {
            Dedup::Header(_) | Dedup::Field(_) => true,
            Dedup::None | Dedup::Natural(_) | Dedup::Repeat => false,
        };
        self.seen
            .iter()
            .rev()
            .filter(|seen| seen.service == service)
            .find_map(|seen| {
                let told = seen.key.clone().filter(|_| header_or_field);
                let headers = seen.headers.iter().map(|(_, value)| value.clone());
                let texts = headers.chain([seen.text(), seen.path.clone()]);
                told.or_else(|| texts.into_iter().find_map(|text| key_in(&text).map(str::to_owned)))
            })
    }

    /// What a service holds under a key.
    pub fn look_up(&self, service: &str, key: &str) -> Said {
        match self.books.get(service).and_then(|book| book.records.get(key)) {
            Some(record) => said(200, record.shown.clone()),
            None => said(404, json!({"error": "no such record"})),
        }
    }

    /// How many whole requests came that could have changed something.
    pub fn writes_of(&self, service: &str) -> u64 {
        let Some(book) = self.books.get(service) else { return 0 };
        let writes =
            |seen: &&Seen| seen.service == service && seen.whole && book.service.is_write(&seen.method, &seen.path);
        self.seen.iter().filter(writes).count() as u64
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

impl Book {
    fn new(service: Service) -> Book {
        Book {
            service,
            records: BTreeMap::new(),
            effects: Vec::new(),
            connections: 0,
            requests: 0,
            replays: 0,
            other_bodies: 0,
            arrivals: BTreeMap::new(),
        }
    }

    fn take_effect(&mut self, effect: Effect) -> Value {
        let id = format!("{}-{}", self.service.name, self.effects.len() + 1);
        let body = serde_json::from_str(&effect.body).unwrap_or(Value::Null);
        let record = shown(&body, &id, effect.key.as_deref());
        if let Some(key) = &effect.key {
            self.records.insert(
                key.clone(),
                Record {
                    body: effect.body.clone(),
                    shown: record.clone(),
                },
            );
        }
        self.effects.push(effect);
        record
    }

    fn count(&self) -> Count {
        Count {
            effects: counted(self.effects.iter().map(|effect| effect.name().to_owned())),
            by_identity: counted(self.effects.iter().filter_map(|effect| effect.identity.clone())),
            effects_total: self.effects.len() as u64,
            connections: self.connections,
            requests: self.requests,
            replays: self.replays,
            other_bodies: self.other_bodies,
        }
    }

    /// An upsert without identity fields may rightly change a record twice; only the same change again is a duplicate.
    fn duplicates(&self) -> Vec<Duplicate> {
        let natural = matches!(self.service.dedup, Dedup::Natural(_));
        let facts = self.effects.iter().map(|effect| match (&effect.identity, &effect.key) {
            (Some(identity), _) => identity.clone(),
            (None, Some(key)) if natural => format!("{key}: {}", effect.body),
            (None, _) => effect.name().to_owned(),
        });
        let repeated = counted(facts).into_iter().filter(|(_, count)| *count > 1);
        repeated
            .map(|(what, count)| Duplicate {
                service: self.service.name.clone(),
                what,
                count,
            })
            .collect()
    }
}

fn counted(names: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    names.fold(BTreeMap::new(), |mut counts, name| {
        *counts.entry(name).or_default() += 1;
        counts
    })
}

fn said(status: u16, body: Value) -> Said {
    Said {
        status,
        body: body.to_string(),
    }
}

/// A record as it is told: the fields of the body, the service's own id, and the key where there is one.
fn shown(body: &Value, id: &str, key: Option<&str>) -> Value {
    let mut fields = body.as_object().cloned().unwrap_or_default();
    fields.insert("id".to_owned(), json!(id));
    if let Some(key) = key {
        fields.insert("key".to_owned(), json!(key));
    }
    Value::Object(fields)
}

fn same_json(one: &str, other: &str) -> bool {
    let parsed = |text| serde_json::from_str::<Value>(text).ok();
    parsed(one).is_some_and(|value| parsed(other) == Some(value))
}

fn lossy(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
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
            body.pointer(pointer).map(text_of)
        }
    }
}
