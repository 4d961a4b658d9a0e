use super::super::arriving::{Arriving, Room};
use super::*;
use axum::http::HeaderValue;
use futures::StreamExt;
use std::net::Ipv4Addr;
use std::sync::Arc;

const BOUNDS: Bounds = Bounds {
    bytes_max: 100,
    ms_max: 1_000,
};

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn check(lines: &[(&'static str, &str)], bytes: &[u8]) -> Result<Value, u16> {
    let announced = super::announced(&headers(lines), &Body::from(bytes.to_vec()), BOUNDS);
    let parsed = announced.and_then(|announced| {
        let raw = RawBody {
            bytes: bytes.to_vec(),
            encoding: announced.encoding,
            content_type: announced.media_type,
        };
        parse(&raw, BOUNDS)
    });
    parsed.map_err(|problem| problem.status.as_u16())
}

fn of_length(length: usize) -> Vec<u8> {
    format!("\"{}\"", "x".repeat(length - 2)).into_bytes()
}

#[test]
fn a_body_that_cannot_be_read_is_refused_with_the_status_that_says_why() {
    let encoding = |value| [("content-encoding", value)];
    assert_eq!(check(&encoding("identity"), &of_length(100)), Ok("x".repeat(98).into()));
    assert_eq!(check(&encoding("identity"), &of_length(101)), Err(413));
    assert_eq!(check(&encoding("gzip"), b"not gzip"), Err(400));
    assert_eq!(check(&encoding(""), b"{"), Err(400));
    assert_eq!(check(&encoding("br"), b"{}"), Err(415));
}

/// What stands in the second line would else hide behind the first.
#[test]
fn a_header_about_the_body_that_comes_twice_does_not_count_by_its_first_line() {
    assert_eq!(check(&[], b"{}"), Ok(serde_json::json!({})));
    let twice = [("content-encoding", "identity"), ("content-encoding", "gzip")];
    assert_eq!(check(&twice, b"{}"), Err(415));
    assert_eq!(check(&[("content-type", "application/json")], b"{}"), Err(415));
    assert_eq!(check(&[("content-type", "text/plain")], b"{}"), Err(415));
}

fn room(bytes_max: usize, slow_max: usize) -> Arc<Arriving> {
    Arriving::new(Room {
        bytes_max,
        hook_bytes_max: bytes_max,
        slow_bytes_max: bytes_max,
        slow_max,
        slow_per_hook_max: slow_max,
        slow_per_source_max: slow_max,
    })
}

fn stranger() -> Stranger {
    Stranger {
        hook: "leads".to_owned(),
        source: Ipv4Addr::LOCALHOST.into(),
    }
}

async fn read_in(room: &Arc<Arriving>, body: Body, stranger: Option<&Stranger>) -> Result<usize, u16> {
    read_within(room, BOUNDS.ms_max, body, stranger).await
}

async fn read_within(room: &Arc<Arriving>, ms_max: u64, body: Body, stranger: Option<&Stranger>) -> Result<usize, u16> {
    let read = read(body, Bounds { ms_max, ..BOUNDS }, &mut room.hold("leads"), stranger).await;
    read.map(|bytes| bytes.len()).map_err(|problem| problem.status.as_u16())
}

/// A byte at once, and another one after each of these pauses.
fn pausing(pauses_ms: &'static [u64]) -> Body {
    let pauses_ms = std::iter::once(0).chain(pauses_ms.iter().copied());
    Body::from_stream(futures::stream::iter(pauses_ms).then(|ms| async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok::<_, std::io::Error>(bytes::Bytes::from_static(b"x"))
    }))
}

fn never() -> Body {
    Body::from_stream(futures::stream::pending::<Result<bytes::Bytes, std::io::Error>>())
}

#[tokio::test]
async fn a_body_is_bounded_in_bytes_and_in_time() {
    let room = room(1_000, 1);
    let unannounced = |bytes: usize| {
        let part = Ok::<_, std::io::Error>(bytes::Bytes::from(vec![0; bytes]));
        Body::from_stream(futures::stream::iter([part]))
    };
    assert_eq!(read_in(&room, unannounced(100), None).await, Ok(100));
    assert_eq!(read_in(&room, unannounced(101), None).await, Err(413));
    assert_eq!(read_in(&room, never(), None).await, Err(408));
}

#[tokio::test]
async fn a_slow_body_of_a_stranger_needs_a_place_and_a_quick_one_does_not() {
    let room = room(1_000, 1);
    let stranger = stranger();
    let (first, second, quick, proven) = tokio::join!(
        read_in(&room, never(), Some(&stranger)),
        read_in(&room, never(), Some(&stranger)),
        async {
            tokio::time::sleep(Duration::from_millis(QUICK_MS + 100)).await;
            read_in(&room, Body::from(vec![0; 10]), Some(&stranger)).await
        },
        read_in(&room, never(), None),
    );
    let mut both = [first, second];
    both.sort();
    assert_eq!(both, [Err(408), Err(429)], "one place, until its time is over");
    assert_eq!((quick, proven), (Ok(10), Err(408)));
}

#[tokio::test]
async fn a_body_may_pause_as_long_as_it_has_not_stopped_and_its_time_is_not_over() {
    let room = room(1_000, 1);
    let (in_time, paused, stopped, too_late) = tokio::join!(
        read_within(&room, 1_000, pausing(&[700]), None),
        read_within(&room, 10_000, pausing(&[2_500]), None),
        read_within(&room, 10_000, pausing(&[3_500]), None),
        read_within(&room, 1_000, pausing(&[700, 700]), None),
    );
    assert_eq!((in_time, paused), (Ok(2), Ok(2)));
    assert_eq!((stopped, too_late), (Err(408), Err(408)));
}

#[tokio::test]
async fn an_honest_slow_body_of_a_stranger_is_taken_where_a_place_is_free() {
    for (places, expected) in [(1, Ok(3)), (0, Err(429))] {
        let room = room(1_000, places);
        let read = read_within(&room, 2_000, pausing(&[300, 500]), Some(&stranger())).await;
        assert_eq!(read, expected, "{places}");
    }
}

#[tokio::test]
async fn all_bodies_together_hold_so_many_bytes() {
    let room = room(100, 1);
    let mut other = room.hold("leads");
    other.grow(51).unwrap();
    assert_eq!(read_in(&room, Body::from(vec![0; 50]), None).await, Err(429));
    assert_eq!(read_in(&room, Body::from(vec![0; 49]), None).await, Ok(49));
    drop(other);
    assert_eq!(read_in(&room, Body::from(vec![0; 100]), None).await, Ok(100));
}
