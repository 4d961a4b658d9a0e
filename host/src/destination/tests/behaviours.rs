//! Every behaviour, as a client sees it at its socket, and what it leaves in the count.

use super::raw::{Left, Raw, ask, get, once, post};
use crate::destination::{Answer, Behaviour, Cut, Destination, End, Framing, Rule, Service, refusing_port};
use std::io::ErrorKind;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

/// Long enough on any machine; waited for in full only by a test that fails.
const LONG_MS: u64 = 20_000;
const LONG: Duration = Duration::from_millis(LONG_MS);
/// How long nothing happens where nothing should.
const MOMENT_MS: u64 = 100;
const BODY: &str = r#"{"email":"a@example.com"}"#;

async fn crm(behaviour: Behaviour) -> Destination {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    destination.script_next("crm", [behaviour]);
    destination
}

/// What a client sees of one write that ends its connection, and how many effects it had.
async fn seen(behaviour: Behaviour) -> (String, Left, u64) {
    let destination = crm(behaviour).await;
    let (answer, left) = once(destination.address("crm"), &post("/contacts", "k1", BODY), LONG_MS).await;
    (answer, left, destination.effects_total())
}

/// The answer to one write that keeps its connection, and how many effects it had.
async fn answered(behaviour: Behaviour) -> (String, u64) {
    let destination = crm(behaviour).await;
    let mut raw = Raw::connect(destination.address("crm")).await;
    raw.write(&post("/contacts", "k1", BODY)).await;
    let answer = raw.answer().await;
    assert_eq!(raw.read(MOMENT_MS).await, (String::new(), Left::Open));
    (answer, destination.effects_total())
}

/// Nothing comes back for a moment after all was read; how many effects there were by then.
async fn silent(behaviour: Behaviour) -> u64 {
    let destination = crm(behaviour).await;
    let mut raw = Raw::connect(destination.address("crm")).await;
    raw.write(&post("/contacts", "k1", BODY)).await;
    let read = destination.until(|_| destination.requests().first().is_some_and(|seen| seen.whole));
    timeout(LONG, read).await.unwrap();
    assert_eq!(raw.read(MOMENT_MS).await, (String::new(), Left::Open));
    destination.effects_total()
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[tokio::test]
async fn a_usual_answer_is_framed_and_keeps_the_connection() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let mut raw = Raw::connect(destination.address("crm")).await;
    for key in ["k1", "k2"] {
        raw.write(&post("/contacts", key, BODY)).await;
        assert!(raw.answer().await.starts_with("HTTP/1.1 201 Created\r\n"));
    }
    let requests = destination.requests_of("crm");
    assert_eq!((requests[0].connection, requests[1].connection), (1, 1));
    assert_eq!(destination.count("crm").connections, 1);
}

#[tokio::test]
async fn own_answers_come_with_or_without_the_effect() {
    let (answer, effects) = answered(Behaviour::ok(200, r#"{"id":7}"#)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && body(&answer) == r#"{"id":7}"#);
    assert_eq!(effects, 1);

    let (answer, effects) = answered(Behaviour::effect_then_status(502)).await;
    assert!(answer.starts_with("HTTP/1.1 502 "));
    assert_eq!(effects, 1);

    for (behaviour, start, line) in [
        (
            Behaviour::status(503),
            "HTTP/1.1 503 ",
            "content-type: application/json",
        ),
        (Behaviour::retry_after("120"), "HTTP/1.1 429 ", "retry-after: 120"),
        (
            Behaviour::redirect("http://x/y"),
            "HTTP/1.1 307 ",
            "location: http://x/y",
        ),
        (
            Behaviour::error_in_200(r#"{"error":1}"#),
            "HTTP/1.1 200 ",
            "content-length: 11",
        ),
        (
            Behaviour::status_with(204, &[], ""),
            "HTTP/1.1 204 ",
            "HTTP/1.1 204 Done",
        ),
    ] {
        let (answer, effects) = answered(behaviour).await;
        assert!(
            answer.starts_with(start) && answer.lines().any(|have| have == line),
            "{answer}"
        );
        assert_eq!(effects, 0, "{answer}");
    }
}

#[tokio::test]
async fn an_answer_can_be_lost_after_the_effect() {
    assert_eq!(
        seen(Behaviour::effect_then_reset()).await,
        (String::new(), Left::Reset, 1)
    );
    assert_eq!(
        seen(Behaviour::effect_then_silence(20)).await,
        (String::new(), Left::Closed, 1)
    );
    assert_eq!(silent(Behaviour::effect_then_silence(LONG_MS)).await, 1);
    assert_eq!(silent(Behaviour::hang_before_effect(LONG_MS)).await, 0);
}

#[tokio::test]
async fn an_answer_can_be_cut_anywhere() {
    let (answer, left, effects) = seen(Behaviour::headers_then_reset()).await;
    assert!(
        answer.is_empty() || (answer.contains("content-length: ") && body(&answer).is_empty()),
        "{answer}"
    );
    assert_eq!((left, effects), (Left::Reset, 1));

    let (answer, left, effects) = seen(Behaviour::truncated_body()).await;
    let promised: usize = answer
        .lines()
        .find_map(|l| l.strip_prefix("content-length: "))
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(body(&answer).len(), promised / 2);
    assert_eq!((left, effects), (Left::Closed, 1));

    let chunked = Behaviour {
        framing: Framing::Chunked,
        end: End::Close,
        ..Behaviour::ok(200, "[1234]")
    };
    let (answer, left, _) = seen(chunked.clone()).await;
    assert_eq!(
        (body(&answer), left),
        ("3\r\n[12\r\n3\r\n34]\r\n0\r\n\r\n", Left::Closed)
    );
    let (answer, left, _) = seen(Behaviour {
        cut: Cut::HalfBody,
        ..chunked
    })
    .await;
    assert_eq!((body(&answer), left), ("3\r\n[12\r\n3\r", Left::Closed));

    let until_close = Behaviour {
        framing: Framing::UntilClose,
        ..Behaviour::ok(200, "[1234]")
    };
    let (answer, left, _) = seen(until_close).await;
    assert!(!answer.contains("content-length"));
    assert_eq!((body(&answer), left), ("[1234]", Left::Closed));

    let raw = Behaviour {
        answer: Answer::Raw("SSH-2.0-x\r\n".to_owned()),
        ..Behaviour::usual()
    };
    assert_eq!(seen(raw).await, ("SSH-2.0-x\r\n".to_owned(), Left::Closed, 1));
    assert_eq!(seen(Behaviour::answer_then_close()).await.1, Left::Closed);
}

#[tokio::test]
async fn a_connection_can_be_reset_before_any_effect() {
    for (behaviour, requests, bytes) in [
        (Behaviour::reset_on_connect(), 0, None),
        (Behaviour::reset_after_head(), 1, Some(0)),
        (Behaviour::reset_after_half(), 1, Some(BODY.len() / 2)),
        (Behaviour::reset_after_all(), 1, Some(BODY.len())),
    ] {
        let destination = crm(behaviour).await;
        let (answer, left) = once(destination.address("crm"), &post("/contacts", "k1", BODY), LONG_MS).await;
        assert_eq!(
            (answer.as_str(), left, destination.effects_total()),
            ("", Left::Reset, 0)
        );
        let seen = destination.requests();
        assert_eq!(seen.len(), requests);
        assert_eq!(seen.first().map(|seen| seen.body.len()), bytes);
        assert_eq!(destination.count("crm").connections, 1);
    }
}

#[tokio::test]
async fn a_reset_at_half_stops_a_client_that_is_still_writing() {
    let destination = crm(Behaviour::reset_after_half()).await;
    let large = format!("{{\"pad\":\"{}\"}}", "x".repeat(12 * 1024 * 1024));
    let request = post("/contacts", "k1", &large);
    // Some systems take in all of it before anybody reads: the client still has something to write when the reset has come.
    let (most, rest) = request.split_at(request.len() - BODY.len());
    let mut raw = Raw::connect(destination.address("crm")).await;
    assert!(!raw.write(most).await || raw.read(LONG_MS).await.1 == Left::Reset);
    assert!(!raw.write(rest).await);
    let seen = &destination.requests()[0];
    assert_eq!((seen.body.len(), seen.whole), (large.len() / 2, false));
}

#[tokio::test]
async fn an_early_answer_comes_before_the_body_was_sent() {
    let destination = crm(Behaviour::early_answer()).await;
    let request = post("/contacts", "k1", BODY);
    let (head, rest) = request.split_at(request.len() - BODY.len());
    let mut raw = Raw::connect(destination.address("crm")).await;
    raw.write(head).await;
    sleep(Duration::from_millis(50)).await;
    raw.write(rest).await;
    let (answer, left) = raw.read(LONG_MS).await;
    assert_eq!((body(&answer), left), (r#"{"early":true}"#, Left::Closed));
    assert_eq!(
        (destination.effects_total(), destination.requests()[0].whole),
        (0, false)
    );
}

#[tokio::test]
async fn a_drip_takes_its_time() {
    let started = Instant::now();
    let drip = Behaviour {
        pace_ms: 20,
        ..Behaviour::ok(200, "[12345678]")
    };
    let destination = crm(drip).await;
    assert!(
        ask(destination.address("crm"), &post("/contacts", "k1", BODY))
            .await
            .ends_with("[12345678]")
    );
    assert!(started.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_late_effect_comes_although_the_client_is_gone() {
    let destination = crm(Behaviour::late_effect(1_000)).await;
    let address = destination.address("crm");
    let request = post("/contacts", "k1", BODY);
    assert_eq!(once(address, &request, 20).await, (String::new(), Left::Open));
    assert!(
        ask(address, &get("/contacts/by-key/k1"))
            .await
            .starts_with("HTTP/1.1 404")
    );
    timeout(LONG, destination.until(|tally| tally.effects_total == 1))
        .await
        .unwrap();
    assert!(
        ask(address, &get("/contacts/by-key/k1"))
            .await
            .starts_with("HTTP/1.1 200")
    );
}

#[tokio::test]
async fn a_service_may_commit_late_behind_a_gateway_that_gave_up() {
    let destination = Destination::start([Service::crm().commits_after(1_000)]).await.unwrap();
    destination.script_next("crm", [Behaviour::effect_then_status(504)]);
    let answer = ask(destination.address("crm"), &post("/contacts", "k1", BODY)).await;
    assert!(answer.starts_with("HTTP/1.1 504"));
    assert_eq!(destination.effects_total(), 0);
    timeout(LONG, destination.until(|tally| tally.effects_total == 1))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_service_can_refuse_connections_and_take_them_again() {
    let destination = Destination::start([Service::crm(), Service::chat()]).await.unwrap();
    let address = destination.address("crm");
    let mut idle = Raw::connect(address).await;
    idle.write(&get("/account")).await;
    idle.answer().await;

    assert!(destination.refuse("crm").await);
    assert_eq!(
        TcpStream::connect(address).await.unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
    assert_eq!(idle.read(LONG_MS).await, (String::new(), Left::Closed));
    ask(destination.address("chat"), &post("/messages", "", "{}")).await;

    assert!(destination.accept("crm").await);
    assert!(ask(address, &get("/account")).await.starts_with("HTTP/1.1 200"));
    assert!(!destination.refuse("nobody").await);

    // Lost answer, then a refused connection, then well again (C16).
    destination.script_next("crm", [Behaviour::effect_then_reset().and_refuse(1_500)]);
    assert_eq!(
        once(address, &post("/contacts", "k1", BODY), LONG_MS).await.1,
        Left::Reset
    );
    assert!(TcpStream::connect(address).await.is_err());
    let open_again = async {
        while TcpStream::connect(address).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, open_again).await.unwrap();
    assert!(ask(address, &get("/account")).await.starts_with("HTTP/1.1 200"));

    let (held, closed) = refusing_port().unwrap();
    assert_eq!(
        TcpStream::connect(closed).await.unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
    drop(held);
}

#[tokio::test]
async fn what_is_not_a_request_is_kept_as_what_it_was() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let address = destination.address("crm");
    let (answer, left) = once(address, "GET /\r\n\r\n", LONG_MS).await;
    assert!(answer.starts_with("HTTP/1.1 400 "));
    assert_eq!(left, Left::Closed);

    // A client that dies within its head, and one that dies within its body.
    let request = post("/contacts", "k1", BODY);
    for cut in [10, request.len() - 5] {
        let mut raw = Raw::connect(address).await;
        raw.write(&request[..cut]).await;
        drop(raw);
    }
    let bytes = || {
        let mut bytes: Vec<u64> = destination.requests().iter().map(|seen| seen.bytes).collect();
        bytes.sort_unstable();
        bytes
    };
    let expected = [9, 10, request.len() as u64 - 5];
    timeout(LONG, destination.until(|_| bytes() == expected)).await.unwrap();
    let mut seen = destination.requests();
    seen.sort_by_key(|seen| seen.bytes);
    assert!(seen.iter().all(|seen| !seen.whole));
    assert_eq!((seen[1].method.as_str(), seen[2].method.as_str()), ("", "POST"));
    assert_eq!(destination.effects_total(), 0);
}

#[tokio::test]
async fn stopping_leaves_no_port_open() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    destination.script(Rule::always("chat", Behaviour::effect_then_silence(60_000)));
    let address = destination.address("chat");
    let mut raw = Raw::connect(address).await;
    raw.write(&post("/messages", "", "{}")).await;
    timeout(LONG, destination.until(|tally| tally.effects_total == 1))
        .await
        .unwrap();
    timeout(LONG, destination.stop()).await.unwrap();
    assert_eq!(raw.read(1_000).await.0, "");
    assert!(TcpStream::connect(address).await.is_err());
}
