//! Which idle connection carries a request that changes something. One that the destination is closing right now leaves the
//! request in doubt, so it depends on what could settle that.

use crate::{CHAT, MAIL};
use oncegate_tests::{Connection, Destination, Folder, Service, TestHost, orders};

/// Two orders through a connection, the second so long after the first: how many connections the destination saw.
async fn connections(service: Service, connection: impl Fn(&str) -> Connection, steps: &str, idle_ms: u64) -> u64 {
    let name = service.name.clone();
    let destination = Destination::start([service]).await.unwrap();
    let folder = Folder::new()
        .connection(&connection(&destination.origin(&name)))
        .flow("orders", &orders("orders", steps));
    let host = TestHost::start(&folder).await;
    for order in ["A-1", "A-2"] {
        let run = host.order("orders", order).await;
        host.until(run, |view| view.0.steps[0].0.state.state.as_str() == "completed")
            .await;
        host.clock.advance(idle_ms);
    }
    let count = destination.count(&name);
    assert_eq!((count.requests, count.effects_total), (2, 2));
    count.connections
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_could_settle_a_doubt_only_a_connection_of_a_moment_ago_is_used_again() {
    for (idle_ms, expected) in [(1_999, 1), (2_000, 2)] {
        let seen = connections(Service::chat(), Connection::chat, CHAT, idle_ms).await;
        assert_eq!(seen, expected, "after {idle_ms} ms");
    }
}

/// Below the 5 s after which the most impatient servers close theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_key_protects_a_resend_a_connection_is_used_again_for_four_seconds() {
    for (idle_ms, expected) in [(3_999, 1), (4_000, 2)] {
        let seen = connections(Service::mailer(), Connection::mailer, MAIL, idle_ms).await;
        assert_eq!(seen, expected, "after {idle_ms} ms");
    }
}
