//! Several hosts on one database: what one has begun another ends, and what one was told all know. Each host is a process of its
//! own, and its lease is as short as it may be.

mod late_answers;
mod people;
mod stopped;
mod taken_over;

use crate::{CHAT, CRM};
use oncegate_tests::wait::{effects, requests};
use oncegate_tests::{Connection, Destination, Folder, Service, orders};
use serde_json::Value;
use std::time::Duration;

/// Within so long after the end of a host's lease its work is in other hands.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);

/// A CRM that honours keys and can be asked soon.
fn crm(destination: &Destination) -> Folder {
    let crm = Connection::http("crm", &destination.origin("crm"))
        .timeout("2s")
        .writes("POST /contacts")
        .keyed("24h")
        .asked("2s");
    Folder::new().connection(&crm).flow("orders", &orders("orders", CRM))
}

/// A chat, which offers neither keys nor lookups.
fn chat(destination: &Destination, timeout: &str) -> Folder {
    let chat = Connection::chat(&destination.origin("chat")).timeout(timeout);
    Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT))
}

async fn with(service: Service) -> Destination {
    Destination::start([service]).await.unwrap()
}

/// How often a request that changes something was sent.
fn writes(destination: &Destination, service: &str) -> usize {
    let requests = destination.requests_of(service).into_iter();
    requests.filter(|seen| seen.method == "POST").count()
}

/// The run of a key, as a host shows it now.
async fn shown(host: &oncegate_tests::ChildHost, key: &str) -> Value {
    let runs = host.client.get(&format!("runs?text={key}")).await;
    let id = runs["items"][0]["id"].as_str().unwrap().to_owned();
    host.client.get(&format!("runs/{id}")).await
}
