//! A backlog that is longer than what a host has in memory: after a restart it is read back in pages, oldest first, and no
//! more of it is in memory than there are seats.

use crate::HOST;
use oncegate_tests::{Behaviour, ChildHost, Connection, Destination, Folder, HOOK_SECRET, Service, eventually, orders};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// More than a connection has seats, and read back in several pages.
const RUNS: usize = 800;
/// Orders that are sent at the same time, and are taken in in any order.
const AT_ONCE: usize = 50;
/// Steps of one connection in memory at most.
const SEATS: u64 = 500;

const STEP: &str = r#"[[steps]]
id = "crm"
use = "crm.send"
[steps.with]
path = "/contacts"
body = { email = "{{ body.order.id }}@example.com" }
"#;

fn number(body: &[u8]) -> usize {
    let body: Value = serde_json::from_slice(body).unwrap();
    let email = body["email"].as_str().unwrap();
    email.split('@').next().unwrap()["A-".len()..].parse().unwrap()
}

/// Takes in all orders while the first is under way and all others wait behind it, and is killed.
async fn killed_with_a_backlog(destination: &Destination) -> ChildHost {
    let crm = Connection::http("crm", &destination.origin("crm"))
        .concurrency(1)
        .timeout("60s")
        .writes("POST /contacts");
    let folder = Folder::new().connection(&crm).flow("orders", &orders("orders", STEP));
    let mut host = ChildHost::start(HOST, &folder).await;
    destination.script_next("crm", [Behaviour::hang_before_effect(600_000)]);
    // Several at a time: an event that finds no seat is slowed down a little.
    let orders: Vec<String> = (0..RUNS).map(|n| format!("A-{n}")).collect();
    let (first, others) = orders.split_first().unwrap();
    assert_eq!(host.order("orders", first).await.unwrap().status, 202);
    for some in others.chunks(AT_ONCE) {
        let mut answers = JoinSet::new();
        for id in some {
            let (client, body) = (host.client.clone(), json!({ "order": { "id": id } }).to_string());
            answers.spawn(async move { client.deliver("orders", Some(HOOK_SECRET), &body).await });
        }
        for answer in answers.join_all().await {
            assert_eq!(answer.unwrap().status, 202);
        }
    }
    assert_eq!(destination.writes_of("crm"), 1, "one is under way");
    host.kill();
    host
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backlog_is_read_back_in_pages_oldest_first() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let mut host = killed_with_a_backlog(&destination).await;
    host.come_up().await;
    let host = &host;
    for done in (0..RUNS as u64).step_by(100).chain([RUNS as u64 - 1]) {
        eventually("what waited is done", || async {
            let counts = host.client.get("counts").await;
            let in_memory = counts["in_memory"].as_u64().unwrap();
            assert!(in_memory <= SEATS, "{in_memory} steps in memory");
            (counts["runs"]["completed"].as_u64().unwrap_or_default() >= done).then_some(())
        })
        .await;
    }

    let order: Vec<usize> = destination
        .requests_of("crm")
        .iter()
        .map(|seen| number(&seen.body))
        .collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        (0..RUNS).collect::<Vec<_>>(),
        "each once, the one in doubt not again"
    );
    for (turn, number) in order.iter().enumerate() {
        // Those that came at the same time have one age; and several threads begin the steps of a page.
        assert!(
            *number < turn + 2 * AT_ONCE,
            "order {number} went {turn}th, before older ones"
        );
    }
    // The one that was under way may have been carried out: nobody sends it again.
    let first = host.client.get("runs?text=A-0&state=needs_review").await;
    let in_doubt = host.client.get("runs?text=A-0&state=retrying").await;
    let either = [first, in_doubt].map(|runs| runs["items"].as_array().unwrap().len());
    assert_eq!(either.iter().sum::<usize>(), 1);
}
