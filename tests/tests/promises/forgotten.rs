//! A ledger that was set back sends nothing a second time: what it does not know it did begins in doubt (DESIGN section 8).

use crate::{CHAT, CRM, MAIL};
use oncegate_domain::doubt::Unsettled;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, LedgerCopy, Service, TestHost, about_step, orders};
use serde_json::{Value, json};

const REASON: &str = "looked at the destination";

/// A destination that can be asked and knows no keys, one that honours keys and cannot be asked, one that offers neither.
async fn destination() -> Destination {
    let services = [Service::crm(), Service::mailer(), Service::chat()];
    Destination::start(services).await.unwrap()
}

fn folder(destination: &Destination) -> Folder {
    let crm = Connection::http("crm", &destination.origin("crm"))
        .writes("POST /contacts")
        .trust("dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"unknown\" }")
        .asked("10s");
    Folder::new()
        .connection(&crm)
        .connection(&Connection::mailer(&destination.origin("mailer")))
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("crm", &orders("crm", CRM))
        .flow("mail", &orders("mail", MAIL))
        .flow("chat", &orders("chat", CHAT))
}

/// Goes down, is copied, and comes up again.
async fn back_up(host: &mut TestHost) -> LedgerCopy {
    host.stop().await;
    let copy = host.copy_ledger().await;
    host.come_up().await;
    copy
}

/// Goes down, is set back, and comes up again in reconcile.
async fn set_back(host: &mut TestHost, copy: LedgerCopy) {
    host.stop().await;
    host.put_ledger_back(copy).await;
    host.come_up().await;
    assert_eq!(host.client.get("ledger").await["memory"], "reconcile");
}

async fn completed(host: &TestHost, hook: &str, id: &str) -> Id {
    let run = host.order(hook, id).await;
    assert_eq!(host.settle(run).await.state(), run::State::Completed, "{hook} {id}");
    run
}

/// The event is taken in as a new one, for its run is forgotten.
async fn again(host: &TestHost, hook: &str, id: &str) -> Id {
    let answer = host.deliver(hook, &json!({ "order": { "id": id } }).to_string()).await;
    assert_eq!(
        (answer.status, &answer.json()["duplicate"]),
        (202, &Value::Bool(false)),
        "{answer:?}"
    );
    oncegate_tests::run_of(&answer)
}

async fn say(host: &TestHost, verb: &str) {
    let answer = host
        .client
        .post(&format!("ledger/{verb}"), &json!({ "reason": REASON }))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["memory"], "whole");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_event_that_comes_again_has_one_effect_or_stands_before_a_person() {
    let destination = destination().await;
    let mut host = TestHost::start(&folder(&destination)).await;
    completed(&host, "crm", "A-0").await;
    let copy = back_up(&mut host).await;
    for hook in ["crm", "mail", "chat"] {
        completed(&host, hook, "A-1").await;
    }
    let effects = destination.effects_total();
    set_back(&mut host, copy).await;
    // What is remembered is known as before.
    let known = host
        .deliver("crm", &json!({ "order": { "id": "A-0" } }).to_string())
        .await;
    assert_eq!(known.json()["duplicate"], true);

    // Asked, the destination has it.
    let crm = again(&host, "crm", "A-1").await;
    let crm = host.settle(crm).await;
    assert_eq!(
        (crm.state(), crm.step("crm").reference.is_some()),
        (run::State::Completed, true)
    );
    // Under the same key it is a replay.
    let mail = again(&host, "mail", "A-1").await;
    assert_eq!(host.settle(mail).await.state(), run::State::Completed);
    assert_eq!(destination.count("mailer").replays, 1);
    // Where neither is there, a person decides, and nothing was sent.
    let chat = again(&host, "chat", "A-1").await;
    assert_eq!(host.settle(chat).await.state(), run::State::NeedsReview);
    let item = host.review().await;
    assert_eq!(about_step(&item), (Review::Doubt(Unsettled::Forgotten), true));
    let click = host.decide(&item, "retry", json!({})).await;
    assert_eq!(click.status, 409, "no click alone sends it: {click:?}");
    let resolved = host.decide(&item, "resolve", json!({ "reason": REASON })).await;
    assert_eq!(resolved.status, 200, "{resolved:?}");
    assert_eq!(host.settle(chat).await.state(), run::State::Completed);

    assert_eq!(destination.effects_total(), effects, "nothing happened twice");
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_reconcile_events_are_carried_out_as_far_as_that_is_safe_and_then_life_goes_on() {
    let destination = destination().await;
    let mut host = TestHost::start(&folder(&destination)).await;
    let copy = back_up(&mut host).await;
    completed(&host, "crm", "A-0").await;
    set_back(&mut host, copy).await;
    let ready = oncegate_tests::request(host.client.address, "GET", "/readyz", &[], b"")
        .await
        .unwrap();
    assert_eq!(ready.status, 200, "events are taken in");
    assert!(ready.text.contains("may have forgotten"), "{ready:?}");

    let crm = again(&host, "crm", "A-1").await;
    assert_eq!(host.settle(crm).await.state(), run::State::Completed);
    let of_crm = destination.requests_of("crm");
    let methods: Vec<&str> = of_crm.iter().map(|request| request.method.as_str()).collect();
    assert_eq!(
        methods,
        ["POST", "GET", "GET", "POST"],
        "absent twice, then the one request"
    );
    let mail = again(&host, "mail", "A-1").await;
    assert_eq!(host.settle(mail).await.state(), run::State::Completed);
    let chat = again(&host, "chat", "A-1").await;
    host.settle(chat).await;
    let checked = json!({ "reason": REASON, "stated_absent": true });
    let retried = host.decide(&host.review().await, "retry", checked).await;
    assert_eq!(retried.status, 200, "{retried:?}");
    assert_eq!(host.settle(chat).await.state(), run::State::Completed, "once is enough");

    say(&host, "end").await;
    completed(&host, "chat", "A-2").await;
    assert_eq!(destination.count("chat").effects_total, 2);
    let trail = host.client.get("audit").await;
    let lines = trail["items"].as_array().unwrap();
    assert!(
        lines.iter().any(|line| line["what"] == "ledger.reconciled"),
        "{trail:#}"
    );
    host.restart().await;
    completed(&host, "chat", "A-3").await;
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waited_when_the_ledger_was_copied_may_have_been_sent_since() {
    let destination = destination().await;
    let mut host = TestHost::start(&folder(&destination)).await;
    destination.script_next("chat", [Behaviour::status(429)]);
    destination.script_next("crm", [Behaviour::status(429)]);
    let (chat, crm) = (host.order("chat", "A-1").await, host.order("crm", "A-1").await);
    host.until(chat, |run| run.stands("chat") == "waiting").await;
    host.until(crm, |run| run.stands("crm") == "waiting").await;
    let copy = back_up(&mut host).await;
    for run in [chat, crm] {
        assert_eq!(host.settle(run).await.state(), run::State::Completed);
    }
    let effects = destination.effects_total();
    set_back(&mut host, copy).await;

    assert_eq!(
        host.settle(crm).await.state(),
        run::State::Completed,
        "it is found there"
    );
    assert_eq!(host.settle(chat).await.state(), run::State::NeedsReview);
    assert_eq!(destination.effects_total(), effects);
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_in_reconcile_it_is_settled_first() {
    let destination = destination().await;
    let mut host = TestHost::start(&folder(&destination)).await;
    destination.script_next("crm", [Behaviour::status(422)]);
    let crm = host.order("crm", "A-1").await;
    assert_eq!(host.settle(crm).await.state(), run::State::NeedsReview);
    let copy = back_up(&mut host).await;
    let item = host.review().await;
    assert_eq!(host.decide(&item, "retry", json!({})).await.status, 200);
    assert_eq!(host.settle(crm).await.state(), run::State::Completed);
    set_back(&mut host, copy).await;

    // Back in front of a person as something that does not exist.
    let why = json!({ "reason": "not wanted" });
    let cancelled = host.client.post(&format!("runs/{crm}/cancel"), &why).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    assert_eq!(
        host.settle(crm).await.state(),
        run::State::Completed,
        "it exists, and is not called cancelled"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_to_another_disk_it_takes_events_in_and_begins_at_one_word() {
    let destination = destination().await;
    let mut host = TestHost::start_embedded(&folder(&destination)).await;
    destination.script_next("chat", [Behaviour::status(429)]);
    let waiting = host.order("chat", "A-1").await;
    host.until(waiting, |run| run.stands("chat") == "waiting").await;
    host.stop().await;
    host.move_ledger();
    host.come_up().await;

    let notice = host.client.get("ledger").await["notice"].as_str().unwrap().to_owned();
    assert!(notice.contains("oncegate ledger moved --reason"), "{notice}");
    let fresh = host.order("mail", "A-2").await;
    host.clock.advance(3_600_000);
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(
        destination.effects_total(),
        0,
        "nothing is sent until somebody says which"
    );
    assert_eq!(host.run(fresh).await.state(), run::State::Pending);

    say(&host, "moved").await;
    for run in [waiting, fresh] {
        assert_eq!(host.settle(run).await.state(), run::State::Completed);
    }
    assert_eq!(host.reviews().await.len(), 0, "nobody had to decide anything");
    assert_eq!(destination.duplicates(), []);
}
