//! C2 and C4: SIGKILL, in a process of its own, at the moments that matter. Counter = 1 in every branch.

use crate::{CHAT, CRM, HOST, MAIL};
use oncegate_tests::wait::{effects, requests};
use oncegate_tests::{Behaviour, ChildHost, Connection, Destination, Folder, Rule, Service, eventually, orders};
use serde_json::json;

/// The exchange's limit is long enough that only the kill ends it, and short enough to wait for what follows from it:
/// after a kill the exchange counts as over at `send_by` (5 s) plus this.
const TIMEOUT: &str = "2s";

fn crm(destination: &Destination) -> Folder {
    let crm = Connection::http("crm", &destination.origin("crm"))
        .timeout(TIMEOUT)
        .writes("POST /contacts")
        .keyed("24h")
        .asked("2s");
    let steps = CRM.replace(
        "[steps.with]",
        "retry = { attempts = 2, first = \"200ms\" }\n[steps.with]",
    );
    Folder::new().connection(&crm).flow("orders", &orders("orders", &steps))
}

/// Delivers an order and kills the host as soon as `when` has come.
async fn kill_when(host: &mut ChildHost, id: &str, when: impl Future<Output = ()>) {
    let answer = host.order("orders", id).await.unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
    when.await;
    host.kill();
}

/// Also C4: what was accepted is there after the kill, and a redelivery is a duplicate of what does complete.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_accepted_survives_a_kill_right_after_the_2xx() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let mut host = ChildHost::start(HOST, &crm(&destination)).await;
    for n in 0..4 {
        kill_when(&mut host, &format!("A-{n}"), async {}).await;
        host.come_up().await;
        let again = host.order("orders", &format!("A-{n}")).await.unwrap();
        assert_eq!(
            (again.status, &again.json()["duplicate"]),
            (202, &true.into()),
            "{again:?}"
        );
    }
    for n in 0..4 {
        let run = host.settled(&format!("A-{n}")).await;
        assert_eq!(run["state"], "completed", "{run:#}");
    }
    assert_eq!(destination.effects_total(), 4);
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_the_intent_the_destination_says_absent_and_the_same_request_is_sent_once() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let mut host = ChildHost::start(HOST, &crm(&destination)).await;
    destination.script_next("crm", [Behaviour::hang_before_effect(60_000)]);
    kill_when(&mut host, "A-1", requests(&destination, "crm", 1)).await;
    host.come_up().await;

    let run = host.settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!(destination.effects_total(), 1);
    let sent: Vec<_> = destination
        .requests_of("crm")
        .into_iter()
        .filter(|seen| seen.method == "POST")
        .collect();
    assert_eq!(sent.len(), 2, "one resend");
    assert_eq!(sent[0].header("idempotency-key"), sent[1].header("idempotency-key"));
    assert_eq!(sent[0].body, sent[1].body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_the_effect_the_destination_is_asked_and_nothing_is_sent_again() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let mut host = ChildHost::start(HOST, &crm(&destination)).await;
    destination.script_next("crm", [Behaviour::effect_then_silence(60_000)]);
    kill_when(&mut host, "A-1", effects(&destination, 1)).await;
    host.come_up().await;

    let run = host.settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!(run["steps"][0]["reference"], "crm-1");
    assert_eq!(destination.effects_total(), 1);
    let sent = destination
        .requests_of("crm")
        .into_iter()
        .filter(|seen| seen.method == "POST")
        .count();
    assert_eq!(sent, 1, "no resend");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_the_effect_a_silent_destination_ends_in_front_of_a_person() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let crm = Connection::http("crm", &destination.origin("crm"))
        .timeout("1s")
        .writes("POST /contacts")
        .trust("dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"unknown\" }")
        .asked("1s");
    let steps = CRM.replace(
        "[steps.with]",
        "retry = { attempts = 2, first = \"200ms\" }\n[steps.with]",
    );
    let folder = Folder::new().connection(&crm).flow("orders", &orders("orders", &steps));
    let mut host = ChildHost::start(HOST, &folder).await;
    destination.script_next("crm", [Behaviour::effect_then_silence(60_000)]);
    destination.script(Rule::always("crm", Behaviour::hang_before_effect(60_000)).reads());
    kill_when(&mut host, "A-1", effects(&destination, 1)).await;
    host.come_up().await;

    let run = host.settled("A-1").await;
    assert_eq!(run["state"], "needs_review", "{run:#}");
    assert_eq!(run["reviews"][0]["effect_may_exist"], true);
    assert_eq!(destination.effects_total(), 1);
    let sent = destination
        .requests_of("crm")
        .into_iter()
        .filter(|seen| seen.method == "POST")
        .count();
    assert_eq!(sent, 1, "no resend");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_the_effect_a_key_makes_the_resend_a_replay() {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let mail = Connection::mailer(&destination.origin("mailer")).timeout(TIMEOUT);
    let folder = Folder::new().connection(&mail).flow("orders", &orders("orders", MAIL));
    let mut host = ChildHost::start(HOST, &folder).await;
    destination.script_next("mailer", [Behaviour::effect_then_silence(60_000)]);
    kill_when(&mut host, "A-1", effects(&destination, 1)).await;
    host.come_up().await;

    let run = host.settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    let count = destination.count("mailer");
    assert_eq!((count.effects_total, count.replays), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_the_effect_where_nothing_can_be_asked_a_person_decides() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat")).timeout(TIMEOUT);
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    let mut host = ChildHost::start(HOST, &folder).await;
    destination.script_next("chat", [Behaviour::effect_then_silence(60_000)]);
    kill_when(&mut host, "A-1", effects(&destination, 1)).await;
    host.come_up().await;

    let run = host.settled("A-1").await;
    assert_eq!(run["state"], "needs_review", "{run:#}");
    assert_eq!(run["reviews"][0]["effect_may_exist"], true);
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 1)
    );
}

/// A 401 proves that nothing was done, and is remembered before anybody is asked what it is about: a host that dies before
/// the answer leaves no doubt, and what was refused can be cancelled at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_it_asks_what_a_401_is_about_nothing_is_in_doubt() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat"))
        .timeout("60s")
        .probe("/account");
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    let mut host = ChildHost::start(HOST, &folder).await;
    destination.script(Rule::always("chat", Behaviour::hang_before_effect(600_000)).reads());
    destination.script(Rule::always("chat", Behaviour::status(401)));
    kill_when(&mut host, "A-1", requests(&destination, "chat", 2)).await;
    host.come_up().await;

    let listed = host.client.get("runs?text=A-1").await;
    let path = format!("runs/{}", listed["items"][0]["id"].as_str().unwrap());
    // Where hosts share the ledger, one that comes up has not been told of a block, and tries again first.
    let step = eventually("the step waits", || async {
        let step = host.client.get(&path).await["steps"][0].clone();
        (step["state"] == "waiting").then_some(step)
    });
    let step = step.await;
    assert_eq!(
        (&step["attempts"], &step["in_doubt_since"]),
        (&json!(0), &json!(null)),
        "{step:#}"
    );
    let why = json!({ "reason": "not wanted" });
    assert_eq!(host.client.post(&format!("{path}/cancel"), &why).await.status, 200);
    assert_eq!(host.settled("A-1").await["state"], "cancelled");
    assert_eq!(destination.effects_total(), 0);
    if !oncegate_test_database::is_asked_for() {
        assert_eq!(
            destination.writes_of("chat"),
            1,
            "a host that is alone remembers what its step waits for"
        );
    }
}
