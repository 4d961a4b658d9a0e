//! A destination that says no: bounded, patient, and over when it is over.

use crate::{CHAT, CRM};
use oncegate::clock::Clock;
use oncegate_domain::outcome::Permanent;
use oncegate_domain::run;
use oncegate_domain::step::{Review, State};
use oncegate_tests::about_step;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, RunView, Service, TestHost, orders};
use serde_json::json;

const THREE: &str = r#"[[steps]]
id = "first"
use = "chat.send"
with = { path = "/messages", body = { text = "first" } }
[[steps]]
id = "second"
use = "chat.send"
with = { path = "/messages", body = { text = "second" } }
[[steps]]
id = "third"
use = "crm.send"
retry = { attempts = 5, first = "2s", factor = 2, longest = "10m" }
with = { path = "/contacts", body = { email = "a@example.com" } }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_genuine_refusal_ends_in_review_and_does_nothing() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    destination.script(Rule::always("crm", Behaviour::status(422)));

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(run.reason("crm"), Review::Refused(Permanent::Rejected));
    assert_eq!(
        about_step(&host.review().await),
        (Review::Refused(Permanent::Rejected), false)
    );
    assert_eq!((destination.count("crm").requests, destination.effects_total()), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flow_may_ask_for_a_bounded_number_of_refusals_before_a_person() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let steps = format!(
        "{}\n",
        CRM.replace("[steps.with]", "retry = { refusals = 3 }\n[steps.with]")
    );
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", &steps));
    let host = TestHost::start(&folder).await;
    destination.script(Rule::always("crm", Behaviour::status(422)));

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(run.reason("crm"), Review::Refused(Permanent::Rejected));
    let requests = destination.requests_of("crm");
    assert_eq!((requests.len(), destination.effects_total()), (3, 0));
    let keys: Vec<_> = requests
        .iter()
        .map(|request| request.header("idempotency-key"))
        .collect();
    assert!(
        keys.iter().all(|key| key.is_some() && *key == keys[0]),
        "one key for all attempts: {keys:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gaps_grow_as_the_policy_says_and_nothing_is_sent_a_moment_sooner() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat")).trust("refused_before_effect = [503]");
    let steps = CHAT.replace(
        "[steps.with]",
        "retry = { attempts = 6, first = \"2s\", factor = 3, longest = \"1m\" }\n[steps.with]",
    );
    let folder = Folder::new()
        .connection(&chat)
        .flow("orders", &orders("orders", &steps));
    let host = TestHost::start(&folder).await;
    destination.script(Rule::always("chat", Behaviour::status(503)));
    let run = host.order("orders", "A-1").await;

    for (n, plain_ms) in [(1, 2_000), (2, 6_000), (3, 18_000), (4, 54_000), (5, 60_000)] {
        let view = host
            .until(run, |view| {
                view.step("chat").state.attempts == n && backoff(view, "chat").is_some()
            })
            .await;
        let until_ms = backoff(&view, "chat").unwrap();
        let gap_ms = until_ms - host.clock.now_ms();
        let (least, most) = (plain_ms * 9 / 10, (plain_ms * 11 / 10).min(60_000));
        assert!(
            (least..=most).contains(&gap_ms),
            "gap {n} is {gap_ms} ms, not {least} to {most}"
        );
        host.clock.advance_to(until_ms - 1);
        // As many looks at the ledger as it takes the host to send when it is time.
        for _ in 0..10 {
            host.run(run).await;
        }
        assert_eq!(destination.count("chat").requests, u64::from(n), "sent too soon");
        host.clock.advance_to(until_ms);
    }
    let view = host.settle(run).await;
    assert_eq!(view.reason("chat"), Review::AttemptsUsedUp);
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (6, 0)
    );
}

/// C8: three steps, the third always refused; the host restarts between all attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_neither_lose_nor_repeat_an_attempt() {
    let destination = Destination::start([Service::crm(), Service::chat()]).await.unwrap();
    let mut host = TestHost::start(&three(&destination)).await;
    destination.script(Rule::always("crm", Behaviour::status(503)));
    let run = host.order("orders", "A-1").await;

    let mut gaps = Vec::new();
    for n in 1..5 {
        let view = host
            .until(run, |view| {
                view.step("third").state.attempts == n && backoff(view, "third").is_some()
            })
            .await;
        let until_ms = backoff(&view, "third").unwrap();
        gaps.push(until_ms - host.clock.now_ms());
        host.restart().await;
        assert_eq!(
            destination.count("crm").requests,
            u64::from(n),
            "a restart is no reason to send"
        );
        host.clock.advance_to(until_ms);
    }
    let view = host.settle(run).await;

    assert_eq!(view.reason("third"), Review::AttemptsUsedUp);
    assert_eq!(destination.count("crm").requests, 5);
    assert_eq!(
        destination.effects("chat").values().sum::<u64>(),
        2,
        "what was done before is not done again"
    );
    assert!(
        gaps.windows(2).all(|pair| pair[0] < pair[1]),
        "gaps grow over restarts: {gaps:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_cancelled_during_backoff_sends_nothing_more() {
    let destination = Destination::start([Service::crm(), Service::chat()]).await.unwrap();
    let host = TestHost::start(&three(&destination)).await;
    destination.script(Rule::always("crm", Behaviour::status(503)));
    let run = host.order("orders", "A-1").await;
    host.until(run, |view| {
        view.step("third").state.attempts == 2 && backoff(view, "third").is_some() || {
            if let Some(until_ms) = backoff(view, "third") {
                host.clock.advance_to(until_ms);
            }
            false
        }
    })
    .await;

    let answer = host
        .client
        .post(
            &format!("runs/{run}/cancel"),
            &json!({ "reason": "not wanted any more" }),
        )
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    host.clock.advance(3_600_000);
    let view = host.settle(run).await;

    assert_eq!(view.state(), run::State::Cancelled);
    assert_eq!(view.stands("first"), "completed");
    assert_eq!(destination.count("crm").requests, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn being_told_to_wait_burns_no_attempt_and_is_heeded_to_the_second() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT));
    let host = TestHost::start(&folder).await;
    destination.script_next("chat", [Behaviour::retry_after("120")]);
    let run = host.order("orders", "A-1").await;

    let view = host.until(run, |view| view.stands("chat") == "waiting").await;
    let until_ms = view.step("chat").due_ms.unwrap();
    assert!(until_ms >= host.clock.now_ms() + 120_000, "never sooner than told");
    assert_eq!(view.step("chat").state.attempts, 0);
    let second = host.order("orders", "A-2").await;
    host.until(second, |view| view.stands("chat") == "waiting").await;
    assert_eq!(
        destination.count("chat").requests,
        1,
        "one pause for all that use the connection"
    );

    let (first, second) = (host.settle(run).await, host.settle(second).await);
    assert_eq!(
        (first.state(), second.state()),
        (run::State::Completed, run::State::Completed)
    );
    assert_eq!(destination.effects_total(), 2);
}

fn three(destination: &Destination) -> Folder {
    let crm = Connection::crm(&destination.origin("crm")).trust("refused_before_effect = [503]");
    Folder::new()
        .connection(&crm)
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", THREE))
}

fn backoff(view: &RunView, step: &str) -> Option<i64> {
    match view.step(step).state.state {
        State::Retrying { until_ms, .. } => Some(until_ms),
        _ => None,
    }
}
