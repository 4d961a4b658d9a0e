//! A disk that is short of room: new events are refused, and what was begun comes to its end.

use crate::CHAT;
use oncegate_domain::run;
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
