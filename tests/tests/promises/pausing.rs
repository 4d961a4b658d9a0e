//! A person pauses a connection: its steps wait and burn nothing, over a restart too, until a person lets them go on.

use crate::{CHAT, HOST};
use oncegate::clock::Clock;
use oncegate_domain::run;
use oncegate_domain::step::{Review, State, Wait};
use oncegate_tests::{
    Behaviour, ChildHost, Connection, Destination, Folder, RunView, Service, TestHost, eventually, orders, request,
};
use serde_json::{Value, json};
use std::process::Command;

const HOUR_MS: i64 = 3_600_000;

fn folder(destination: &Destination) -> Folder {
    Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT))
}

fn is_paused(view: &RunView) -> bool {
    let paused = Wait::Paused;
    matches!(view.step("chat").state.state, State::Waiting { reason, .. } if reason == paused)
}

async fn change(host: &TestHost, verb: &str, reason: &str) -> Value {
    let path = format!("connections/chat/{verb}");
    let answer = host.client.post(&path, &json!({ "reason": reason })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_of_a_paused_connection_wait_over_a_restart_and_go_on_at_once_when_it_is_resumed() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let mut host = TestHost::start(&folder(&destination)).await;
    let paused = change(&host, "pause", "they move").await;
    assert_eq!((&paused["paused"], &paused["changed"]), (&json!(true), &json!(true)));
    let again = change(&host, "pause", "me too").await;
    assert_eq!(
        (&again["changed"], &again["paused_why"]),
        (&json!(false), &json!("they move"))
    );

    let mut runs = Vec::new();
    for n in 0..5 {
        runs.push(host.order("orders", &format!("A-{n}")).await);
    }
    for run in &runs {
        host.until(*run, is_paused).await;
    }
    host.restart().await;
    let late = host.order("orders", "A-late").await;
    host.until(late, is_paused).await;
    runs.push(late);
    host.clock.advance(23 * HOUR_MS as u64);

    let listed = host.client.get("connections").await["items"][0].clone();
    assert_eq!(
        (&listed["paused_by"], &listed["paused_why"]),
        (&json!("admin"), &json!("they move"))
    );
    let ready = request(host.client.address, "GET", "/readyz", &[], b"").await.unwrap();
    assert!(ready.text.contains("but 1 connection is paused"), "{ready:?}");
    let metrics = host.client.metrics().await;
    for line in [
        "oncegate_connections{state=\"paused\"} 1\n",
        "oncegate_events_total 6\n",
        "oncegate_runs{state=\"waiting\"} 6\n",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let stranger = request(host.client.address, "GET", "/metrics", &[], b"").await.unwrap();
    assert_eq!(stranger.status, 401, "{stranger:?}");
    assert_eq!(destination.count("chat").requests, 0);

    // No time passes: who waits is called, and does not wait for the moment until which it would.
    assert_eq!(change(&host, "resume", "").await["paused"], json!(false));
    for run in &runs {
        let view = host.until(*run, |view| view.state() == run::State::Completed).await;
        assert_eq!(view.step("chat").state.attempts, 1);
    }
    assert_eq!((destination.effects_total(), destination.duplicates()), (6, vec![]));
    assert_eq!(change(&host, "resume", "").await["changed"], json!(false));
    let trail = host.client.get("audit").await["items"].clone();
    assert_eq!(
        (&trail[0]["what"], &trail[0]["subject"]),
        (&json!("connection.resume"), &json!("chat"))
    );
    let unknown = host.client.post("connections/nobody/pause", &json!({})).await;
    assert_eq!(unknown.status, 404, "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_pause_longer_than_any_step_may_goes_to_a_person() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = TestHost::start(&folder(&destination)).await;
    change(&host, "pause", "").await;
    let ordered_ms = host.clock.now_ms();
    let run = host.order("orders", "A-1").await;
    let view = host.until(run, is_paused).await;
    assert_eq!(view.step("chat").due_ms, Some(ordered_ms + 24 * HOUR_MS));
    let view = host.settle(run).await;
    assert_eq!(view.reason("chat"), Review::WaitedTooLong);
    assert_eq!(view.step("chat").state.attempts, 0);
    assert_eq!(destination.count("chat").requests, 0);
}

/// A step that has its place and waits for its turn by the connection's own pace is no step on its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_reaches_those_who_wait_for_their_turn() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let slow = Connection::chat(&destination.origin("chat")).rate("1/10s");
    let host = TestHost::start(&folder(&destination).connection(&slow)).await;
    let first = host.order("orders", "A-1").await;
    host.until(first, |view| view.stands("chat") == "completed").await;
    let second = host.order("orders", "A-2").await;
    eventually("it has a place", || async {
        (host.inside().executor.seated() == 1).then_some(())
    })
    .await;
    change(&host, "pause", "").await;
    host.clock.advance(10_000);
    host.until(second, is_paused).await;
    assert_eq!(destination.count("chat").requests, 1);
    change(&host, "resume", "").await;
    host.clock.advance(10_000);
    host.settle(second).await;
    assert_eq!(destination.effects_total(), 2);
}

/// Retry-After reaches them as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_asks_to_be_left_alone_is_heeded_by_those_who_wait_for_their_turn() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let slow = Connection::chat(&destination.origin("chat")).rate("1/10s");
    let host = TestHost::start(&folder(&destination).connection(&slow)).await;
    let told = Behaviour {
        answer_after_ms: 300,
        ..Behaviour::retry_after("60")
    };
    destination.script_next("chat", [told]);
    let first = host.order("orders", "A-1").await;
    let second = host.order("orders", "A-2").await;
    eventually("both have a place", || async {
        (host.inside().executor.seated() == 2).then_some(())
    })
    .await;
    host.until(first, |view| view.stands("chat") == "waiting").await;
    host.clock.advance(10_000);
    let view = host.until(second, |view| view.stands("chat") == "waiting").await;
    assert_eq!(view.step("chat").state.attempts, 0);
    assert_eq!(destination.count("chat").requests, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_pauses_and_resumes() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = ChildHost::start(HOST, &folder(&destination)).await;
    let said = |args: &[&str]| {
        let mut command = Command::new(HOST);
        let output = command
            .arg("--data")
            .arg(host.data())
            .arg("connection")
            .args(args)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(said(&["pause", "chat", "--reason", "they move"]).contains("connection chat is paused;"));
    assert!(said(&["pause", "chat"]).contains("connection chat is paused already, since"));
    assert!(said(&["list", "--json"]).contains("\"paused_why\":\"they move\""));
    assert!(said(&["resume", "chat"]).contains("connection chat goes on"));
    assert!(said(&["resume", "chat"]).contains("connection chat is not paused"));
}
