//! A person decides: what they may do, what they must say, and that one of two wins.

use crate::{CHAT, CRM};
use oncegate_domain::doubt::Unsettled;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::about_step;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, RunView, Service, TestHost, orders};
use serde_json::{Value, json};

/// The chat, and a second message that quotes the first one's id.
fn flow() -> String {
    let second = "[[steps]]\nid = \"quote\"\nuse = \"chat.send\"\nwith = { path = \"/messages\", body = { text = \"{{ \
                  steps.chat.output.body.id }}\" } }\n";
    orders("orders", &format!("{CHAT}\n{second}"))
}

/// A host whose run came to a person because its first request met `behaviour`.
async fn in_review(behaviour: Behaviour) -> (Destination, TestHost, Id, RunView) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &flow());
    let host = TestHost::start(&folder).await;
    destination.script_next("chat", [behaviour]);
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::NeedsReview);
    (destination, host, run, view)
}

async fn decided(host: &TestHost, verb: &str, more: Value) -> u16 {
    host.decide(&host.review().await, verb, more).await.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_not_to_exist_is_tried_again_by_one_click() {
    let (destination, host, run, _) = in_review(Behaviour::status(422)).await;
    assert_eq!(decided(&host, "retry", json!({})).await, 200);
    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::Completed);
    assert_eq!(
        destination.effects("chat").into_keys().collect::<Vec<_>>(),
        ["Order A-1", "chat-1"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_of_what_may_exist_needs_a_statement_and_a_reason() {
    let (destination, host, run, view) = in_review(Behaviour::reset_after_all()).await;
    assert_eq!(view.reason("chat"), Review::Doubt(Unsettled::NoWayToAsk));
    assert_eq!(decided(&host, "retry", json!({ "reason": "why not" })).await, 409);
    assert_eq!(decided(&host, "retry", json!({ "stated_absent": true })).await, 400);
    assert_eq!(destination.count("chat").requests, 1, "nothing happened so far");

    let stated = json!({ "stated_absent": true, "reason": "looked into the chat: it is not there" });
    assert_eq!(decided(&host, "retry", stated).await, 200);
    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::Completed);
    assert_eq!(destination.effects("chat")["Order A-1"], 1);
    let audit = host.client.get("audit").await.to_string();
    assert!(
        audit.contains("it is not there"),
        "what was stated is on record: {audit}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resolving_hands_the_output_to_later_steps_and_sends_nothing_again() {
    let (destination, host, run, view) = in_review(Behaviour::effect_then_reset()).await;
    assert_eq!(view.stands("quote"), "pending", "what follows waits for the person");
    let forgotten = json!({ "reason": "found it", "reference": "m-77" });
    assert_eq!(
        decided(&host, "resolve", forgotten).await,
        409,
        "the next step reads the output"
    );
    let found = json!({ "reason": "found it", "reference": "m-77", "output": { "body": { "id": "m-77" } } });
    assert_eq!(decided(&host, "resolve", found).await, 200);
    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::Completed);
    assert_eq!(view.step("chat").reference.as_deref(), Some("m-77"));
    assert_eq!(
        destination.effects("chat").into_keys().collect::<Vec<_>>(),
        ["Order A-1", "m-77"]
    );
    assert_eq!(destination.effects("chat")["Order A-1"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_discarded_is_closed_with_its_reason_and_what_follows_is_skipped() {
    let (destination, host, run, _) = in_review(Behaviour::status(422)).await;
    assert_eq!(decided(&host, "discard", json!({})).await, 400, "a reason is wanted");
    assert_eq!(
        decided(&host, "discard", json!({ "reason": "order was cancelled" })).await,
        200
    );
    let view = host.settle(run).await;
    assert_eq!(
        (view.state(), view.stands("chat"), view.stands("quote")),
        (run::State::Failed, "failed", "skipped")
    );
    assert_eq!(destination.effects_total(), 0);
    let closed = view.0.reviews[0].closed.clone().unwrap();
    assert_eq!(
        (closed.action.as_str(), closed.why.as_str()),
        ("discard", "order was cancelled")
    );
}

/// C24.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_people_in_the_same_second_one_acts_and_the_other_is_told() {
    let (destination, host, run, _) = in_review(Behaviour::effect_then_reset()).await;
    let item = host.review().await;
    assert_eq!(about_step(&item), (Review::Doubt(Unsettled::NoWayToAsk), true));
    let (retry, discard) = tokio::join!(
        host.decide(&item, "retry", json!({ "stated_absent": true, "reason": "not there" })),
        host.decide(&item, "discard", json!({ "reason": "not needed" })),
    );
    let mut statuses = [retry.status, discard.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{retry:?} {discard:?}");

    let view = host.settle(run).await;
    let (state, messages) = if retry.status == 200 {
        (run::State::Completed, 2)
    } else {
        (run::State::Failed, 1)
    };
    assert_eq!(view.state(), state);
    assert_eq!(
        destination.effects("chat")["Order A-1"],
        messages,
        "the effect of the one who won, no other"
    );
    let late = host.decide(&item, "discard", json!({ "reason": "too late" })).await;
    assert_eq!(late.status, 409, "{late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_destination_can_be_asked_one_click_asks_it_and_sends_nothing_before() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let steps = CRM.replace("[steps.with]", "retry = { attempts = 2 }\n[steps.with]");
    let crm = Connection::http("crm", &destination.origin("crm"))
        .writes("POST /contacts")
        .trust("dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"unknown\" }")
        .asked("10s");
    let folder = Folder::new().connection(&crm).flow("orders", &orders("orders", &steps));
    let host = TestHost::start(&folder).await;
    destination.script_next("crm", [Behaviour::effect_then_reset()]);
    destination.script(Rule::next("crm", Behaviour::status(500)).reads().times(2));
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;
    assert_eq!(view.reason("crm"), Review::Doubt(Unsettled::LookupUnclear));
    assert_eq!(destination.count("crm").requests, 3);

    assert_eq!(
        decided(&host, "retry", json!({ "reason": "it answers again" })).await,
        200
    );
    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::Completed);
    let methods: Vec<String> = destination
        .requests_of("crm")
        .into_iter()
        .map(|seen| seen.method)
        .collect();
    assert_eq!(methods, ["POST", "GET", "GET", "GET"]);
    assert_eq!(destination.effects_total(), 1);
}

/// `[[review.notify]]`: a person is told once; a notice that fails raises no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_told_once_and_a_failed_notice_raises_no_other() {
    let destination = Destination::start([Service::chat(), Service::mailer()]).await.unwrap();
    let notify = "[[review.notify]]\nuse = \"mail.send\"\n[review.notify.with]\npath = \"/messages\"\nbody = { to = \
                  \"ops@example.com\", subject = \"Needs review\", text = \"{{ review.summary }}\" }\n";
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .connection(&Connection::mailer(&destination.origin("mailer")))
        .flow("orders", &orders("orders", &format!("{CHAT}\n{notify}")));
    let host = TestHost::start(&folder).await;
    destination.script_next("chat", [Behaviour::status(422), Behaviour::status(422)]);
    destination.script(Rule::next("mailer", Behaviour::status(422)).nth(2));

    let first = host.order("orders", "A-1").await;
    host.settle(first).await;
    let effects = destination.effects_in_full();
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert!(
        effects[0].body.contains("A-1"),
        "the notice names the order: {}",
        effects[0].body
    );

    let second = host.order("orders", "A-2").await;
    host.settle(second).await;
    assert_eq!(
        destination.count("mailer").requests,
        2,
        "one notice each, and none about a notice"
    );
}

/// C24: cancel while a request is in flight.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_with_a_request_in_flight_settles_that_first_and_begins_nothing_more() {
    for (lost, behaviour) in [
        (
            false,
            Behaviour {
                answer_after_ms: 500,
                ..Behaviour::usual()
            },
        ),
        (
            true,
            Behaviour {
                answer_after_ms: 500,
                ..Behaviour::effect_then_reset()
            },
        ),
    ] {
        let destination = Destination::start([Service::crm(), Service::chat()]).await.unwrap();
        let folder = Folder::new()
            .connection(&Connection::crm(&destination.origin("crm")))
            .connection(&Connection::chat(&destination.origin("chat")))
            .flow("orders", &orders("orders", &format!("{CRM}\n{CHAT}")));
        let host = TestHost::start(&folder).await;
        destination.script_next("crm", [behaviour]);
        let run = host.order("orders", "A-1").await;
        let sent = destination.until(|tally| tally.services["crm"].requests == 1);
        tokio::time::timeout(oncegate_tests::wait::PATIENCE, sent)
            .await
            .unwrap();

        let answer = host
            .client
            .post(&format!("runs/{run}/cancel"), &json!({ "reason": "not wanted" }))
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let view = host.settle(run).await;
        assert_eq!(
            (view.stands("crm"), view.stands("chat")),
            ("completed", "cancelled"),
            "answer lost: {lost}"
        );
        assert_eq!(view.state(), run::State::Cancelled);
        let sent = destination
            .requests_of("crm")
            .into_iter()
            .filter(|seen| seen.method == "POST")
            .count();
        assert_eq!((sent, destination.effects_total()), (1, 1), "answer lost: {lost}");
    }
}
