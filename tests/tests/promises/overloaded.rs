//! More than a host can do: what is too much is refused early, what is taken in is done, memory stays as it is, and nobody has
//! to do anything for it to be over.

use crate::{CHAT, HOST};
use futures::future::join_all;
use oncegate_tests::wait::PATIENCE;
use oncegate_tests::{
    Answer, Behaviour, ChildHost, Client, Connection, Destination, Folder, HOOK_SECRET, Rule, Service, TestHost, orders,
};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// Senders that send all they can.
const SENDERS: usize = 48;
/// Places for webhooks of this host: one hook gets two thirds, fewer than there are senders.
const AT_ONCE: usize = 16;
/// What the destination takes for one answer, and how many it gets at the same time: a hundred events a second.
const ANSWER_MS: u64 = 40;
const CONCURRENCY: u32 = 4;

fn answering_after(ms: u64) -> Behaviour {
    Behaviour {
        answer_after_ms: ms,
        ..Behaviour::usual()
    }
}

fn folder(destination: &Destination) -> Folder {
    let chat = Connection::chat(&destination.origin("chat")).concurrency(CONCURRENCY);
    Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT))
}

async fn order(client: &Client, hook: &str, id: &str) -> Answer {
    let body = format!(r#"{{"order":{{"id":"{id}"}}}}"#);
    client.deliver(hook, Some(HOOK_SECRET), &body).await.unwrap()
}

/// Every sender sends so many, each as soon as the one before is answered; how often there was which answer, and the longest
/// wait for a refusal.
async fn flood(host: &ChildHost, name: &'static str, each: usize) -> (BTreeMap<u16, u64>, Duration) {
    let senders = (0..SENDERS).map(|sender| {
        let client = host.client.clone();
        tokio::spawn(async move {
            let mut answers = Vec::new();
            for n in 0..each {
                let sent = Instant::now();
                let answer = order(&client, "orders", &format!("{name}-{sender}-{n}")).await;
                answers.push((answer, sent.elapsed()));
            }
            answers
        })
    });
    let (mut counts, mut longest) = (BTreeMap::new(), Duration::ZERO);
    for (answer, took) in join_all(senders).await.into_iter().flat_map(Result::unwrap) {
        *counts.entry(answer.status).or_default() += 1;
        if answer.status != 202 {
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
            longest = longest.max(took);
        }
    }
    (counts, longest)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn past_saturation_hooks_refuse_early_and_all_that_was_taken_in_is_done() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    destination.script(Rule::always("chat", answering_after(ANSWER_MS)));
    let folder = folder(&destination);
    folder.write(
        "oncegate.toml",
        format!("[limits]\nhooks_at_once_max = {AT_ONCE}\n").as_bytes(),
    );
    let host = ChildHost::start(HOST, &folder).await;

    // Seats and places are full after the first part; the second only adds to what waits on the disk.
    let (first, _) = flood(&host, "first", 15).await;
    let memory_mb = host.memory_mb();
    let (second, refused_within) = flood(&host, "second", 15).await;
    let more_mb = host.memory_mb().saturating_sub(memory_mb);
    let counts = |status| first.get(&status).unwrap_or(&0) + second.get(&status).unwrap_or(&0);
    let (accepted, refused) = (counts(202), counts(429));
    assert_eq!(accepted + refused, (2 * 15 * SENDERS) as u64, "{first:?}, {second:?}");
    assert!(refused > 0, "nothing was too much: {first:?}, {second:?}");
    assert!(
        refused_within < Duration::from_secs(3),
        "refused after {refused_within:?}"
    );
    assert!(more_mb < 10, "{more_mb} MB more for the same load once more");

    // It was a flood and is over: the next one is taken in, and in its turn done.
    destination.clear_script();
    assert_eq!(order(&host.client, "orders", "later").await.status, 202);
    let done = destination.until(|tally| tally.effects_total == accepted + 1);
    timeout(PATIENCE, done).await.expect("what was taken in is done");
    assert_eq!(host.settled("later").await["state"], "completed");
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_all_connections_are_taken_one_more_is_told_so_at_once() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let mut host = TestHost::start(&folder(&destination)).await;
    host.stop().await;
    host.come_up_limited(|limits| limits.connections_max = 2).await;
    let silent = TcpStream::connect(host.client.address).await.unwrap();
    assert_eq!(
        order(&host.client, "orders", "A-1").await.status,
        202,
        "the second has a place"
    );
    drop(silent);
    host.stop().await;

    host.come_up_limited(|limits| limits.connections_max = 1).await;
    let silent = TcpStream::connect(host.client.address).await.unwrap();
    let sent = Instant::now();
    let answer = order(&host.client, "orders", "A-2").await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1")),
        "{answer:?}"
    );
    assert!(sent.elapsed() < Duration::from_secs(2), "{:?}", sent.elapsed());
    // Also where it says nothing at all.
    let mut said = String::new();
    let mut stream = TcpStream::connect(host.client.address).await.unwrap();
    let read = timeout(Duration::from_secs(4), stream.read_to_string(&mut said)).await;
    assert!(read.is_ok() && said.starts_with("HTTP/1.1 503 "), "{said}");
    drop(silent);
    let again = async {
        while order(&host.client, "orders", "A-2").await.status != 202 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, again).await.expect("there is room again");
    timeout(PATIENCE, destination.until(|tally| tally.effects_total == 2))
        .await
        .expect("both are done");
}

/// Whoever waits for a result holds a connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_slow_result_leaves_connections_to_the_others() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    destination.script(Rule::always("chat", answering_after(2_000)));
    let with_result = orders("result", CHAT).replace("\nkey =", "\nrespond = \"result\"\nkey =");
    let mut host = TestHost::start(&folder(&destination).flow("result", &with_result)).await;
    host.stop().await;
    host.come_up_limited(|limits| limits.connections_max = 8).await;
    // Half of the connections may wait so, three quarters of these at one hook: of four senders at once one does not.
    let sent = Instant::now();
    let answers = (0..4).map(|n| {
        let client = host.client.clone();
        async move { (order(&client, "result", &format!("A-{n}")).await, sent.elapsed()) }
    });
    let answers = join_all(answers).await;
    let at_once: Vec<_> = answers.iter().filter(|(answer, _)| answer.status == 202).collect();
    assert_eq!(at_once.len(), 1, "{answers:?}");
    assert!(at_once[0].1 < Duration::from_millis(1_900), "{answers:?}");
    for (answer, _) in answers.iter().filter(|(answer, _)| answer.status != 202) {
        assert_eq!((answer.status, &answer.json()["state"]), (200, &"completed".into()));
    }
    timeout(PATIENCE, destination.until(|tally| tally.effects_total == 4))
        .await
        .expect("whoever waited or not, all are done");
}
