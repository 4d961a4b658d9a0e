//! C18: a host is stopped, not dead. Others take its work, and it comes back.

use super::{chat, crm, effects, shown, with, writes};
use crate::HOST;
use oncegate_test_database::Barrier;
use oncegate_tests::fleet::LEASE_MS;
use oncegate_tests::{Behaviour, Fleet, Service, eventually};
use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;

/// So long a host is stopped.
const STOPPED: Duration = Duration::from_millis(2 * LEASE_MS);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_stopped_between_intent_and_first_byte_sends_nothing_when_it_is_continued() {
    let destination = with(Service::crm()).await;
    let hosts = Fleet::start(HOST, &crm(&destination), 2).await;
    let mut barrier = Barrier::before_commits_to(&hosts.database, "attempts").await;
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    barrier.until_somebody_waits().await;
    // The intent becomes durable now, and its host does not hear of it.
    hosts[0].signal(Signal::STOP);
    barrier.open().await;
    tokio::time::sleep(STOPPED).await;
    hosts[0].signal(Signal::CONT);

    let run = hosts[1].settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!(destination.effects_total(), 1);
    let timeline = run["steps"][0]["timeline"].as_array().unwrap();
    let what: Vec<&str> = timeline.iter().filter_map(|attempt| attempt["what"].as_str()).collect();
    assert_eq!(what, ["tried", "asked", "sent again"], "{run:#}");
    assert_eq!(writes(&destination, "crm"), 1, "the first request never left");

    // It goes on under a new lease.
    assert_eq!(hosts[0].order("orders", "A-2").await.unwrap().status, 202);
    assert_eq!(hosts[0].settled("A-2").await["state"], "completed");
}

/// Nobody can be asked, so a person would have to decide; but the host that sent it comes back with the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_a_stopped_host_brings_back_settles_the_doubt() {
    let destination = with(Service::chat()).await;
    let hosts = Fleet::start(HOST, &chat(&destination, "20s"), 2).await;
    let answer = Behaviour {
        answer_after_ms: 1_000,
        ..Behaviour::usual()
    };
    destination.script_next("chat", [answer]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    effects(&destination, 1).await;
    hosts[0].signal(Signal::STOP);
    eventually("another host has taken the step over", || async {
        let run = shown(&hosts[1], "A-1").await;
        (run["steps"][0]["state"] == "retrying").then_some(())
    })
    .await;
    hosts[0].signal(Signal::CONT);

    let run = hosts[1].settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    let attempt = &run["steps"][0]["timeline"][0];
    assert!(attempt["outcome"].as_str().unwrap().starts_with("unknown"), "{run:#}");
    assert!(attempt["late"]["saw"].is_string(), "{run:#}");
    assert_eq!((destination.effects_total(), writes(&destination, "chat")), (1, 1));
    assert_eq!(run["reviews"], json!([]), "{run:#}");
}

/// It is stopped for longer than its request may take, and the answer is there when it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_waits_for_a_stopped_host_counts_after_the_time_of_the_request() {
    let destination = with(Service::chat()).await;
    let hosts = Fleet::start(HOST, &chat(&destination, "1s"), 2).await;
    let answer = Behaviour {
        answer_after_ms: 300,
        ..Behaviour::usual()
    };
    destination.script_next("chat", [answer]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    effects(&destination, 1).await;
    hosts[0].signal(Signal::STOP);
    let run = hosts[1].settled("A-1").await;
    assert_eq!(run["state"], "needs_review", "{run:#}");
    hosts[0].signal(Signal::CONT);
    eventually("the answer settles it", || async {
        let run = shown(&hosts[1], "A-1").await;
        (run["state"] == "completed").then_some(())
    })
    .await;
    assert_eq!((destination.effects_total(), writes(&destination, "chat")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_alone_goes_on_after_it_was_stopped() {
    let destination = with(Service::crm()).await;
    let hosts = Fleet::start(HOST, &crm(&destination), 1).await;
    destination.script_next("crm", [Behaviour::effect_then_silence(60_000)]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    effects(&destination, 1).await;
    hosts[0].signal(Signal::STOP);
    tokio::time::sleep(STOPPED).await;
    hosts[0].signal(Signal::CONT);
    let run = hosts[0].settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!((destination.effects_total(), writes(&destination, "crm")), (1, 1));
}
