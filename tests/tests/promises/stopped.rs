//! C18, one host: stopped between the intent and the first byte, and continued past `send_by`. Nothing leaves.

use crate::CRM;
use oncegate::clock::ManualClock;
use oncegate_domain::evidence::Evidence;
use oncegate_domain::run;
use oncegate_tests::{Connection, Destination, Folder, RunView, START_MS, Service, StoppedOnce, TestHost, orders};
use std::sync::Arc;

/// The last moment for the first byte, after the intent.
const SEND_BY_MS: i64 = 5_000;
/// Longer than that, shorter than the time limit of an exchange.
const TOO_LONG_MS: u64 = 6_000;
/// Shorter than that.
const SHORT_MS: u64 = 4_000;
/// How many looks at the boot clock a host is stopped before, one after the other.
const LOOKS: usize = 8;

/// The host looks at its boot clock a few times on the way of a request: when the intent is written, right before the
/// first byte, and so on. It is stopped right before each of these looks in turn, whichever they are. At one of them the
/// intent is there and the first byte is not: then nothing may leave. At all of them there is one effect in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_was_stopped_past_the_last_moment_sends_nothing_late() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let mut stopped_in_between = 0;
    for (id, view) in stopped_for(&destination, TOO_LONG_MS).await {
        let first = &view.attempts("crm")[0];
        if first.intent_ms.is_some() && first.evidence == Some(Evidence::NothingSent) {
            stopped_in_between += 1;
            let posts = destination.requests_of("crm").into_iter();
            let posts = posts
                .filter(|seen| seen.method == "POST" && seen.text().contains(&id))
                .count();
            assert_eq!(posts, 1, "only the second attempt was sent");
        }
    }
    assert!(
        stopped_in_between > 0,
        "no stop fell between the intent and the first byte"
    );
    assert_eq!(destination.effects_total(), LOOKS as u64);
    assert_eq!(destination.duplicates(), []);
}

/// The other side of the limit: whoever is continued in time sends, and needs no second attempt for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_was_stopped_for_less_than_that_goes_on_with_what_it_began() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    for (id, view) in stopped_for(&destination, SHORT_MS).await {
        let attempts = view.attempts("crm");
        assert_eq!(attempts.len(), 1, "{id}: {attempts:#?}");
        assert_eq!(attempts[0].evidence, Some(Evidence::Answered(201)), "{id}");
    }
    assert_eq!(destination.count("crm").requests, LOOKS as u64);
    assert_eq!(destination.effects_total(), LOOKS as u64);
}

/// Orders, each with a stop of this length before another look at the boot clock; their ids, and what became of them.
async fn stopped_for(destination: &Destination, stop_ms: u64) -> Vec<(String, RunView)> {
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", CRM));
    let inside = Arc::new(ManualClock::new(START_MS));
    let clock = Arc::new(StoppedOnce::new(Arc::clone(&inside), stop_ms));
    let host = TestHost::start_with(&folder, inside, clock.clone()).await;

    let mut views = Vec::new();
    for nth in 1..=LOOKS {
        let id = format!("A-{nth}");
        clock.stop_at_look(nth as i64);
        let run = host.order("orders", &id).await;
        let view = host.settle(run).await;
        assert_eq!(view.state(), run::State::Completed, "{:#?}", view.attempts("crm"));
        for attempt in view.attempts("crm") {
            let send_by_ms = attempt.intent_ms.map(|intent_ms| intent_ms + SEND_BY_MS);
            assert_eq!(attempt.send_by_ms, send_by_ms, "{attempt:#?}");
        }
        views.push((id, view));
    }
    views
}
