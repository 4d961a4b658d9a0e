//! A host that is told to stop: attempts in flight end first, and nothing waits for another start that need not.

use crate::{CHAT, HOST};
use oncegate_domain::run;
use oncegate_tests::{Behaviour, ChildHost, Connection, Destination, Folder, Service, TestHost, orders};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_in_flight_ends_before_the_host_does() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT));
    let mut host = TestHost::start(&folder).await;
    destination.script_next(
        "chat",
        [Behaviour {
            answer_after_ms: 700,
            ..Behaviour::usual()
        }],
    );
    let run = host.order("orders", "A-1").await;
    let wait = destination.until(|tally| tally.services["chat"].requests == 1);
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap();
    host.restart().await;

    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::Completed, "{:?}", view.attempts("chat"));
    assert_eq!(
        view.attempts("chat").len(),
        1,
        "it was settled by the process that sent it"
    );
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_a_host_in_order() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT));
    let mut host = ChildHost::start(HOST, &folder).await;
    destination.script_next(
        "chat",
        [Behaviour {
            answer_after_ms: 700,
            ..Behaviour::usual()
        }],
    );
    assert_eq!(host.order("orders", "A-1").await.unwrap().status, 202);
    let wait = destination.until(|tally| tally.services["chat"].requests == 1);
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap();
    assert!(host.terminate().await, "it ended well");

    host.come_up().await;
    let run = host.settled("A-1").await;
    assert_eq!(run["state"], "completed", "{run:#}");
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 1)
    );
}
