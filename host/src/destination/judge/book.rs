//! What one service holds and did.

use super::{Count, Duplicate, Effect};
use crate::destination::service::{Dedup, Service};
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) struct Book {
    pub service: Service,
    pub records: BTreeMap<String, Record>,
    pub effects: Vec<Effect>,
    pub connections: u64,
    pub requests: u64,
    pub replays: u64,
    pub other_bodies: u64,
    /// How often the dice were thrown about each business fact.
    pub arrivals: BTreeMap<String, u32>,
}

pub(super) struct Record {
    /// The body as it came.
    pub body: String,
    /// What a lookup and a repeated request are told.
    pub shown: Value,
}

impl Book {
    pub fn new(service: Service) -> Book {
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

    pub fn take_effect(&mut self, effect: Effect) -> Value {
        let key = effect.key.as_deref();
        let before = key.and_then(|key| self.records.get(key)).map(|record| &record.shown);
        let record = self.record(self.effects.len() + 1, key, &effect.body, before);
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

    fn record(&self, number: usize, key: Option<&str>, body: &str, before: Option<&Value>) -> Value {
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        let Service { name, dialect, .. } = &self.service;
        dialect.record(name, number, key, &body, before)
    }

    /// Whether an upsert finds all that it asks for in place. Compared without the ids, which a change may renew.
    pub fn changes_nothing(&self, before: &Record, body: &str) -> bool {
        let after = self.record(0, before.shown["key"].as_str(), body, Some(&before.shown));
        without_id(&after) == without_id(&before.shown)
    }

    /// Bodies, and what they made; of a service that tells no records apart.
    pub fn shown_effects(&self) -> impl Iterator<Item = (&str, Value)> {
        let numbered = (1..).zip(&self.effects);
        numbered.map(|(number, effect)| (effect.body.as_str(), self.record(number, None, &effect.body, None)))
    }

    pub fn count(&self) -> Count {
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
    pub fn duplicates(&self) -> Vec<Duplicate> {
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

fn without_id(record: &Value) -> Value {
    let mut record = record.clone();
    if let Value::Object(fields) = &mut record {
        fields.remove("id");
    }
    record
}
