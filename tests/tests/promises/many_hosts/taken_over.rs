//! A host that is killed or stops in order: others go on with what it had begun.

use super::{TAKEN_WITHIN, chat, crm, effects, requests, shown, with, writes};
use crate::{HOST, PUPPET};
use oncegate_tests::fleet::LEASE_MS;
use oncegate_tests::{Behaviour, Connection, Fleet, Folder, Rule, Service, eventually, orders};
use serde_json::json;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_killed_in_the_middle_of_a_request_is_taken_over_and_there_is_one_effect() {
    let destination = with(Service::crm()).await;
    let mut hosts = Fleet::start(HOST, &crm(&destination), 2).await;
    destination.script_next("crm", [Behaviour::effect_then_silence(60_000)]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    effects(&destination, 1).await;
    hosts[0].kill();

    let taken = eventually("another host has taken the step over", || async {
        let run = shown(&hosts[1], "A-1").await;
        (run["steps"][0]["state"] != "processing").then_some(())
    });
    let within = Duration::from_millis(LEASE_MS) + TAKEN_WITHIN;
    tokio::time::timeout(within, taken)
        .await
        .expect("it is taken over in time");
    let run = hosts[1].settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!(run["steps"][0]["reference"], "crm-1", "{run:#}");
    assert_eq!((destination.effects_total(), writes(&destination, "crm")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_can_be_asked_a_person_decides_about_what_a_killed_host_may_have_sent() {
    let destination = with(Service::chat()).await;
    let mut hosts = Fleet::start(HOST, &chat(&destination, "1s"), 2).await;
    destination.script_next("chat", [Behaviour::effect_then_silence(60_000)]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    effects(&destination, 1).await;
    hosts[0].kill();

    let run = hosts[1].settled("A-1").await;
    assert_eq!(run["state"], "needs_review", "{run:#}");
    assert_eq!(run["reviews"][0]["effect_may_exist"], true);
    assert_eq!((destination.effects_total(), writes(&destination, "chat")), (1, 1));
}

/// A host alone would send this again: the same request leaves the same state. But the other one may only be stopped, and its
/// request may still come: then a newer value could be overwritten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_keys_what_another_host_may_have_sent_is_not_sent_again_by_itself() {
    let destination = with(Service::address_book()).await;
    let book = Connection::puppet("puppet", &destination.origin("book"))
        .timeout("1s")
        .settings(
            "script = [{ op = \"send\", path = \"/contacts\", json = { email = \"ada@example.com\", phone = \"+49 2\" } }, \
             { op = \"judge\" }]",
        )
        .trust("dedup = { kind = \"natural\", key = [\"/email\"] }")
        .writes("POST /contacts");
    let folder = Folder::new()
        .connection(&book)
        .flow("orders", &orders("orders", PUPPET));
    let mut hosts = Fleet::start(HOST, &folder, 2).await;
    destination.script_next("book", [Behaviour::hang_before_effect(60_000)]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    requests(&destination, "book", 1).await;
    hosts[0].kill();

    let run = hosts[1].settled("A-1").await;
    assert_eq!(run["state"], "needs_review", "{run:#}");
    let reason = run["reviews"][0].to_string();
    assert!(reason.contains("sent by another host"), "{run:#}");
    assert_eq!(writes(&destination, "book"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_stops_in_order_hands_its_work_over_at_once() {
    let destination = with(Service::chat()).await;
    let mut hosts = Fleet::start(HOST, &chat(&destination, "5s"), 2).await;
    // It waits for longer than the first host lives.
    destination.script_next("chat", [Behaviour::retry_after("1")]);
    assert_eq!(hosts[0].order("orders", "A-1").await.unwrap().status, 202);
    requests(&destination, "chat", 1).await;
    assert!(hosts[0].terminate().await);

    let done = hosts[1].settled("A-1");
    let run = tokio::time::timeout(Duration::from_millis(LEASE_MS) + TAKEN_WITHIN, done).await;
    let run = run.expect("another host goes on with it");
    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!((destination.effects_total(), writes(&destination, "chat")), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backlog_of_a_killed_host_is_shared_by_the_others_and_each_event_has_one_effect() {
    let destination = with(Service::crm()).await;
    let mut hosts = Fleet::start(HOST, &crm(&destination), 3).await;
    destination.script(Rule::always("crm", Behaviour::retry_after("3")).times(4));
    for number in 0..40 {
        assert_eq!(
            hosts[0].order("orders", &format!("A-{number}")).await.unwrap().status,
            202
        );
    }
    hosts[0].kill();
    let all = eventually("all are done", || async {
        let runs = hosts[2].client.get("runs?state=completed&limit=100").await;
        (runs["items"].as_array()?.len() == 40).then_some(())
    });
    all.await;
    // What comes back finds nothing left, and works on.
    hosts.come_up(0).await;
    assert_eq!(hosts[0].order("orders", "B-1").await.unwrap().status, 202);
    assert_eq!(hosts[0].settled("B-1").await["state"], "completed");
    assert_eq!(destination.effects_total(), 41);
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_arrives_at_another_host_joins_the_first() {
    let destination = with(Service::crm()).await;
    let hosts = Fleet::start(HOST, &crm(&destination), 2).await;
    let first = hosts[0].order("orders", "A-1").await.unwrap();
    let again = hosts[1].order("orders", "A-1").await.unwrap();
    assert_eq!((first.status, again.status), (202, 202), "{again:?}");
    assert_eq!(again.json()["duplicate"], json!(true));
    assert_eq!(again.json()["run"], first.json()["run"]);
    assert_eq!(hosts[1].settled("A-1").await["state"], "completed");
    assert_eq!(destination.effects_total(), 1);
}
