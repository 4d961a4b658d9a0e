//! Strangers who send slowly, or much: they keep nobody out who sends as one does.

use crate::CHAT;
use oncegate_tests::{Connection, Destination, Folder, HOOK_SECRET, START_MS, Service, TestHost, orders};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const BEARER: &str = "{ scheme = \"bearer\", secret = \"hook\" }";
const SIGNED: &str = "{ scheme = \"standard-webhooks\", secret = \"hook\" }";
const ORDER: &str = r#"{"order":{"id":"A-1"}}"#;
const JSON: &str = "content-type: application/json\r\n";

/// An open hook, one with a token, and one with signatures.
async fn host() -> (Destination, TestHost) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let flow = |name: &str, verify: &str| orders(name, CHAT).replace(BEARER, verify);
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("open", &flow("open", "\"none\""))
        .flow("token", &flow("token", BEARER))
        .flow("signed", &flow("signed", SIGNED));
    (destination, TestHost::start(&folder).await)
}

/// Sends a head and the beginning of a body, and no more.
async fn begin(host: &TestHost, hook: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(host.client.address).await.unwrap();
    let head = format!(
        "POST /hooks/{hook} HTTP/1.1\r\nhost: {}\r\n{headers}\r\n{body}",
        host.client.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// The status that comes within this time, if one does.
async fn status(stream: &mut TcpStream, within_ms: u64) -> Option<u16> {
    let mut bytes = [0; 12];
    let read = timeout(Duration::from_millis(within_ms), stream.read_exact(&mut bytes)).await;
    read.ok()?.ok()?;
    std::str::from_utf8(&bytes[9..]).unwrap().parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_bodies_keep_nobody_out_who_is_quick_or_known() {
    let (_destination, mut host) = host().await;
    host.stop().await;
    host.come_up_limited(|limits| limits.hooks_at_once_max = 64).await;
    let mut slow = Vec::new();
    for _ in 0..80 {
        slow.push(begin(&host, "open", &format!("{JSON}content-length: 1000\r\n"), "{").await);
    }
    let known = host.deliver("token", ORDER).await;
    assert_eq!(known.status, 202, "{known:?}");
    let quick = host.client.deliver("open", None, ORDER).await.unwrap();
    assert_eq!(quick.status, 202, "{quick:?}");

    // Their first moment is over: one source has a few slow places, and they are given back when nothing comes.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let mut answered = Vec::new();
    for stream in &mut slow {
        answered.push(status(stream, 20).await);
    }
    let waiting = answered.iter().filter(|status| status.is_none()).count();
    let refused = answered.iter().filter(|status| **status == Some(429)).count();
    assert_eq!((waiting, refused), (2, 78), "{answered:?}");
    let quick = host
        .client
        .deliver("open", None, r#"{"order":{"id":"A-2"}}"#)
        .await
        .unwrap();
    assert_eq!(quick.status, 202, "{quick:?}");
    for stream in slow
        .iter_mut()
        .zip(answered)
        .filter_map(|(stream, said)| said.is_none().then_some(stream))
    {
        assert_eq!(status(stream, 5_000).await, Some(408), "nothing comes any more");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_head_shows_is_refused_before_a_body_is_awaited() {
    let (_destination, host) = host().await;
    let short = "content-length: 1000\r\n";
    let signature = |at_s: i64| {
        format!("{JSON}{short}webhook-id: msg_1\r\nwebhook-timestamp: {at_s}\r\nwebhook-signature: v1,AAAA\r\n")
    };
    let now_s = START_MS / 1_000;
    let heads = [
        ("open", format!("{JSON}content-length: 99999999\r\n"), 413),
        (
            "open",
            format!("{JSON}content-length: 99999999\r\nexpect: 100-continue\r\n"),
            413,
        ),
        ("open", short.to_owned(), 415),
        (
            "open",
            format!("{JSON}{short}content-encoding: gzip\r\ncontent-encoding: gzip\r\n"),
            415,
        ),
        ("open", format!("{JSON}{JSON}{short}"), 415),
        ("token", format!("{JSON}{short}"), 401),
        ("signed", format!("{JSON}{short}"), 401),
        ("signed", signature(now_s - 301), 401),
    ];
    for (hook, head, expected) in heads {
        let mut stream = begin(&host, hook, &head, "").await;
        assert_eq!(status(&mut stream, 1_000).await, Some(expected), "{hook}: {head}");
    }
    let mut stream = begin(&host, "signed", &signature(now_s), "").await;
    assert_eq!(status(&mut stream, 200).await, None, "only the body shows more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_together_take_so_many_bytes_of_memory_and_those_to_one_hook_three_quarters() {
    let (_destination, mut host) = host().await;
    host.stop().await;
    host.come_up_limited(|limits| limits.hook_bodies_bytes_max = 2 << 20)
        .await;
    let headers = format!("{JSON}content-length: 1048576\r\n");
    let most = format!("\"{}", "x".repeat(1_000_000));
    let mut first = begin(&host, "open", &headers, &most).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut flood = begin(&host, "open", &headers, &most).await;
    assert_eq!(status(&mut flood, 2_000).await, Some(429), "it leaves a quarter");
    let headers = format!("{headers}authorization: Bearer {HOOK_SECRET}\r\n");
    let mut second = begin(&host, "token", &headers, &most[..900_000]).await;
    assert_eq!(status(&mut second, 300).await, None, "which is for the others");
    let mut third = begin(&host, "token", &headers, &most).await;
    assert_eq!(status(&mut third, 2_000).await, Some(429));
    drop((first.shutdown().await, second.shutdown().await));
    drop((first, second));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let body = format!(r#"{{"order":{{"id":"A-1"}},"x":"{}"}}"#, "x".repeat(1_000_000));
    let quick = host.client.deliver("open", None, &body).await.unwrap();
    assert_eq!(quick.status, 202, "{quick:?}");
}
