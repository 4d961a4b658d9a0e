use super::*;
use crate::clock::{Clock, ManualClock};
use std::sync::Arc;

fn gate(send_by: Option<(i64, i64)>) -> (Arc<ManualClock>, Gate) {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let over_boot_ms = clock.boot_ms() + 10_000;
    (
        clock.clone(),
        Gate {
            clock,
            send_by,
            over_boot_ms,
        },
    )
}

fn watching(body_bytes: u64) -> Watch {
    let mut watch = Watch::default();
    watch.begin(gate(None).1, body_bytes, usize::MAX);
    watch
}

#[test]
fn a_request_is_whole_with_the_last_byte_of_its_body_however_it_is_cut() {
    let request = b"POST / HTTP/1.1\r\nhost: a\r\nx: \r\n\r\nbody\r\n\r\n";
    let body_bytes = 8;
    for size in 1..=request.len() {
        let mut watch = watching(body_bytes);
        let mut handed = 0;
        for piece in request.chunks(size) {
            assert!(!watch.whole(), "after {handed} bytes in pieces of {size}");
            watch.handed_over(piece);
            handed += piece.len();
        }
        assert!(watch.whole());
        assert_eq!(watch.handed(), request.len() as u64);
    }
}

#[test]
fn nothing_is_written_outside_of_an_exchange() {
    let mut watch = Watch::default();
    assert_eq!(watch.may_write(), Err(Closed::Idle));
    watch.begin(gate(None).1, 0, usize::MAX);
    assert_eq!(watch.may_write(), Ok(()));
    watch.end();
    assert_eq!(watch.may_write(), Err(Closed::Idle));
}

#[test]
fn the_first_byte_must_leave_before_send_by_and_the_last_before_the_timeout() {
    let boot_ms = ManualClock::new(0).boot_ms();
    let (clock, gate) = gate(Some((1_005_000, boot_ms + 5_000)));
    let mut watch = Watch::default();
    watch.begin(gate, 10, usize::MAX);
    clock.advance(4_999);
    assert_eq!(watch.may_write(), Ok(()));
    clock.advance(1);
    assert_eq!(watch.may_write(), Err(Closed::SendBy));
    watch.handed_over(b"P");
    assert_eq!(watch.may_write(), Ok(()), "only the first byte is bound by it");
    clock.advance(4_999);
    assert_eq!(watch.may_write(), Ok(()));
    clock.advance(1);
    assert_eq!(watch.may_write(), Err(Closed::Over));
    assert_eq!(watch.refused(), Some(Closed::Over));
}

/// What an answer in these pieces looks like, with the request wholly handed over or hardly begun.
fn answer(pieces: &[&str], whole: bool, header_bytes_max: usize) -> Watch {
    let mut watch = Watch::default();
    watch.begin(gate(None).1, 0, header_bytes_max);
    watch.handed_over(if whole { b"GET / HTTP/1.1\r\n\r\n" } else { b"GET" });
    pieces.iter().for_each(|piece| watch.received(piece.as_bytes()));
    watch
}

fn is_early(pieces: &[&str], whole: bool) -> bool {
    answer(pieces, whole, usize::MAX).answer.early
}

#[test]
fn only_a_final_answer_is_early() {
    assert!(is_early(&["HTTP/1.1 200 OK\r\n"], false));
    assert!(!is_early(&["HTTP/1.1 200 OK\r\n"], true));
    assert!(!is_early(&["HTTP/1.1 100 Continue\r\n\r\n"], false));
    assert!(is_early(&["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\n"], false));
    assert!(is_early(&["HTTP/1.1 101 Switching\r\n"], false));
    let mut watch = answer(
        &["HTTP/1.1 103 Hints\r\nLink: a\r\n", "\r\n", "\r\n"],
        false,
        usize::MAX,
    );
    watch.handed_over(b" / HTTP/1.1\r\n\r\n");
    watch.received(b"HTTP/1.1 200 OK\r\n\r\nbody");
    assert!(!watch.is_answered_early());
    assert_eq!(watch.answer_bytes(), watch.read);
}

#[test]
fn an_answer_that_began_before_the_request_was_whole_is_early_although_it_ended_later() {
    let mut watch = answer(&["H"], false, usize::MAX);
    watch.handed_over(b" / HTTP/1.1\r\n\r\n");
    watch.received(b"TTP/1.1 200 OK\r\n\r\n");
    assert!(watch.is_answered_early());
}

#[test]
fn heads_are_bounded_and_bodies_are_not_heads() {
    let head = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
    let body = "x".repeat(10_000);
    assert!(!answer(&[head, &body], true, head.len()).head_too_large());
    assert!(answer(&[head, &body], true, head.len() - 1).head_too_large());
    let interim = "HTTP/1.1 102 Processing\r\n\r\n";
    assert!(!answer(&[&interim.repeat(16)], true, usize::MAX).head_too_large());
    assert!(answer(&[&interim.repeat(17)], true, usize::MAX).head_too_large());
}
