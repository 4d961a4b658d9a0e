//! One destination of several is slow, or away: what goes to the others is as quick as ever. Counted and timed at the
//! destination.

use futures::StreamExt;
use futures::stream;
use oncegate_tests::wait::PATIENCE;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, Service, TestHost, orders};
use std::time::Duration;
use tokio::time::Instant;

/// More than one connection has seats for, and far more than it may have under way.
const FLOOD: usize = 600;
/// Calls that the host makes at the same time: few, so that whoever has to wait for one that is slow waits long.
const CALLS: u32 = 4;
/// More than that: nothing but the host keeps the slow one from having all of them.
const CONCURRENCY: u32 = 16;
/// How long the slow one takes for its answer.
const SLOW_MS: u64 = 5_000;
/// How many are timed.
const TIMED: usize = 15;

/// A message through this connection.
fn step(id: &str, connection: &str) -> String {
    format!(
        "[[steps]]\nid = \"{id}\"\nuse = \"{connection}.send\"\n[steps.with]\npath = \"/messages\"\nbody = {{ text = \"Order \
         {{{{ body.order.id }}}}\" }}\n"
    )
}

async fn stage() -> (Destination, TestHost) {
    let services = ["slow", "quick"].map(|name| Service::chat().named(name));
    let destination = Destination::start(services).await.unwrap();
    let to = |name: &str| {
        let chat = Connection::chat(&destination.origin(name)).named(name);
        chat.concurrency(CONCURRENCY).timeout("30s")
    };
    let (slow, quick) = (step("slow", "slow"), step("quick", "quick"));
    let folder = Folder::new()
        .connection(&to("slow"))
        .connection(&to("quick"))
        .flow("slow", &orders("slow", &slow))
        .flow("quick", &orders("quick", &quick))
        .flow("quick-slow", &orders("quick-slow", &format!("{quick}{slow}")))
        .flow("slow-quick", &orders("slow-quick", &format!("{slow}{quick}")));
    let mut host = TestHost::start(&folder).await;
    host.stop().await;
    host.come_up_limited(|limits| limits.calls_max = CALLS).await;
    (destination, host)
}

async fn effects(destination: &Destination, service: &str, at_least: u64) {
    let wait = destination.until(|tally| tally.services[service].effects_total >= at_least);
    let within = tokio::time::timeout(PATIENCE, wait).await;
    within.unwrap_or_else(|_| panic!("{service} has {:?}", destination.count(service)));
}

/// From the 202 to the effect at the quick one, as the slower half of several orders see it at least.
async fn quick_takes(destination: &Destination, host: &TestHost, name: &str) -> Duration {
    let mut took = Vec::new();
    for n in 0..TIMED {
        let before = destination.count("quick").effects_total;
        host.order("quick", &format!("{name}-{n}")).await;
        let accepted = Instant::now();
        effects(destination, "quick", before + 1).await;
        took.push(accepted.elapsed());
    }
    took.sort_unstable();
    took[TIMED / 2]
}

async fn flood(host: &TestHost) {
    let orders = stream::iter(0..FLOOD).for_each_concurrent(64, |n| async move {
        host.order("slow", &format!("flood-{n}")).await;
    });
    orders.await;
}

/// The quick one is as quick as it was: on a machine that does other things as well, and still far from the slow one's pace.
fn assert_as_quick(before: Duration, now: Duration) {
    assert!(
        now < before * 3 + Duration::from_millis(300),
        "{now:?}, and {before:?} without the flood"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_for_a_slow_destination_does_not_slow_the_others() {
    let (destination, host) = stage().await;
    let alone = quick_takes(&destination, &host, "alone").await;
    let slow = Behaviour {
        answer_after_ms: SLOW_MS,
        ..Behaviour::usual()
    };
    destination.script(Rule::always("slow", slow));
    flood(&host).await;
    assert!(
        destination.count("slow").requests < 100,
        "the flood is over before anything was timed"
    );
    assert_as_quick(alone, quick_takes(&destination, &host, "flooded").await);

    // A run with a step at each: the quick step is not held up by what waits for the slow one, before or behind it.
    let begun = Instant::now();
    let before = destination.count("quick").effects_total;
    let quick_first = host.order("quick-slow", "quick-first").await;
    effects(&destination, "quick", before + 1).await;
    assert_as_quick(alone, begun.elapsed());
    assert_eq!(host.run(quick_first).await.stands("slow"), "pending");
    let slow_first = host.order("slow-quick", "slow-first").await;

    destination.clear_script();
    let all = FLOOD as u64 + 2;
    effects(&destination, "slow", all).await;
    for run in [quick_first, slow_first] {
        let view = host.settle(run).await;
        assert_eq!((view.stands("slow"), view.stands("quick")), ("completed", "completed"));
    }
    assert_eq!(
        destination.count("slow").effects_total,
        all,
        "each once, the flood as well"
    );
    assert_eq!(destination.count("quick").effects_total, 2 * TIMED as u64 + 2);
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_hangs_does_not_slow_the_others() {
    let (destination, host) = stage().await;
    let alone = quick_takes(&destination, &host, "alone").await;
    destination.script(Rule::always("slow", Behaviour::hang_before_effect(600_000)));
    flood(&host).await;
    assert_as_quick(alone, quick_takes(&destination, &host, "flooded").await);
    assert!(
        destination.count("slow").requests <= u64::from(CALLS),
        "a hang lets few find out"
    );
    assert_eq!(destination.count("quick").effects_total, 2 * TIMED as u64);
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_refuses_connections_does_not_slow_the_others_and_loses_nothing() {
    let (destination, host) = stage().await;
    let alone = quick_takes(&destination, &host, "alone").await;
    assert!(destination.refuse("slow").await);
    flood(&host).await;
    assert_as_quick(alone, quick_takes(&destination, &host, "flooded").await);
    assert_eq!(destination.count("slow").requests, 0);

    assert!(destination.accept("slow").await);
    let last = host.order("slow", "last").await;
    host.settle(last).await;
    // It comes back as a ramp; time goes on for those who wait.
    let back = async {
        while destination.count("slow").effects_total < FLOOD as u64 + 1 {
            host.clock.advance(1_000);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, back).await;
    assert!(came.is_ok(), "{:?}", destination.count("slow"));
    assert_eq!(destination.duplicates(), []);
}
