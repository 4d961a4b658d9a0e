//! Idle connections: when one may be used, and that none is ever a reason to send twice.

use super::*;
use crate::egress::pool::IDLE_PER_POOL_MAX;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

/// Answers every request on a connection with `answer`.
async fn answering(answer: &'static str) -> Server {
    Server::start(move |mut peer| async move {
        while !peer.request().await?.is_empty() {
            peer.write(answer).await?;
        }
        peer.stay()
    })
    .await
}

async fn send(egress: &Egress, place: &Place, reuse: Reuse<'_>) -> (bool, Exchange) {
    let channel = egress.connect(place, reuse).await.unwrap();
    let reused = channel.is_reused();
    let out = request(place, "POST", "/", b"{}");
    (
        reused,
        egress
            .send(channel, &out, Credential::None, Permit::Read, &patient(), &Mask::none())
            .await,
    )
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_whole_answer() {
    let server = answering(OK).await;
    let (egress, place) = (egress(), place(&server));
    for round in 0..3 {
        let (reused, exchange) = send(&egress, &place, Reuse::Pool("crm")).await;
        assert_evidence(&exchange, Evidence::Answered(200));
        assert_eq!(reused, round > 0);
        assert_eq!(
            exchange.bytes_handed * (round + 1),
            server.bytes().await,
            "each exchange counts for itself"
        );
    }
    assert_eq!((server.seen().len(), server.requests()), (1, 3));
}

#[tokio::test]
async fn pools_are_apart() {
    let server = answering(OK).await;
    let (egress, place) = (egress(), place(&server));
    send(&egress, &place, Reuse::Pool("crm")).await;
    assert!(!send(&egress, &place, Reuse::Pool("mailer")).await.0);
    assert!(!send(&egress, &place, Reuse::Never).await.0);
    let narrower = Place {
        allow_addresses: vec!["127.0.0.0/8".parse().unwrap()],
        ..place.clone()
    };
    assert!(!send(&egress, &narrower, Reuse::Pool("crm")).await.0, "approved anew");
    assert!(send(&egress, &place, Reuse::Pool("crm")).await.0);
}

#[tokio::test]
async fn what_was_idle_for_too_long_is_not_used() {
    let server = answering(OK).await;
    let clock = Arc::new(ManualClock::new(0));
    let (egress, place) = (Egress::new(clock.clone()), place(&server));
    for (idle_ms, reuse, reused) in [
        (1_999, Reuse::PoolJustUsed("crm"), true),
        (2_000, Reuse::PoolJustUsed("crm"), false),
        (3_999, Reuse::Pool("crm"), true),
        (4_000, Reuse::Pool("crm"), false),
    ] {
        send(&egress, &place, Reuse::Pool("crm")).await;
        clock.advance(idle_ms);
        assert_eq!(send(&egress, &place, reuse).await.0, reused, "idle for {idle_ms} ms");
        clock.advance(10_000);
    }
}

#[tokio::test]
async fn what_did_not_end_cleanly_is_not_used_again() {
    for answer in [
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}left over",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"evil\":1}",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n{}",
    ] {
        let server = answering(answer).await;
        let (egress, place) = (egress(), place(&server));
        send(&egress, &place, Reuse::Pool("crm")).await;
        let (reused, _) = send(&egress, &place, Reuse::Pool("crm")).await;
        assert!(!reused, "{answer}");
    }
}

#[tokio::test]
async fn bytes_that_nobody_asked_for_answer_no_later_request() {
    let server = Server::start(|mut peer| async move {
        peer.request().await?;
        peer.write(OK).await?;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"evil\":1}")
            .await?;
        peer.stay()
    })
    .await;
    let (egress, place) = (egress(), place(&server));
    send(&egress, &place, Reuse::Pool("crm")).await;
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    let (reused, exchange) = send(&egress, &place, Reuse::Pool("crm")).await;
    assert!(!reused);
    assert_eq!(exchange.answer.unwrap().body, b"{}");
}

#[tokio::test]
async fn a_connection_that_the_server_closed_meanwhile_is_not_used() {
    let server = Server::start(|mut peer| async move {
        peer.request().await?;
        peer.write(OK).await?;
        peer.close().await
    })
    .await;
    let (egress, place) = (egress(), place(&server));
    for _ in 0..5 {
        let (reused, exchange) = send(&egress, &place, Reuse::Pool("crm")).await;
        assert_evidence(&exchange, Evidence::Answered(200));
        assert!(!reused);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_connection_that_is_closed_between_connect_and_send_is_nothing_sent_by_count() {
    let (close, wait) = tokio::sync::watch::channel(false);
    let server = Server::start(move |mut peer| {
        let mut wait = wait.clone();
        async move {
            peer.request().await?;
            peer.write(OK).await?;
            wait.wait_for(|close| *close).await.unwrap();
            peer.close().await
        }
    })
    .await;
    let (egress, place) = (egress(), place(&server));
    send(&egress, &place, Reuse::Pool("crm")).await;
    let channel = egress.connect(&place, Reuse::Pool("crm")).await.unwrap();
    assert!(channel.is_reused());
    let before = server.bytes().await;
    close.send(true).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let out = request(&place, "POST", "/", b"{}");
    let exchange = egress
        .send(
            channel,
            &out,
            Credential::None,
            write_permit(),
            &patient(),
            &Mask::none(),
        )
        .await;
    assert_evidence(&exchange, Evidence::NothingSent);
    assert_eq!((exchange.bytes_handed, server.bytes().await), (0, before));
    assert_eq!(server.seen().len(), 1, "no other connection was opened for it");
}

#[tokio::test]
async fn idle_connections_are_closed_and_not_hoarded() {
    let (ended, mut end) = tokio::sync::mpsc::channel(100);
    let server = Server::start(move |mut peer| {
        let ended = ended.clone();
        async move {
            peer.request().await?;
            peer.write(OK).await?;
            let after = peer.read(1).await.map_err(|error| error.kind());
            ended.send(after).await.unwrap();
            peer.stay()
        }
    })
    .await;
    let clock = Arc::new(ManualClock::new(0));
    let (egress, place) = (Egress::new(clock.clone()), place(&server));
    let (out, limits, mask) = (request(&place, "GET", "/", b""), patient(), Mask::none());
    let mut channels = Vec::new();
    for _ in 0..IDLE_PER_POOL_MAX + 8 {
        channels.push(egress.connect(&place, Reuse::Pool("crm")).await.unwrap());
    }
    for channel in channels {
        egress
            .send(channel, &out, Credential::None, Permit::Read, &limits, &mask)
            .await;
    }
    for _ in 0..8 {
        assert_eq!(
            end.recv().await.unwrap(),
            Ok(0),
            "what has no room is closed, not reset"
        );
    }
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(end.try_recv().is_err(), "the others are kept");
    clock.advance(4_000);
    for _ in 0..IDLE_PER_POOL_MAX {
        assert_eq!(end.recv().await.unwrap(), Ok(0));
    }
}
