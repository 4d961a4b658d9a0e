//! Two hosts on one database: what is changed, found out or asked for at one holds at the other.

use crate::CHAT;
use oncegate::clock::Clock;
use oncegate_domain::run;
use oncegate_domain::step::{State, Wait};
use oncegate_test_database::{Fault, Wire};
use oncegate_tests::{
    Behaviour, Connection, Destination, Folder, Rule, RunView, Service, TestHost, eventually, orders, request,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// How soon one host must know what another one did.
const SOON: Duration = Duration::from_secs(1);

fn folder(chat: &Connection) -> Folder {
    Folder::new().connection(chat).flow("orders", &orders("orders", CHAT))
}

fn chat(destination: &Destination) -> Connection {
    Connection::chat(&destination.origin("chat")).concurrency(4)
}

async fn two(chat: &Connection) -> (TestHost, TestHost) {
    let one = TestHost::start_on_server(&folder(chat)).await;
    let other = one.beside().await;
    // From now on it hears what is told: the first look has read everything once.
    tokio::time::sleep(SOON).await;
    (one, other)
}

fn waits_for(view: &RunView, wanted: Wait) -> bool {
    matches!(view.step("chat").state.state, State::Waiting { reason, .. } if reason == wanted)
}

async fn listed(host: &TestHost) -> Value {
    host.client.get("connections").await["items"][0].clone()
}

async fn completes(host: &TestHost, order: &str) {
    let run = host.order("orders", order).await;
    host.until(run, |view| view.state() == run::State::Completed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_that_is_applied_at_one_takes_webhooks_at_the_other_within_a_second() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let (one, other) = two(&chat(&destination)).await;
    completes(&other, "A-1").await;
    assert_eq!(other.deliver("later", "{}").await.status, 404);
    let more = folder(&chat(&destination)).flow("later", &orders("later", CHAT));
    one.apply(&more).await.unwrap();
    let applied = Instant::now();
    let taken_in = eventually("the other takes it in", || async {
        let answer = other.deliver("later", r#"{ "order": { "id": "B-1" } }"#).await;
        (answer.status == 202).then(|| applied.elapsed())
    });
    let after = taken_in.await;
    assert!(after < SOON, "{after:?}");
    // What is taken out is out.
    one.apply(&folder(&chat(&destination))).await.unwrap();
    eventually("it is out at the other", || async {
        (other.deliver("later", "{}").await.status == 404).then_some(())
    })
    .await;
    destination.until(|tally| tally.services["chat"].requests == 2).await;
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_at_one_holds_at_the_other_and_so_does_its_end() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let (one, other) = two(&chat(&destination)).await;
    let change = async |host: &TestHost, verb: &str| {
        let answer = host.client.post(&format!("connections/chat/{verb}"), &json!({})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    change(&one, "pause").await;
    let paused = Instant::now();
    eventually("the other knows", || async {
        other.inside().executor.paused().contains_key("chat").then_some(())
    })
    .await;
    assert!(paused.elapsed() < SOON);
    let run = other.order("orders", "A-1").await;
    other.until(run, |view| waits_for(view, Wait::Paused)).await;
    assert_eq!(destination.count("chat").requests, 0);
    change(&one, "resume").await;
    other.until(run, |view| view.state() == run::State::Completed).await;
    assert_eq!((destination.effects_total(), destination.duplicates()), (1, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_asks_one_to_wait_is_left_alone_by_the_other() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let (one, other) = two(&chat(&destination)).await;
    // Both have sent to it before.
    completes(&other, "A-0").await;
    destination.script_next("chat", [Behaviour::retry_after("120")]);
    let told = one.order("orders", "A-1").await;
    one.until(told, |view| waits_for(view, Wait::RateLimited)).await;
    tokio::time::sleep(SOON).await;
    let run = other.order("orders", "A-2").await;
    let view = other.until(run, |view| waits_for(view, Wait::RateLimited)).await;
    assert!(view.step("chat").due_ms.unwrap() >= other.clock.now_ms() + 119_000);
    assert_eq!(destination.count("chat").requests, 2);
    other.settle(run).await;
    one.settle(told).await;
    assert_eq!((destination.effects_total(), destination.duplicates()), (3, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_breaker_that_one_opened_lets_no_more_than_a_probe_of_the_other_through() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let (one, other) = two(&chat(&destination)).await;
    destination.script(Rule::always("chat", Behaviour::status(503)));
    for n in 0..3 {
        one.order("orders", &format!("A-{n}")).await;
    }
    let failing = async |host: &TestHost| !listed(host).await["failing"].is_null();
    eventually("the one knows", || async { failing(&one).await.then_some(()) }).await;
    let opened = Instant::now();
    eventually("the other knows", || async { failing(&other).await.then_some(()) }).await;
    assert!(opened.elapsed() < SOON);
    let before = destination.count("chat").requests;
    let mut runs = Vec::new();
    for n in 0..20 {
        runs.push(other.order("orders", &format!("B-{n}")).await);
    }
    for run in &runs {
        let view = other.until(*run, |view| waits_for(view, Wait::BreakerOpen)).await;
        assert_eq!(view.step("chat").state.attempts, 0);
    }
    assert_eq!(destination.count("chat").requests, before);
    // Its time has come, and of twenty one finds out.
    other.clock.advance(3_000);
    eventually("somebody finds out", || async {
        (destination.count("chat").requests > before).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let probes = destination.count("chat").requests - before;
    assert!(probes <= 2, "one of each host, and not {probes}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_credentials_at_one_block_the_other_until_one_gets_in_again() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let (one, other) = two(&chat(&destination).probe("/account")).await;
    destination.script(Rule::always("chat", Behaviour::status(401)));
    destination.script(Rule::always("chat", Behaviour::status(401)).reads());
    one.order("orders", "A-1").await;
    let blocked = async |host: &TestHost| !listed(host).await["blocked"].is_null();
    eventually("the other knows", || async { blocked(&other).await.then_some(()) }).await;
    let writes = destination.writes_of("chat");
    let run = other.order("orders", "B-1").await;
    other.until(run, |view| waits_for(view, Wait::ConnectionBlocked)).await;
    assert_eq!(destination.writes_of("chat"), writes);
    destination.clear_script();
    let well = Behaviour::status_with(200, &[], "{}");
    destination.script(Rule::always("chat", well).reads());
    one.clock.advance(62_000);
    eventually("both are well", || async {
        (!blocked(&one).await && !blocked(&other).await).then_some(())
    })
    .await;
    other.settle(run).await;
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn their_own_rate_holds_in_sum() {
    const EACH: u64 = 15;
    const EVERY_MS: u64 = 100;
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let (one, other) = two(&chat(&destination).rate("10/s")).await;
    let started_ms = one.clock.now_ms();
    for n in 0..EACH {
        one.order("orders", &format!("A-{n}")).await;
        other.order("orders", &format!("B-{n}")).await;
    }
    let done = || destination.count("chat").requests;
    while done() < 2 * EACH {
        let passed_ms = u64::try_from(one.clock.now_ms() - started_ms).unwrap();
        // Two starts that were given close to each other, and no more.
        assert!(done() <= passed_ms / EVERY_MS + 2, "{} after {passed_ms} ms", done());
        assert!(passed_ms < 60_000, "only {} within a minute", done());
        tokio::time::sleep(Duration::from_millis(10)).await;
        one.clock.advance(EVERY_MS / 2);
    }
    destination
        .until(|tally| tally.services["chat"].effects_total == 2 * EACH)
        .await;
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_at_one_for_what_the_other_carries_out_gets_the_result() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let with_result = orders("orders", CHAT).replace("path = \"orders\"", "path = \"orders\"\nrespond = \"result\"");
    let folder = Folder::new()
        .connection(&chat(&destination))
        .flow("orders", &with_result);
    let one = TestHost::start_on_server(&folder).await;
    let other = one.beside().await;
    let slow = Behaviour {
        answer_after_ms: 1_500,
        ..Behaviour::usual()
    };
    destination.script_next("chat", [slow]);
    let order = r#"{ "order": { "id": "A-1" } }"#;
    let (first, duplicate) = tokio::join!(one.deliver("orders", order), async {
        destination.until(|tally| tally.services["chat"].requests == 1).await;
        other.deliver("orders", order).await
    });
    for answer in [&first, &duplicate] {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["state"], "completed");
    }
    assert_eq!(duplicate.json()["duplicate"], true);
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_host_has_a_token_of_its_own_and_both_say_that_there_is_no_second_server() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let (one, mut other) = two(&chat(&destination)).await;
    // A file that is lost means a new token, and the old one is gone.
    let old = other.client.clone();
    other.stop().await;
    std::fs::remove_file(other.data().join("token")).unwrap();
    other.come_up().await;
    assert_ne!(other.client.token, old.token);
    let lost = oncegate_tests::Client {
        address: other.client.address,
        ..old
    };
    assert_eq!(lost.ask("connections").await.status, 401);
    for host in [&one, &other] {
        listed(host).await;
        let ready = request(host.client.address, "GET", "/readyz", &[], b"").await.unwrap();
        assert_eq!(ready.status, 200);
        assert!(ready.text.contains("no synchronous standby"), "{ready:?}");
        assert_eq!(host.client.get("counts").await["synchronous_standby"], false);
        let metrics = host.client.metrics().await;
        assert!(
            metrics.contains("\noncegate_ledger_synchronous_standby 0\n"),
            "{metrics}"
        );
    }
}

/// Whoever watches the host hears of it before an event is refused, and that it is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_says_when_its_database_is_away_and_that_it_is_back() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let wire = Wire::to(&oncegate_test_database::new_database().await);
    let host = TestHost::start_on_database(&folder(&chat(&destination)), wire.address()).await;
    let ready = async || request(host.client.address, "GET", "/readyz", &[], b"").await.unwrap();
    assert_eq!(ready().await.status, 200);
    wire.set(Fault::Cut);
    let answer = ready().await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.text.contains("the database cannot be reached"), "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    wire.set(Fault::None);
    eventually("it is ready", || async { (ready().await.status == 200).then_some(()) }).await;
    // The writer may find only now that its own connection is gone: such an event is refused, and the sender comes again.
    eventually("events are taken in", || async {
        let answer = host.deliver("orders", r#"{ "order": { "id": "A-1" } }"#).await;
        (answer.status == 202).then_some(())
    })
    .await;
}
