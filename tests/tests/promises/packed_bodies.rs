//! Bodies that come packed are kept as they were sent, and read by everybody who needs what is in them.

use crate::CHAT;
use flate2::Compression;
use flate2::write::GzEncoder;
use oncegate_domain::run;
use oncegate_tests::{
    Answer, Behaviour, Connection, Destination, Folder, HOOK_SECRET, Service, TestHost, orders, run_of,
};
use serde_json::{Value, json};
use std::io::Write;

async fn host() -> (Destination, TestHost) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let steps = CHAT.replace("Order {{ body.order.id }}", "{{ body.order.id }} is {{ body.status }}");
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", &steps));
    let host = TestHost::start(&folder).await;
    (destination, host)
}

fn order(status: &str) -> String {
    json!({ "order": { "id": "A-1" }, "status": status }).to_string()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

async fn deliver(host: &TestHost, encoding: &str, body: &[u8]) -> Answer {
    let bearer = format!("Bearer {HOOK_SECRET}");
    let headers = [
        ("content-type", "application/json"),
        ("content-encoding", encoding),
        ("authorization", bearer.as_str()),
    ];
    host.client.deliver_with("orders", &headers, body).await.unwrap()
}

/// What the destination was told, in order.
fn texts(destination: &Destination) -> Vec<String> {
    let effects = destination.effects_in_full().into_iter();
    let body = |body: String| serde_json::from_str::<Value>(&body).unwrap();
    effects
        .map(|effect| body(effect.body)["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_packed_body_runs_is_kept_to_the_byte_and_is_shown_as_text() {
    let (destination, host) = host().await;
    let (text, sent) = (order("paid"), gzip(&order("paid")));
    let answer = deliver(&host, "gzip", &sent).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let view = host.settle(run_of(&answer)).await;
    assert_eq!(
        (view.state(), texts(&destination)),
        (run::State::Completed, vec!["A-1 is paid".to_owned()])
    );
    assert_eq!(view.0.event.body.bytes, sent);
    let event = &host.client.get(&format!("runs/{}", view.0.run.id)).await["event"];
    assert_eq!(
        (&event["body"], &event["content_encoding"]),
        (&json!(text), &json!("gzip"))
    );

    // It is what is in it that tells one event from another.
    let plain = deliver(&host, "identity", text.as_bytes()).await;
    assert_eq!(
        (plain.json()["duplicate"].clone(), run_of(&plain)),
        (json!(true), view.0.run.id)
    );
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_packed_body_is_read_again_after_a_restart() {
    let (destination, mut host) = host().await;
    destination.script_next("chat", [Behaviour::retry_after("120")]);
    let answer = deliver(&host, "gzip", &gzip(&order("paid"))).await;
    let run = run_of(&answer);
    host.until(run, |view| view.stands("chat") == "waiting").await;
    assert_eq!(destination.effects_total(), 0);

    host.restart().await;
    let view = host.settle(run).await;
    assert_eq!(
        (view.state(), texts(&destination)),
        (run::State::Completed, vec!["A-1 is paid".to_owned()])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_packed_conflict_is_shown_and_runs_once_a_person_says_that_it_is_another_event() {
    let (destination, mut host) = host().await;
    let run = run_of(&deliver(&host, "gzip", &gzip(&order("pending"))).await);
    host.settle(run).await;
    let sent = gzip(&order("paid"));
    let answer = deliver(&host, "gzip", &sent).await;
    assert_eq!(answer.json()["conflict"], true, "{answer:?}");

    // Nothing of either event is in memory any more.
    host.restart().await;
    let item = host.review().await;
    let shown = host.client.get(&format!("review/{}", item.id)).await;
    assert_eq!(shown["conflicting_event"]["body"], order("paid"));
    assert_eq!(shown["run_detail"]["event"]["body"], order("pending"));
    let kept = host.inside().ledger.review_show(item.id).await.unwrap().unwrap();
    assert_eq!(kept.conflicting.unwrap().body.bytes, sent);

    let decided = host.decide(&item, "run", json!({ "reason": "another event" })).await;
    assert_eq!(decided.status, 200, "{decided:?}");
    let done = destination.until(|tally| tally.effects_total == 2);
    tokio::time::timeout(oncegate_tests::wait::PATIENCE, done)
        .await
        .unwrap();
    assert_eq!(texts(&destination), ["A-1 is pending", "A-1 is paid"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_packed_otherwise_or_not_at_all_is_refused_and_nothing_is_stored() {
    let (_destination, host) = host().await;
    let paid = order("paid");
    let bomb = gzip(&json!({ "order": { "id": "A-1" }, "filler": "x".repeat(2 << 20) }).to_string());
    assert!(bomb.len() < 10_000, "{}", bomb.len());
    for (encoding, body, status) in [
        ("gzip", paid.as_bytes(), 400),
        ("identity", &gzip(&paid), 400),
        ("br", paid.as_bytes(), 415),
        ("gzip", &bomb, 413),
    ] {
        let answer = deliver(&host, encoding, body).await;
        assert_eq!(answer.status, status, "{encoding}: {answer:?}");
    }
    assert_eq!(host.client.get("counts").await["events"], 0);
}
