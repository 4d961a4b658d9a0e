//! What tells one delivery under a key from another: SHA-256 over a form in which nothing can be confused. Every text
//! goes in with its length before it; names of an object are sorted; numbers are their text (`1` and `1.0` differ).

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Of a parsed body: order of names and spaces aside.
pub(super) fn of_value(value: &Value) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(b"oncegate-body-1");
    take(&mut digest, value);
    digest.finalize().into()
}

/// Of values that the flow names; one that cannot be evaluated counts as missing.
pub(super) fn of_fields(fields: &[Option<Value>]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(b"oncegate-fields-1");
    count(&mut digest, fields.len());
    for field in fields {
        match field {
            None => digest.update(b"-"),
            Some(value) => {
                digest.update(b"+");
                take(&mut digest, value);
            }
        }
    }
    digest.finalize().into()
}

/// Of nothing: the same for every event.
pub(super) fn of_nothing() -> [u8; 32] {
    Sha256::digest(b"oncegate-nothing-1").into()
}

fn take(digest: &mut Sha256, value: &Value) {
    match value {
        Value::Null => digest.update(b"z"),
        Value::Bool(true) => digest.update(b"t"),
        Value::Bool(false) => digest.update(b"f"),
        Value::Number(number) => text(digest, b"n", &number.to_string()),
        Value::String(string) => text(digest, b"s", string),
        Value::Array(items) => {
            digest.update(b"a");
            count(digest, items.len());
            items.iter().for_each(|item| take(digest, item));
        }
        Value::Object(members) => {
            digest.update(b"o");
            count(digest, members.len());
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            for (name, value) in sorted {
                text(digest, b"k", name);
                take(digest, value);
            }
        }
    }
}

fn text(digest: &mut Sha256, tag: &[u8; 1], text: &str) {
    digest.update(tag);
    count(digest, text.len());
    digest.update(text.as_bytes());
}

fn count(digest: &mut Sha256, count: usize) {
    digest.update((count as u64).to_be_bytes());
}
