//! One destination of several is slow, or away: what goes to the others is as quick as ever. Counted and timed at the
//! destination.

use futures::StreamExt;
use futures::stream;
use oncegate::clock::Clock;
use oncegate::destination::Seen;
use oncegate_tests::pace::{TIMED, assert_as_quick, takes};
use oncegate_tests::wait::{PATIENCE, effects_of};
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
/// The hook and the service that are timed.
const QUICK: (&str, &str) = ("quick", "quick");

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

async fn flood(host: &TestHost) {
    let orders = stream::iter(0..FLOOD).for_each_concurrent(64, |n| async move {
        host.order("slow", &format!("flood-{n}")).await;
    });
    orders.await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_for_a_slow_destination_does_not_slow_the_others() {
    let (destination, host) = stage().await;
    let alone = takes(&destination, &host, QUICK, "alone").await;
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
    assert_as_quick(alone, takes(&destination, &host, QUICK, "flooded").await);

    // A run with a step at each: the quick step is not held up by what waits for the slow one, before or behind it.
    let begun = Instant::now();
    let before = destination.count("quick").effects_total;
    let quick_first = host.order("quick-slow", "quick-first").await;
    effects_of(&destination, "quick", before + 1).await;
    assert_as_quick(alone, begun.elapsed());
    assert_eq!(host.run(quick_first).await.stands("slow"), "pending");
    let slow_first = host.order("slow-quick", "slow-first").await;

    destination.clear_script();
    let all = FLOOD as u64 + 2;
    effects_of(&destination, "slow", all).await;
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
    let alone = takes(&destination, &host, QUICK, "alone").await;
    destination.script(Rule::always("slow", Behaviour::hang_before_effect(600_000)));
    flood(&host).await;
    assert_as_quick(alone, takes(&destination, &host, QUICK, "flooded").await);
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
    let alone = takes(&destination, &host, QUICK, "alone").await;
    assert!(destination.refuse("slow").await);
    flood(&host).await;
    assert_as_quick(alone, takes(&destination, &host, QUICK, "flooded").await);
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

/// A destination that has just come up is not thrown down again by all who waited for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_is_back_is_tried_by_one_and_each_good_answer_lets_twice_as_many_go_the_oldest_first() {
    const WAIT: usize = 20;
    // They found out that it is away; while it comes back they go behind all who did not fail.
    const FAILED: usize = 3;
    const ANSWER_MS: u64 = 1_000;
    let destination = Destination::start([Service::chat().named("slow")]).await.unwrap();
    let slow = Connection::chat(&destination.origin("slow"))
        .named("slow")
        .timeout("2m");
    let folder = Folder::new()
        .connection(&slow)
        .flow("slow", &orders("slow", &step("slow", "slow")));
    let host = TestHost::start(&folder).await;
    assert!(destination.refuse("slow").await);
    for n in 0..WAIT {
        let run = host.order("slow", &format!("{n:02}")).await;
        host.until(run, |view| view.step("slow").due_ms > Some(host.clock.now_ms()))
            .await;
        host.clock.advance(1);
    }

    let answer = Behaviour {
        answer_after_ms: ANSWER_MS,
        ..Behaviour::usual()
    };
    destination.script(Rule::always("slow", answer));
    assert!(destination.accept("slow").await);
    host.clock.advance(60_000);
    effects_of(&destination, "slow", WAIT as u64).await;

    let seen = destination.requests_of("slow");
    for answers in 0..4 {
        let next_ms = seen[answers].at_ms + ANSWER_MS;
        let begun = seen.iter().filter(|seen| seen.at_ms < next_ms).count();
        assert!(begun <= answers + (1 << answers), "{begun} after {answers} answers");
    }
    // One alone, two after its answer, and eight after both of theirs.
    for (first, at_once) in [(0, 1), (1, 2), (3, 8)] {
        let mut orders: Vec<String> = seen[first..first + at_once].iter().map(Seen::text).collect();
        orders.sort_unstable();
        for (n, text) in orders.iter().enumerate() {
            assert!(text.contains(&format!("Order {:02}", FAILED + first + n)), "{orders:?}");
        }
    }
    assert_eq!(destination.duplicates(), []);
}
