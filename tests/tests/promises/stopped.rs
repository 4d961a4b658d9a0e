//! C18, one host: stopped between the intent and the first byte, and continued past `send_by`. Nothing leaves.

use crate::CRM;
use oncegate::clock::ManualClock;
use oncegate_domain::evidence::Evidence;
use oncegate_domain::run;
use oncegate_tests::{Connection, Destination, Folder, START_MS, Service, StoppedOnce, TestHost, orders};
use std::sync::Arc;

/// Longer than `send_by` allows (5 s), shorter than the time limit of an exchange.
const STOP_MS: u64 = 6_000;

/// The host looks at its boot clock a few times on the way of a request: when the intent is written, right before the
/// first byte, and so on. It is stopped right before each of these looks in turn, whichever they are. At one of them the
/// intent is there and the first byte is not: then nothing may leave. At all of them there is one effect in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_was_stopped_past_the_last_moment_sends_nothing_late() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", CRM));
    let inside = Arc::new(ManualClock::new(START_MS));
    let clock = Arc::new(StoppedOnce::new(Arc::clone(&inside), STOP_MS));
    let host = TestHost::start_with(&folder, inside, clock.clone()).await;

    let mut stopped_in_between = 0;
    for nth in 1..=8 {
        let id = format!("A-{nth}");
        clock.stop_at_look(nth);
        let run = host.order("orders", &id).await;
        let view = host.settle(run).await;
        assert_eq!(view.state(), run::State::Completed, "{:#?}", view.attempts("crm"));
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
    assert_eq!(destination.effects_total(), 8);
    assert_eq!(destination.duplicates(), []);
}
