//! One event, one run, however often and however close it comes; and nothing accepted that is not durable.

use crate::{CHAT, CRM};
use oncegate::ledger::ReviewSubject;
use oncegate_domain::run;
use oncegate_tests::run_of;
use oncegate_tests::{Connection, Destination, Folder, HOOK_SECRET, Service, TestHost, orders};
use serde_json::json;

async fn chat_host() -> (Destination, TestHost) {
    let (destination, folder) = chat().await;
    let host = TestHost::start(&folder).await;
    (destination, host)
}

async fn chat() -> (Destination, Folder) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT));
    (destination, folder)
}

/// C1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_deliveries_at_the_same_moment_are_one_run_and_one_effect_two_hundred_times() {
    let (destination, host) = chat_host().await;
    for n in 0..200 {
        let body = format!(r#"{{"order":{{"id":"A-{n}"}}}}"#);
        let send = || host.client.deliver("orders", Some(HOOK_SECRET), &body);
        let (one, other) = tokio::join!(send(), send());
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!((one.status, other.status), (202, 202), "{one:?} {other:?}");
        assert_eq!(run_of(&one), run_of(&other), "both callers get the same run");
        let duplicates = [&one, &other].map(|answer| answer.json()["duplicate"].as_bool().unwrap());
        assert!(
            duplicates == [true, false] || duplicates == [false, true],
            "{one:?} {other:?}"
        );
    }
    bounded(destination.until(|tally| tally.effects_total >= 200)).await;
    let counts = host.client.get("counts").await;
    assert_eq!(
        counts["duplicates"], 200,
        "each suppressed duplicate is counted: {counts}"
    );
    assert_eq!(counts["events"].as_u64().unwrap(), 400, "{counts}");
    wait_until_done(&host, 200).await;
    let count = destination.count("chat");
    assert_eq!((count.effects_total, count.requests), (200, 200));
    assert_eq!(destination.duplicates(), []);
}

async fn bounded(wait: impl Future<Output = ()>) {
    tokio::time::timeout(oncegate_tests::wait::PATIENCE, wait)
        .await
        .expect("in time");
}

async fn wait_until_done(host: &TestHost, runs: u64) {
    oncegate_tests::eventually("all runs are done", || async {
        let counts = host.client.get("counts").await;
        (counts["runs"]["completed"].as_u64() == Some(runs)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duplicate_long_after_is_told_the_state_and_does_nothing() {
    let (destination, mut host) = chat_host().await;
    let run = host.order("orders", "A-1").await;
    host.settle(run).await;
    host.clock.advance(90 * 24 * 3_600_000);
    host.restart().await;

    let again = host.deliver("orders", r#"{ "order" : {"id":"A-1"} }"#).await;
    assert_eq!(
        again.json(),
        json!({ "run": run.to_string(), "state": "completed", "duplicate": true })
    );
    assert_eq!(destination.effects_total(), 1);
    assert_eq!(host.run(run).await.0.run.duplicates, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_known_by_its_id_from_the_start_and_a_duplicate_changes_nothing_of_it() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let flow = orders("orders", &CHAT.replace("Order {{ body.order.id }}", "{{ event.id }}"));
    let flow = flow.replace("[context]\n", "[context]\ndelivery = \"{{ event.id }}\"\n");
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &flow);
    let mut host = TestHost::start(&folder).await;
    let run = host.order("orders", "A-1").await;
    let event = host.settle(run).await.0.event.id.to_string();
    assert_eq!(
        host.order("orders", "A-1").await,
        run,
        "the duplicate is told the first one's run"
    );
    host.restart().await;

    let found = host.client.get(&format!("runs?text={event}")).await;
    assert_eq!(found["items"][0]["id"], run.to_string(), "{found}");
    let shown = host.client.get(&format!("runs/{run}")).await;
    let word = json!({ "name": "delivery", "value": event, "personal": false });
    assert!(shown["context"].as_array().unwrap().contains(&word), "{shown}");
    assert_eq!(shown["event"]["id"], event);
    let sent = json!({ "text": event }).to_string();
    assert_eq!(destination.effects_in_full()[0].body, sent, "steps see the same id");
}

/// C22.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_with_another_body_is_kept_with_its_body_until_a_person_says_what_it_is() {
    let (destination, host) = chat_host().await;
    let run = host
        .taken_in("orders", &json!({ "order": { "id": "T-1" }, "status": "pending" }))
        .await;
    host.settle(run).await;

    let other = r#"{"order":{"id":"T-1"},"status":"paid"}"#;
    let answer = host.deliver("orders", other).await;
    assert_eq!(answer.status, 202);
    assert_eq!((&answer.json()["conflict"], run_of(&answer)), (&json!(true), run));
    assert_eq!(destination.effects_total(), 1);

    let item = host.review().await;
    assert!(matches!(item.subject, ReviewSubject::Conflict { .. }), "{item:?}");
    let shown = host.client.get(&format!("review/{}", item.id)).await;
    assert_eq!(shown["conflicting_event"]["body"], other, "nothing of it is lost");
    let without_reason = host.decide(&item, "ignore", json!({})).await;
    assert_eq!(without_reason.status, 400);

    let ignored = host
        .decide(&item, "ignore", json!({ "reason": "sent twice by the provider" }))
        .await;
    assert_eq!(ignored.status, 200, "{ignored:?}");
    assert_eq!(host.reviews().await.len(), 0);
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflict_that_is_another_event_runs_once_under_a_key_of_its_own() {
    let (destination, host) = chat_host().await;
    let steps = CHAT.replace(
        "Order {{ body.order.id }}",
        "Order {{ body.order.id }} is {{ body.status }}",
    );
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", &steps));
    host.apply(&folder).await.unwrap();
    let run = host
        .taken_in("orders", &json!({ "order": { "id": "T-1" }, "status": "pending" }))
        .await;
    host.settle(run).await;
    host.taken_in("orders", &json!({ "order": { "id": "T-1" }, "status": "paid" }))
        .await;

    let item = host.review().await;
    let (one, other) = tokio::join!(
        host.decide(&item, "run", json!({ "reason": "another event" })),
        host.decide(&item, "run", json!({ "reason": "another event" })),
    );
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{one:?} {other:?}");

    bounded(destination.until(|tally| tally.effects_total == 2)).await;
    wait_until_done(&host, 2).await;
    let texts: Vec<String> = destination
        .effects_in_full()
        .into_iter()
        .map(|effect| effect.body)
        .collect();
    assert_eq!(
        texts,
        [r#"{"text":"Order T-1 is pending"}"#, r#"{"text":"Order T-1 is paid"}"#]
    );
}

/// C3, with a disk that is full.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_cannot_be_stored_is_refused_and_nothing_is_done_until_it_is_sent_again() {
    let (destination, folder) = chat().await;
    let mut host = TestHost::start_embedded(&folder).await;
    host.inside().ledger.limit_pages(Some(1)).await.unwrap();
    let mut refused = 0;
    for n in 0..20 {
        // Of a size that no free room in the pages at hand takes.
        let body = json!({ "order": { "id": format!("A-{n}") }, "filler": "x".repeat(100_000) });
        let answer = host.deliver("orders", &body.to_string()).await;
        if answer.status == 503 {
            refused += 1;
            assert!(
                answer
                    .header("retry-after")
                    .and_then(|value| value.parse::<u32>().ok())
                    .is_some(),
                "{answer:?}"
            );
        }
    }
    assert_eq!(refused, 20);
    assert_eq!(
        (
            destination.count("chat").requests,
            destination.count("chat").connections
        ),
        (0, 0)
    );
    assert_eq!(host.client.get("runs").await["items"], json!([]));

    host.inside().ledger.limit_pages(None).await.unwrap();
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;
    assert_eq!((view.state(), destination.effects_total()), (run::State::Completed, 1));
    host.restart().await;
    assert_eq!(host.run(run).await.state(), run::State::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_steps_read_what_earlier_ones_gave_and_run_beside_each_other_where_told() {
    let destination = Destination::start([Service::crm(), Service::chat()]).await.unwrap();
    let steps = format!(
        "{CRM}\n[[steps]]\nid = \"chat\"\nuse = \"chat.send\"\nwith = {{ path = \"/messages\", body = {{ text = \
         \"{{{{ steps.crm.output.body.id }}}}\" }} }}\n[[steps]]\nid = \"silent\"\nuse = \"chat.send\"\nafter = \
         [\"crm\"]\nwhen = \"body.phone\"\nwith = {{ path = \"/messages\", body = {{ text = \"never\" }} }}\n"
    );
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", &steps));
    let host = TestHost::start(&folder).await;

    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;

    assert_eq!(view.state(), run::State::Completed);
    assert_eq!(view.stands("silent"), "skipped");
    assert_eq!(destination.effects("chat").into_keys().collect::<Vec<_>>(), ["crm-1"]);
}
