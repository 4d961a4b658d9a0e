//! A handful of events that the destination always refuses, among good ones of the same connection: they use up their own
//! attempts and come to a person, and hold up nobody.

use crate::CHAT;
use oncegate::clock::Clock;
use oncegate_domain::id::Id;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, Service, TestHost, about_step, orders};

const BAD: usize = 5;
const GOOD: usize = 20;
const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;

async fn host(chat: &Connection) -> TestHost {
    let folder = Folder::new()
        .connection(chat)
        .flow("bad", &orders("bad", CHAT))
        .flow("good", &orders("good", CHAT));
    TestHost::start(&folder).await
}

/// A destination that answers events of the one flow with `status`, whatever they are answered before and after.
async fn refuses(status: u16) -> Destination {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    destination.script(Rule::always("chat", Behaviour::status(status)).text("BAD"));
    destination
}

/// The bad ones come first and are refused, or find the connection closed; then come the good ones.
async fn deliver(host: &TestHost) -> (Vec<Id>, Vec<Id>) {
    let (mut bad, mut good) = (Vec::new(), Vec::new());
    for n in 0..BAD {
        let run = host.order("bad", &format!("BAD-{n}")).await;
        host.until(run, |view| ["waiting", "retrying"].contains(&view.stands("chat")))
            .await;
        bad.push(run);
        host.clock.advance(1);
    }
    for n in 0..GOOD {
        good.push(host.order("good", &format!("A-{n}")).await);
    }
    (bad, good)
}

/// The good ones complete within `within_ms`, later ones at once, and the bad ones come to a person by themselves.
async fn holds_up_nobody(host: &TestHost, destination: &Destination, within_ms: i64) {
    let (bad, good) = deliver(host).await;
    let began_ms = host.clock.now_ms();
    for run in &good {
        assert_eq!(host.settle(*run).await.state(), run::State::Completed);
    }
    let took_ms = host.clock.now_ms() - began_ms;
    assert!(took_ms <= within_ms, "the good ones waited for {took_ms} ms");
    for (n, run) in bad.iter().enumerate() {
        assert_eq!(host.settle(*run).await.state(), run::State::NeedsReview);
        let later = host.order("good", &format!("B-{n}")).await;
        // Without moving time.
        host.until(later, |view| view.state() == run::State::Completed).await;
    }
    let reviews = host.reviews().await;
    assert_eq!(reviews.len(), BAD);
    for item in &reviews {
        assert_eq!(about_step(item), (Review::AttemptsUsedUp, false));
    }
    assert_eq!(destination.effects_total(), (GOOD + BAD) as u64);
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_that_are_always_answered_503_hold_up_nobody() {
    let destination = refuses(503).await;
    let chat = Connection::chat(&destination.origin("chat")).trust("refused_before_effect = [503]");
    holds_up_nobody(&host(&chat).await, &destination, 30 * SECOND_MS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_that_are_always_answered_503_hold_up_nobody_where_the_probe_is_fine() {
    let destination = refuses(503).await;
    let well = Behaviour::status_with(200, &[], "{}");
    destination.script(Rule::always("chat", well).reads());
    let chat = Connection::chat(&destination.origin("chat"))
        .trust("refused_before_effect = [503]")
        .probe("/account");
    holds_up_nobody(&host(&chat).await, &destination, 30 * SECOND_MS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_that_are_always_answered_401_hold_up_nobody() {
    let destination = refuses(401).await;
    let chat = Connection::chat(&destination.origin("chat"));
    holds_up_nobody(&host(&chat).await, &destination, 3 * MINUTE_MS).await;
}
