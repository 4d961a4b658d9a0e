//! The control port: counts to read and rules to set over HTTP, for a destination that runs in another process than the test.
//!
//! `GET /_effects`, `GET /_requests`, `POST /_script` (a rule or a list of them), `DELETE /_script`, `POST /_record`,
//! `POST /_refuse`, `POST /_accept`.

use super::answer;
use super::rules::Rule;
use super::script::Behaviour;
use super::shared::Shared;
use super::wire::{Came, Reader};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

const CONNECTIONS_MAX: usize = 64;
const REQUEST_MS: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refuse {
    service: String,
    /// For so long, in ms; without it until `POST /_accept`.
    ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accept {
    service: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    service: String,
    key: String,
    body: Value,
}

/// Serves until dropped.
pub(super) async fn run(shared: Arc<Shared>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(Arc::clone(&shared), stream));
        }
        while connections.try_join_next().is_some() {}
    }
}

/// One request, one connection.
async fn serve(shared: Arc<Shared>, stream: TcpStream) {
    let mut reader = Reader::new(stream);
    let Ok(Came::Head(head)) = timeout(REQUEST_MS, reader.head()).await else {
        return;
    };
    let body = timeout(REQUEST_MS, reader.body(head.body_bytes))
        .await
        .unwrap_or_default();
    let (status, said) = match answer_to(&shared, &head.method, &head.target, &body).await {
        Ok(said) => (200, said),
        Err((status, why)) => (status, json!({"error": why})),
    };
    let behaviour = Behaviour::status_with(status, &[], &said.to_string());
    // Whoever asked may be gone.
    let _ = answer::write(&mut reader.stream, &behaviour, (status, ""), false).await;
}

async fn answer_to(shared: &Arc<Shared>, method: &str, path: &str, body: &[u8]) -> Result<Value, (u16, String)> {
    match (method, path) {
        ("GET", "/_effects") => shown(&shared.read(|judge| judge.tally())),
        ("GET", "/_requests") => shared.read(|judge| shown(&judge.seen())),
        ("POST", "/_script") => {
            // Decided by hand: an untagged enum loses numbers where serde_json keeps all digits.
            let rules: Vec<Rule> = match parsed::<Value>(body)? {
                list @ Value::Array(_) => from_value(list)?,
                one => vec![from_value(one)?],
            };
            let count = rules.len();
            shared.with(|judge| rules.into_iter().for_each(|rule| judge.rules.set(rule)));
            Ok(json!({"rules": count}))
        }
        ("DELETE", "/_script") => {
            shared.with(|judge| judge.rules.clear());
            Ok(json!({"rules": 0}))
        }
        ("POST", "/_record") => {
            let record: Record = parsed(body)?;
            shared.with(|judge| judge.put_record(&record.service, &record.key, &record.body));
            Ok(json!({"put": true}))
        }
        ("POST", "/_refuse") => {
            let refuse: Refuse = parsed(body)?;
            let done = match refuse.ms {
                Some(ms) => shared.refuse_for(&refuse.service, ms).await,
                None => shared.set_open(&refuse.service, false).await,
            };
            turned(done, &refuse.service)
        }
        ("POST", "/_accept") => {
            let accept: Accept = parsed(body)?;
            turned(shared.set_open(&accept.service, true).await, &accept.service)
        }
        _ => Err((404, format!("{method} {path} is not known here"))),
    }
}

fn turned(done: bool, service: &str) -> Result<Value, (u16, String)> {
    match done {
        true => Ok(json!({"done": true})),
        false => Err((
            409,
            format!("the port of {service:?} could not be turned; is there such a service?"),
        )),
    }
}

fn parsed<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, (u16, String)> {
    serde_json::from_slice(body).map_err(|error| (400, error.to_string()))
}

fn from_value<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, (u16, String)> {
    serde_json::from_value(value).map_err(|error| (400, error.to_string()))
}

fn shown<T: serde::Serialize>(value: &T) -> Result<Value, (u16, String)> {
    serde_json::to_value(value).map_err(|error| (500, error.to_string()))
}
