//! Retention and forgetting: payloads and answers go, and a late duplicate is known all the same.

use crate::{CHAT, HOST};
use oncegate::api::token_hash;
use oncegate::ledger::NewToken;
use oncegate_domain::id::Id;
use oncegate_tests::{
    Behaviour, Client, Connection, Destination, Folder, Service, TestHost, eventually, orders, run_of,
};
use serde_json::{Value, json};
use std::process::{Command, Output};

const DAYS_91_MS: u64 = 91 * 24 * 3_600_000;

/// A host whose senders are answered with the result, and another flow whose senders are not.
async fn host() -> (Destination, TestHost) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let hook = "key = \"{{ body.order.id }}\"";
    let answered = orders("answered", CHAT).replace(hook, &format!("{hook}\nrespond = \"result\""));
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT))
        .flow("answered", &answered);
    let host = TestHost::start(&folder).await;
    (destination, host)
}

/// The run as the API shows it, once it is erased.
async fn erased(host: &TestHost, run: Id) -> Value {
    eventually("the run is erased", || async {
        let shown = host.client.get(&format!("runs/{run}")).await;
        shown["erased_at"].is_string().then_some(shown)
    })
    .await
}

fn command(host: &TestHost, arguments: &[&str]) -> Output {
    let mut command = Command::new(HOST);
    command.arg("--data").arg(host.data()).args(arguments);
    tokio::task::block_in_place(|| command.output().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_ninety_days_payloads_and_answers_are_gone_and_a_duplicate_is_known() {
    let (destination, host) = host().await;
    let first = host.deliver("answered", r#"{"order":{"id":"anna-1"}}"#).await;
    assert_eq!((first.status, &first.json()["result_erased_at"]), (200, &Value::Null));
    let run = run_of(&first);
    host.clock.advance(DAYS_91_MS - 24 * 3_600_000 - 60_000);
    let again = host.deliver("answered", r#"{"order":{"id":"anna-1"}}"#).await;
    assert_eq!(again.json()["result"], first.json()["result"]);

    host.clock.advance(24 * 3_600_000 + 60_000);
    let shown = erased(&host, run).await;
    assert!(!shown.to_string().contains("anna"), "{shown}");
    assert_eq!((&shown["key"], &shown["event"]["body"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (shown["state"].as_str(), shown["steps"][0]["state"].as_str()),
        (Some("completed"), Some("completed"))
    );
    let told = command(&host, &["run", "show", &run.to_string()]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("(erased)") && told.contains("erased   on "), "{told}");

    let late = host.deliver("answered", r#"{"order":{"id":"anna-1"}}"#).await;
    let expected = json!({ "run": run.to_string(), "state": "completed", "duplicate": true, "result": null,
        "result_erased_at": shown["erased_at"] });
    assert_eq!((late.status, late.json()), (200, expected));
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_content_under_an_erased_key_is_still_a_conflict_and_can_be_run() {
    let (destination, host) = host().await;
    let run = host.order("orders", "A-1").await;
    host.settle(run).await;
    host.clock.advance(DAYS_91_MS);
    erased(&host, run).await;
    let cancelled = host
        .client
        .post(&format!("runs/{run}/cancel"), &json!({ "reason": "late" }))
        .await;
    assert!(
        cancelled.status == 409 && cancelled.text.contains("nothing of run"),
        "{cancelled:?}"
    );

    let other = host
        .deliver("orders", r#"{"order":{"id":"A-1"},"status":"paid"}"#)
        .await;
    assert_eq!((&other.json()["conflict"], run_of(&other)), (&json!(true), run));
    assert_eq!(destination.effects_total(), 1);
    let item = host.review().await;
    let decided = host.decide(&item, "run", json!({ "reason": "another event" })).await;
    assert_eq!(decided.status, 200, "{decided:?}");
    eventually("it is carried out", || async {
        (destination.effects_total() == 2).then_some(())
    })
    .await;
    let runs = host.client.get("runs?text=A-1").await;
    let key = runs["items"][0]["key"].as_str().unwrap();
    assert!(key.contains("A-1") && key.contains("another event"), "{runs}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_front_of_a_person_is_kept_for_as_long_as_it_takes() {
    let (destination, host) = host().await;
    destination.script_next("chat", [Behaviour::reset_after_all()]);
    let run = host.order("orders", "A-1").await;
    host.settle(run).await;
    let done = host.order("orders", "A-2").await;
    host.settle(done).await;
    host.clock.advance(4 * DAYS_91_MS);
    erased(&host, done).await;
    let item = host.review().await;
    let more = json!({ "reason": "looked it up", "stated_absent": true });
    let decided = host.decide(&item, "retry", more).await;
    assert_eq!(decided.status, 200, "{decided:?}");
    host.settle(run).await;
    let texts: Vec<String> = destination
        .effects_in_full()
        .into_iter()
        .map(|effect| effect.body)
        .collect();
    assert_eq!(texts, [r#"{"text":"Order A-2"}"#, r#"{"text":"Order A-1"}"#]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_forgotten_by_command_and_what_must_end_first_is_told() {
    let (destination, host) = host().await;
    let hers = host.order("orders", "anna").await;
    host.settle(hers).await;
    let bobs = host.order("orders", "bob").await;
    host.settle(bobs).await;
    destination.script_next("chat", [Behaviour::reset_after_all()]);
    let in_review = host.order("answered", "anna").await;
    host.settle(in_review).await;
    let forget = ["forget", "--context", "order=anna"];

    let dry = command(&host, &[forget.as_slice(), &["--dry-run"]].concat());
    let said = String::from_utf8(dry.stdout).unwrap();
    assert!(said.contains("1 runs would be erased, out of 3"), "{said}");
    assert_eq!(host.client.get(&format!("runs/{hers}")).await["erased_at"], Value::Null);

    let done = command(&host, &forget);
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(!done.status.success(), "not all of it: {said}");
    assert!(
        said.contains("1 runs were erased") && said.contains(&format!("run {in_review}: it is in front")),
        "{said}"
    );
    let shown = erased(&host, hers).await;
    assert_eq!(shown["audit"][0]["what"], "run.forget");
    assert!(!shown.to_string().contains("anna"), "{shown}");
    assert_eq!(host.client.get(&format!("runs/{bobs}")).await["key"], "bob");
    let audit = host.client.get("audit").await.to_string();
    assert!(audit.contains("order hmac:") && !audit.contains("anna"), "{audit}");

    let item = host.review().await;
    host.decide(&item, "discard", json!({ "reason": "not needed" })).await;
    let done = command(&host, &forget);
    assert!(done.status.success(), "{done:?}");
    erased(&host, in_review).await;
    let again = host.deliver("orders", r#"{"order":{"id":"anna"}}"#).await;
    assert_eq!((&again.json()["duplicate"], run_of(&again)), (&json!(true), hers));
    assert_eq!(destination.effects_total(), 2);
    assert!(!command(&host, &["forget", "--context", "order"]).status.success());
    let empty = json!({ "context": [{ "name": "order", "value": "" }] });
    assert_eq!(host.client.post("forget", &empty).await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_an_admin_can_forget() {
    let (_destination, host) = host().await;
    let token = NewToken {
        name: "ada".to_owned(),
        hash: token_hash("of-an-operator"),
        role: "operator".to_owned(),
        expires_ms: None,
        at_ms: 0,
    };
    host.inside().ledger.save_token(token).await.unwrap();
    let client = Client {
        token: "of-an-operator".to_owned(),
        ..host.client.clone()
    };
    let asked = json!({ "context": [{ "name": "order", "value": "anna" }] });
    let refused = client.post("forget", &asked).await;
    assert!(
        refused.status == 403 && refused.text.contains("role admin"),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflicting_delivery_is_found_by_what_it_says_itself() {
    let (_destination, host) = host().await;
    let run = host.taken_in("orders", &json!({ "order": { "id": "A-1" } })).await;
    host.settle(run).await;
    host.taken_in("orders", &json!({ "order": { "id": "A-1" }, "more": 1 }))
        .await;
    let forget = ["forget", "--context", "order=A-1"];
    let refused = command(&host, &forget);
    let said = String::from_utf8(refused.stdout).unwrap();
    let item = host.review().await;
    assert!(
        said.contains(&format!("review item {}: waits for a person", item.id)),
        "{said}"
    );
    host.decide(&item, "ignore", json!({ "reason": "the same" })).await;
    let done = command(&host, &forget);
    assert!(done.status.success(), "{done:?}");
    let shown = host.client.get(&format!("review/{}", item.id)).await;
    assert!(shown["conflicting_event"]["erased_at"].is_string(), "{shown}");
    assert!(!shown["run_detail"].to_string().contains("A-1"), "{shown}");
}
