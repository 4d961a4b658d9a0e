//! Case C6 row by row, and its kin: what the server received against what the egress reports.

use super::*;

const BODY: &[u8] = br#"{"email":"ada@example.com","plan":"pro"}"#;

fn big() -> Vec<u8> {
    vec![b'x'; 8 << 20]
}

#[tokio::test]
async fn c6a_a_refused_connection_sends_nothing() {
    let server = Server::start(|peer| async { peer.stay() }).await;
    let place = place(&server);
    drop(server);
    tokio::task::yield_now().await;
    let error = egress().connect(&place, Reuse::Never).await.unwrap_err();
    assert!(
        matches!(&error, NothingSent::Connect { why, .. } if why.contains("refused")),
        "{error}"
    );
    assert!(error.to_string().contains(&place.origin.to_string()), "{error}");
}

#[tokio::test]
async fn c6b_a_reset_after_half_of_the_request_is_maybe_sent() {
    let server = Server::start(|mut peer| async {
        peer.head().await?;
        peer.read(1 << 20).await?;
        peer.reset()
    })
    .await;
    let body = big();
    let exchange = post_within(&server, &body, &ExchangeLimits::default()).await;
    assert_evidence(&exchange, Evidence::MaybeSent);
    assert!(exchange.bytes_handed >= server.bytes().await);
    assert!(
        exchange.bytes_handed < body.len() as u64,
        "the rest never left: {}",
        exchange.bytes_handed
    );
}

#[tokio::test]
async fn c6c_a_reset_after_all_of_the_request_is_maybe_sent() {
    let server = Server::start(|mut peer| async {
        peer.request().await?;
        peer.reset()
    })
    .await;
    let exchange = post(&server, BODY).await;
    assert_evidence(&exchange, Evidence::MaybeSent);
    assert_eq!(exchange.bytes_handed, server.bytes().await);
    assert!(server.text().ends_with(std::str::from_utf8(BODY).unwrap()));
}

#[tokio::test]
async fn c6c_a_close_after_all_of_the_request_is_maybe_sent() {
    let server = Server::start(|mut peer| async {
        peer.request().await?;
        peer.close().await
    })
    .await;
    assert_evidence(&post(&server, BODY).await, Evidence::MaybeSent);
}

#[tokio::test]
async fn c6d_headers_and_then_a_reset_are_maybe_sent() {
    let server = Server::start(|mut peer| async {
        peer.request().await?;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n").await?;
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        peer.reset()
    })
    .await;
    assert_evidence(&post(&server, BODY).await, Evidence::MaybeSent);
}

#[tokio::test]
async fn c6e_a_truncated_body_is_maybe_sent() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"id\":\"1\"",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"id\":\"1\"\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"id\":\"1\"\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}1",
        "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
    ] {
        let server = Server::start(move |mut peer| async move {
            peer.request().await?;
            peer.write(answer).await?;
            peer.close().await
        })
        .await;
        assert_evidence(&post(&server, BODY).await, Evidence::MaybeSent);
    }
}

#[tokio::test]
async fn c6f_a_friendly_500_is_answered_with_its_status() {
    let server = Server::start(|mut peer| async {
        peer.request().await?;
        peer.write("HTTP/1.1 500 Oh no\r\nContent-Length: 15\r\n\r\n{\"ok\":\"almost\"}")
            .await?;
        peer.stay()
    })
    .await;
    let exchange = post(&server, BODY).await;
    assert_evidence(&exchange, Evidence::Answered(500));
    assert_eq!(exchange.bytes_handed, server.bytes().await);
    assert_eq!(exchange.answer.unwrap().body, br#"{"ok":"almost"}"#);
}

#[tokio::test]
async fn silence_until_the_timeout_is_maybe_sent_and_the_connection_is_reset() {
    let (ended, mut end) = tokio::sync::mpsc::channel(1);
    let server = Server::start(move |mut peer| {
        let ended = ended.clone();
        async move {
            peer.request().await?;
            let after = peer.read(1).await.map_err(|error| error.kind());
            ended.send(after).await.unwrap();
            peer.stay()
        }
    })
    .await;
    let before_ms = SystemClock.now_ms();
    let exchange = post_within(&server, BODY, &quick()).await;
    assert_evidence(&exchange, Evidence::MaybeSent);
    assert!(exchange.over_ms - before_ms >= 400);
    assert_eq!(
        end.recv().await.unwrap(),
        Err(std::io::ErrorKind::ConnectionReset),
        "a close would let the rest arrive"
    );
}

#[tokio::test]
async fn a_dropped_send_resets_the_connection() {
    let (ended, mut end) = tokio::sync::mpsc::channel(1);
    let server = Server::start(move |mut peer| {
        let ended = ended.clone();
        async move {
            peer.request().await?;
            ended.send(Ok(0)).await.unwrap();
            ended
                .send(peer.read(1).await.map_err(|error| error.kind()))
                .await
                .unwrap();
            peer.stay()
        }
    })
    .await;
    let (egress, place) = (egress(), place(&server));
    let channel = egress.connect(&place, Reuse::Never).await.unwrap();
    let out = request(&place, "POST", "/", BODY);
    let (limits, mask) = (ExchangeLimits::default(), Mask::none());
    tokio::select! {
        _ = egress.send(channel, &out, Credential::None, write_permit(), &limits, &mask) => panic!("nobody answers"),
        _ = end.recv() => {}
    }
    assert_eq!(end.recv().await.unwrap(), Err(std::io::ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn a_final_answer_before_the_request_was_whole_is_maybe_sent() {
    for status in ["200 OK", "413 Content Too Large", "101 Switching Protocols"] {
        let server = Server::start(move |mut peer| async move {
            peer.head().await?;
            peer.write(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
                .await?;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            peer.stay()
        })
        .await;
        let exchange = post_within(&server, &big(), &ExchangeLimits::default()).await;
        assert_evidence(&exchange, Evidence::MaybeSent);
        assert!(exchange.error.unwrap().contains("before the request was whole"));
    }
}

#[tokio::test]
async fn interim_answers_are_skipped_even_while_the_body_is_on_its_way() {
    let server = Server::start(|mut peer| async {
        let head = peer.head().await?;
        peer.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            .await?;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        peer.read(length.unwrap()).await?;
        peer.write("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
            .await?;
        peer.stay()
    })
    .await;
    let exchange = post_within(&server, &big(), &ExchangeLimits::default()).await;
    assert_evidence(&exchange, Evidence::Answered(201));
    assert_eq!(exchange.bytes_handed, server.bytes().await);
}

#[tokio::test]
async fn sixteen_interim_answers_are_skipped_and_one_more_is_maybe_sent() {
    for (interim, expected) in [(16, Evidence::Answered(204)), (17, Evidence::MaybeSent)] {
        let server = Server::start(move |mut peer| async move {
            peer.request().await?;
            for _ in 0..interim {
                peer.write("HTTP/1.1 103 Early Hints\r\n\r\n").await?;
            }
            peer.write("HTTP/1.1 204 No Content\r\n\r\n").await?;
            peer.stay()
        })
        .await;
        assert_evidence(&post(&server, BODY).await, expected);
    }
}

#[tokio::test]
async fn interim_answers_without_end_are_maybe_sent() {
    let server = Server::start(|mut peer| async {
        peer.request().await?;
        while peer.write("HTTP/1.1 102 Processing\r\n\r\n").await.is_ok() {}
        peer.stay()
    })
    .await;
    assert_evidence(
        &post_within(&server, BODY, &ExchangeLimits::default()).await,
        Evidence::MaybeSent,
    );
}

#[tokio::test]
async fn a_switch_of_protocols_is_answered_101() {
    let server = Server::start(|mut peer| async {
        peer.request().await?;
        peer.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: ws\r\n\r\n\x01\x02")
            .await?;
        peer.stay()
    })
    .await;
    assert_evidence(&post(&server, BODY).await, Evidence::Answered(101));
}

#[tokio::test]
async fn an_answer_that_ends_with_the_connection_is_never_whole_on_plain_http() {
    let script = |mut peer: server::Peer| async {
        peer.request().await?;
        peer.write("HTTP/1.1 200 OK\r\n\r\n{\"ok\":true}").await?;
        peer.close().await
    };
    let server = Server::start(script).await;
    let exchange = post(&server, BODY).await;
    assert_evidence(&exchange, Evidence::MaybeSent);
    assert!(exchange.error.unwrap().contains("Content-Length"));
    assert_evidence(&get(&server, &patient()).await, Evidence::MaybeSent);
}

#[tokio::test]
async fn a_redirect_is_answered_and_not_followed() {
    let server = Server::start(|mut peer| async move {
        peer.request().await?;
        peer.write("HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
            .await?;
        peer.stay()
    })
    .await;
    assert_evidence(&post(&server, BODY).await, Evidence::Answered(307));
    assert_evidence(&get(&server, &patient()).await, Evidence::Answered(307));
    server.bytes().await;
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn all_ways_to_frame_an_answer_are_read() {
    for (answer, body) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndata", "data"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nda\r\n2\r\nta\r\n0\r\nX-Sum: 1\r\n\r\n",
            "data",
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ndata", "data"),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", ""),
        ("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", ""),
    ] {
        let server = Server::start(move |mut peer| async move {
            peer.request().await?;
            peer.write(answer).await?;
            peer.stay()
        })
        .await;
        let exchange = post(&server, BODY).await;
        assert_evidence(&exchange, Evidence::Answered(answer[9..12].parse().unwrap()));
        assert_eq!(exchange.answer.unwrap().body, body.as_bytes());
    }
}

#[tokio::test]
async fn nothing_is_sent_twice_whatever_the_server_does() {
    let server = Server::start(|mut peer| async {
        peer.read(1).await?;
        peer.reset()
    })
    .await;
    for _ in 0..5 {
        assert_evidence(&post(&server, BODY).await, Evidence::MaybeSent);
    }
    assert_eq!(server.seen().len(), 5, "one connection for each call");
}
