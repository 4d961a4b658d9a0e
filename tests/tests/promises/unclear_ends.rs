//! C6: how an exchange can end without an answer. The destination offers neither keys nor lookups, so what the host
//! believes shows at once: tried again only where nothing was sent, else a person, and never success.

use crate::CHAT;
use oncegate_domain::doubt::Unsettled;
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::run;
use oncegate_domain::step::{Review, State};
use oncegate_tests::{Behaviour, Connection, Destination, Folder, RunView, Service, TestHost, orders};

async fn host(destination: &Destination) -> TestHost {
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT));
    TestHost::start(&folder).await
}

/// The first request meets `behaviour`; what the host saw, and how often the destination did something.
async fn meets(behaviour: Behaviour) -> (Evidence, RunView, u64) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host(&destination).await;
    destination.script_next("chat", [behaviour]);
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;
    assert_eq!(
        destination.count("chat").requests,
        1,
        "nothing follows a doubt that cannot be settled"
    );
    let attempts = view.attempts("chat");
    assert_eq!((attempts.len(), attempts[0].outcome), (1, Some(Outcome::Unknown)));
    assert_eq!(view.reason("chat"), Review::Doubt(Unsettled::NoWayToAsk));
    (attempts[0].evidence.unwrap(), view, destination.effects_total())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_connection_is_nothing_sent_and_tried_again() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let host = host(&destination).await;
    assert!(destination.refuse("chat").await);

    let run = host.order("orders", "A-1").await;
    let view = host
        .until(run, |view| {
            matches!(view.step("chat").state.state, State::Retrying { .. })
        })
        .await;
    assert_eq!(view.attempts("chat")[0].evidence, Some(Evidence::NothingSent));
    assert_eq!(view.attempts("chat")[0].outcome, Some(Outcome::Unsent));
    assert_eq!(
        view.attempts("chat")[0].intent_ms,
        None,
        "no intent for what could not even begin"
    );
    assert!(!view.step("chat").state.in_doubt());
    assert!(destination.accept("chat").await);

    let view = host.settle(run).await;
    assert_eq!(view.state(), run::State::Completed);
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_after_half_of_the_request_is_unknown() {
    let (evidence, _, effects) = meets(Behaviour::reset_after_half()).await;
    assert_eq!((evidence, effects), (Evidence::MaybeSent, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_after_all_of_the_request_is_unknown() {
    let (evidence, _, effects) = meets(Behaviour::effect_then_reset()).await;
    assert_eq!((evidence, effects), (Evidence::MaybeSent, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_and_then_a_reset_are_unknown() {
    let (evidence, _, effects) = meets(Behaviour::headers_then_reset()).await;
    assert_eq!((evidence, effects), (Evidence::MaybeSent, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_200_with_a_truncated_body_is_unknown() {
    let (evidence, _, effects) = meets(Behaviour::truncated_body()).await;
    assert_eq!((evidence, effects), (Evidence::MaybeSent, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_500_with_a_friendly_page_is_unknown() {
    let (evidence, view, effects) = meets(Behaviour::effect_then_status(500)).await;
    assert_eq!((evidence, effects), (Evidence::Answered(500), 1));
    let message = view.attempts("chat")[0].message.clone().unwrap();
    assert!(
        message.contains("500"),
        "a person reads what the destination said: {message}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_stays_silent_is_unknown_after_the_time_limit() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat")).timeout("500ms");
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    let host = TestHost::start(&folder).await;
    destination.script_next("chat", [Behaviour::effect_then_silence(60_000)]);

    let run = host.order("orders", "A-1").await;
    let view = host.until(run, |view| view.state() == run::State::NeedsReview).await;

    assert_eq!(view.attempts("chat")[0].evidence, Some(Evidence::MaybeSent));
    assert_eq!(view.reason("chat"), Review::Doubt(Unsettled::NoWayToAsk));
    assert_eq!(
        (destination.count("chat").requests, destination.effects_total()),
        (1, 1)
    );
}
