//! C24: people and answers that come at the same moment. One action wins, whoever is late is told, and what is on its way
//! is settled before a run counts as cancelled.

use crate::{CHAT, CRM, HOST, MAIL};
use oncegate_domain::doubt::Unsettled;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::wait::PATIENCE;
use oncegate_tests::{
    Behaviour, ChildHost, Connection, Destination, Folder, Rule, Service, TestHost, about_step, orders,
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Long enough for a cancel to come in between.
const ANSWER_AFTER_MS: u64 = 500;

async fn sent(destination: &Destination, service: &str) {
    let sent = destination.until(|tally| tally.services[service].requests >= 1);
    tokio::time::timeout(PATIENCE, sent).await.expect("the request comes");
}

async fn chat_host(destination: &Destination) -> TestHost {
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT));
    TestHost::start(&folder).await
}

async fn cancel(host: &TestHost, run: Id) -> u16 {
    let reason = json!({ "reason": "not wanted" });
    host.client.post(&format!("runs/{run}/cancel"), &reason).await.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_decisions_at_once_one_is_carried_out_whatever_they_are() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = chat_host(&destination).await;
    let why = |more: Value| {
        let mut body = json!({ "reason": "looked there" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let retry = || ("retry", why(json!({ "stated_absent": true })));
    let resolve = || ("resolve", why(json!({ "reference": "m-1" })));
    let discard = || ("discard", why(json!({})));
    let pairs = [
        (retry(), retry()),
        (retry(), resolve()),
        (resolve(), resolve()),
        (resolve(), discard()),
        (discard(), discard()),
    ];
    for (n, ((one, one_says), (other, other_says))) in pairs.into_iter().enumerate() {
        destination.script_next("chat", [Behaviour::reset_after_all()]);
        let run = host.order("orders", &format!("A-{n}")).await;
        host.settle(run).await;
        let before = destination.count("chat").requests;
        let item = host.review().await;
        let (first, second) = tokio::join!(host.decide(&item, one, one_says), host.decide(&item, other, other_says));
        let mut statuses = [first.status, second.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{one} and {other}: {first:?} {second:?}");
        let loser = if first.status == 409 { &first } else { &second };
        assert_eq!(loser.header("content-type"), Some("application/problem+json"));

        let won = if first.status == 200 { one } else { other };
        let view = host.settle(run).await;
        let (state, requests) = match won {
            "retry" => (run::State::Completed, 1),
            "resolve" => (run::State::Completed, 0),
            _ => (run::State::Failed, 0),
        };
        assert_eq!(view.state(), state, "{one} and {other}");
        assert_eq!(
            destination.count("chat").requests - before,
            requests,
            "{one} and {other}: what the winner asked for, and nothing for the other"
        );
        assert_eq!(host.reviews().await.len(), 0);
    }
    assert_eq!(destination.duplicates(), []);
}

/// A cancel and a retry of the same step: whichever comes first, nothing is sent twice and the run does end.
/// A flow in which the last step waits for two others.
fn joined() -> String {
    let step = |id: &str, after: &str| {
        format!(
            "[[steps]]\nid = \"{id}\"\nuse = \"chat.send\"\nafter = {after}\n[steps.with]\npath = \"/messages\"\n\
             body = {{ text = \"{id} of {{{{ body.order.id }}}}\" }}\n"
        )
    };
    step("one", "[]") + &step("other", "[]") + &step("last", r#"["one", "other"]"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_two_steps_goes_on_when_both_are_decided_at_once() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", &joined()));
    let host = TestHost::start(&folder).await;
    for n in 0..20 {
        destination.script_next("chat", [Behaviour::status(400), Behaviour::status(400)]);
        let run = host.order("orders", &format!("A-{n}")).await;
        host.settle(run).await;
        let items = host.reviews().await;
        let found = || json!({ "reason": "done by hand", "reference": "m-1" });
        let (one, other) = tokio::join!(
            host.decide(&items[0], "resolve", found()),
            host.decide(&items[1], "resolve", found())
        );
        assert_eq!((one.status, other.status), (200, 200), "{one:?} {other:?}");
        let view = host.settle(run).await;
        assert_eq!(view.state(), run::State::Completed, "{view:#?}");
    }
    assert_eq!(destination.effects_total(), 20, "the last step of each");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_and_a_retry_at_once_leave_one_effect_or_none() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = chat_host(&destination).await;
    for n in 0..4 {
        destination.script_next("chat", [Behaviour::status(422)]);
        let run = host.order("orders", &format!("A-{n}")).await;
        host.settle(run).await;
        let item = host.review().await;
        let (retry, cancelled) = tokio::join!(host.decide(&item, "retry", json!({})), cancel(&host, run));
        for status in [retry.status, cancelled] {
            assert!([200, 409].contains(&status), "{retry:?}, cancel: {cancelled}");
        }
        assert!(retry.status == 200 || cancelled == 200, "one of them wins");
        let view = host.settle(run).await;
        let expected = if view.stands("chat") == "completed" { 1 } else { 0 };
        assert_eq!(
            destination
                .effects("chat")
                .get(&format!("Order A-{n}"))
                .copied()
                .unwrap_or(0),
            expected,
            "{:?}",
            view.state()
        );
        assert!(
            [run::State::Completed, run::State::Cancelled].contains(&view.state()),
            "{:?}",
            view.state()
        );
    }
}

/// The answer to what was in flight is lost, the destination is asked, and has nothing: cancelled, without a resend.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_step_that_the_destination_does_not_have_is_over_and_not_sent_again() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    let lost = Behaviour {
        answer_after_ms: ANSWER_AFTER_MS,
        ..Behaviour::reset_after_all()
    };
    destination.script_next("crm", [lost]);
    let run = host.order("orders", "A-1").await;
    sent(&destination, "crm").await;
    assert_eq!(cancel(&host, run).await, 200);
    assert_eq!(
        host.run(run).await.state(),
        run::State::Cancelling,
        "it is settled first"
    );

    let view = host.settle(run).await;
    assert_eq!((view.state(), view.stands("crm")), (run::State::Cancelled, "cancelled"));
    let methods: Vec<String> = destination
        .requests_of("crm")
        .into_iter()
        .map(|seen| seen.method)
        .collect();
    assert_eq!(methods[0], "POST");
    assert!(methods[1..].iter().all(|method| method == "GET"), "{methods:?}");
    assert_eq!(destination.effects_total(), 0);
}

/// Where nobody can be asked a person says what became of it, and cannot have it sent: not even where a key would protect
/// a resend.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_step_that_stays_in_doubt_comes_to_a_person_and_is_never_sent_again() {
    for (service, steps) in [("chat", CHAT), ("mailer", MAIL)] {
        let destination = Destination::start([Service::chat(), Service::mailer()]).await.unwrap();
        let folder = Folder::new()
            .connection(&Connection::chat(&destination.origin("chat")))
            .connection(&Connection::mailer(&destination.origin("mailer")))
            .flow("orders", &orders("orders", steps));
        let host = TestHost::start(&folder).await;
        let lost = Behaviour {
            answer_after_ms: ANSWER_AFTER_MS,
            ..Behaviour::effect_then_reset()
        };
        destination.script_next(service, [lost]);
        let run = host.order("orders", "A-1").await;
        sent(&destination, service).await;
        assert_eq!(cancel(&host, run).await, 200);
        host.settle(run).await;

        let item = host.review().await;
        assert_eq!(about_step(&item), (Review::Doubt(Unsettled::Cancelled), true));
        let stated = json!({ "stated_absent": true, "reason": "it is not there" });
        assert_eq!(host.decide(&item, "retry", stated).await.status, 409, "{service}");
        let resolved = json!({ "reference": "m-1", "reason": "it is there" });
        assert_eq!(host.decide(&item, "resolve", resolved).await.status, 200);
        let view = host.settle(run).await;
        assert_eq!(
            view.state(),
            run::State::Completed,
            "{service}: the whole of it was done"
        );
        assert_eq!(
            (destination.count(service).requests, destination.effects_total()),
            (1, 1)
        );
    }
}

/// A host that is paused while its answer comes, and is told to cancel in the same moment: on its way on it finds both. The
/// answer counts, whichever it looks at first, and the next step is not begun where the cancel was taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_2xx_that_came_while_the_host_was_paused_counts_whatever_was_decided_meanwhile() {
    let destination = Destination::start([Service::chat(), Service::mailer()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .connection(&Connection::mailer(&destination.origin("mailer")))
        .flow("orders", &orders("orders", &format!("{CHAT}\n{MAIL}")));
    let host = ChildHost::start(HOST, &folder).await;
    destination.script_next(
        "chat",
        [Behaviour {
            answer_after_ms: ANSWER_AFTER_MS,
            ..Behaviour::usual()
        }],
    );
    // The mailer is told to wait for longer than the test takes: what the cancel did shows at the second step.
    destination.script(Rule::always("mailer", Behaviour::retry_after("600")));
    assert_eq!(host.order("orders", "A-1").await.unwrap().status, 202);
    sent(&destination, "chat").await;
    let runs = host.client.get("runs?text=A-1").await;
    let id = runs["items"][0]["id"].as_str().unwrap().to_owned();

    host.signal(Signal::STOP);
    let client = host.client.clone();
    let path = format!("runs/{id}/cancel");
    let asked = tokio::spawn(async move { client.post(&path, &json!({ "reason": "not wanted" })).await });
    tokio::time::sleep(std::time::Duration::from_millis(2 * ANSWER_AFTER_MS)).await;
    host.signal(Signal::CONT);

    assert_eq!(asked.await.unwrap().status, 200);
    let run = host.settled("A-1").await;
    assert_eq!(run["state"], "cancelled", "{run:#}");
    assert_eq!(
        (&run["steps"][0]["state"], &run["steps"][1]["state"]),
        (&json!("completed"), &json!("cancelled")),
        "{run:#}"
    );
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 1)
    );
}
