//! A disk that is short of room: new events are refused, and what was begun comes to its end.

use crate::CHAT;
use oncegate_domain::run;
use oncegate_tests::wait::{PATIENCE, eventually, requests};
use oncegate_tests::{Answer, Behaviour, Connection, Destination, Folder, Rule, Service, TestHost, orders, request};
use serde_json::json;

async fn readyz(host: &TestHost) -> Answer {
    request(host.client.address, "GET", "/readyz", &[], b"").await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn below_the_watermark_new_events_are_refused_and_work_begun_comes_to_its_end() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat")).trust("refused_before_effect = [503]");
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    let mut host = TestHost::start_embedded(&folder).await;
    assert_eq!(readyz(&host).await.status, 200);
    assert!(host.data().join("reserve").metadata().unwrap().len() > 0);
    destination.script(Rule::next("chat", Behaviour::status(503)));
    let begun = host.order("orders", "A-1").await;
    host.until(begun, |view| view.stands("chat") == "retrying").await;

    // No disk has so much.
    host.stop().await;
    host.come_up_limited(|limits| limits.free_bytes_min = 1 << 60).await;
    let not_ready = readyz(&host).await;
    assert_eq!(not_ready.status, 503, "{not_ready:?}");
    assert!(not_ready.text.contains("MiB free"), "{not_ready:?}");
    let refused = host
        .deliver("orders", &json!({ "order": { "id": "A-2" } }).to_string())
        .await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("60")),
        "{refused:?}"
    );
    assert!(
        refused.text.contains("send it again") && !refused.text.contains("MiB"),
        "{refused:?}"
    );
    assert_eq!(host.settle(begun).await.state(), run::State::Completed);
    assert_eq!(host.client.get("runs").await["items"].as_array().unwrap().len(), 1);

    host.restart().await;
    assert_eq!(readyz(&host).await.status, 200);
    let run = host.order("orders", "A-2").await;
    assert_eq!(host.settle(run).await.state(), run::State::Completed);
    assert_eq!(destination.effects_total(), 2);
}

/// The disk is full by the time the answer is there: the reserve goes, the outcome waits for room and is not lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_under_way_when_the_disk_fills_up_is_remembered_once_there_is_room() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat")).trust("refused_before_effect = [503]");
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    let mut host = TestHost::start_embedded(&folder).await;
    destination.script(Rule::next("chat", Behaviour::status(503)));
    let begun = host.order("orders", "A-1").await;
    let view = host.until(begun, |view| view.stands("chat") == "retrying").await;
    host.stop().await;
    host.come_up_limited(|limits| limits.free_bytes_min = 1 << 60).await;
    assert!(host.data().join("reserve").exists());

    // Later steps may read the answer, and the ledger has no page left for one of this size.
    let slow = Behaviour {
        answer_after_ms: 500,
        ..Behaviour::ok(201, &json!({ "filler": "x".repeat(200_000) }).to_string())
    };
    destination.script_next("chat", [slow]);
    host.clock.advance_to(view.step("chat").due_ms.unwrap());
    requests(&destination, "chat", 2).await;
    host.inside().ledger.limit_pages(Some(1)).await.unwrap();
    eventually("the reserve is given up", || async {
        (!host.data().join("reserve").exists()).then_some(())
    })
    .await;
    assert_eq!(host.run(begun).await.stands("chat"), "processing");
    let refused = host
        .deliver("orders", &json!({ "order": { "id": "A-2" } }).to_string())
        .await;
    assert_eq!(refused.status, 503, "{refused:?}");

    host.inside().ledger.limit_pages(None).await.unwrap();
    let view = eventually("the outcome is stored", || async {
        // It is offered again every now and then.
        host.clock.advance(100);
        let view = host.run(begun).await;
        (view.stands("chat") == "completed").then_some(view)
    })
    .await;
    assert_eq!((view.state(), view.attempts("chat").len()), (run::State::Completed, 2));
    assert_eq!(view.step("chat").state.attempts, 2, "the refusal and this one");
    assert_eq!(
        (destination.effects_total(), destination.count("chat").requests),
        (1, 2)
    );
}

/// What cannot be recorded first is not sent; and that the disk is full is nothing that the step has tried.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_cannot_be_recorded_is_not_sent_and_costs_no_attempt() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let steps = CHAT.replace("Order {{ body.order.id }}", "{{ body.filler }}");
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", &steps));
    let host = TestHost::start_embedded(&folder).await;
    destination.script_next("chat", [Behaviour::retry_after("60")]);
    let large = json!({ "order": { "id": "A-1" }, "filler": "x".repeat(200_000) });
    let run = host.taken_in("orders", &large).await;
    let view = host.until(run, |view| view.stands("chat") == "waiting").await;

    host.inside().ledger.limit_pages(Some(1)).await.unwrap();
    host.clock.advance_to(view.step("chat").due_ms.unwrap());
    let connected = destination.until(|tally| tally.services["chat"].connections == 2);
    tokio::time::timeout(PATIENCE, connected)
        .await
        .expect("it is about to send");
    for _ in 0..10 {
        host.run(run).await;
    }
    assert_eq!(
        destination.count("chat").requests,
        1,
        "only the one that was told to wait"
    );

    host.inside().ledger.limit_pages(None).await.unwrap();
    let view = host.settle(run).await;
    assert_eq!(
        (view.state(), view.step("chat").state.attempts),
        (run::State::Completed, 1),
        "{:#?}",
        view.attempts("chat")
    );
    assert_eq!(
        (destination.effects_total(), destination.count("chat").requests),
        (1, 2)
    );
}
