//! A destination that wants to use us up is cut off, and what is cut off is maybe_sent.

use std::io::Write;
use std::time::Duration;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn answering(head: String, body: Vec<u8>) -> Server {
    let answer = Arc::new([head.into_bytes(), body].concat());
    Server::start(move |mut peer| {
        let answer = answer.clone();
        async move {
            peer.request().await?;
            peer.write(&*answer).await?;
            peer.stay()
        }
    })
    .await
}

#[tokio::test]
async fn a_body_is_read_up_to_its_limit_and_not_one_byte_further() {
    for (bytes, evidence) in [(1_000, Evidence::Answered(200)), (1_001, Evidence::MaybeSent)] {
        for chunked in [false, true] {
            let (head, body) = match chunked {
                false => (format!("Content-Length: {bytes}"), vec![b'a'; bytes]),
                true => {
                    let chunk = format!("{bytes:x}\r\n{}\r\n0\r\n\r\n", "a".repeat(bytes));
                    ("Transfer-Encoding: chunked".to_owned(), chunk.into_bytes())
                }
            };
            let server = answering(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n"), body).await;
            let limits = ExchangeLimits {
                body_bytes_max: 1_000,
                ..patient()
            };
            assert_evidence(&post_within(&server, b"{}", &limits).await, evidence);
        }
    }
}

#[tokio::test]
async fn an_answer_of_500_mb_is_cut_at_the_limit() {
    for head in ["Content-Length: 524288000", "Transfer-Encoding: chunked"] {
        let (sent, mut sum) = tokio::sync::mpsc::channel(1);
        let server = Server::start(move |mut peer| {
            let sent = sent.clone();
            async move {
                peer.request().await?;
                peer.write(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n")).await?;
                let block = if head.starts_with('C') {
                    "x".repeat(65_536)
                } else {
                    format!("10000\r\n{}\r\n", "x".repeat(65_536))
                };
                let mut count = 0u64;
                while count < 500 << 20 && peer.write(&block).await.is_ok() {
                    count += 65_536;
                }
                sent.send(count).await.unwrap();
                peer.stay()
            }
        })
        .await;
        let exchange = post_within(&server, b"{}", &ExchangeLimits::default()).await;
        assert_evidence(&exchange, Evidence::MaybeSent);
        assert!(exchange.error.unwrap().contains("larger than 4194304 bytes"));
        assert!(sum.recv().await.unwrap() < 50 << 20, "the connection was reset early");
    }
}

#[tokio::test]
async fn a_flood_of_headers_is_cut_at_the_limit() {
    for line in [
        format!("X-A: {}\r\n", "a".repeat(900)),
        "A:\r\n".to_owned(),
        "x".repeat(4_096),
    ] {
        let server = Server::start(move |mut peer| {
            let line = line.clone();
            async move {
                peer.request().await?;
                peer.write("HTTP/1.1 200 OK\r\n").await?;
                while peer.write(&line).await.is_ok() {}
                peer.stay()
            }
        })
        .await;
        let began_ms = SystemClock.boot_ms();
        assert_evidence(
            &post_within(&server, b"{}", &ExchangeLimits::default()).await,
            Evidence::MaybeSent,
        );
        assert!(SystemClock.boot_ms() - began_ms < 5_000);
    }
}

#[tokio::test]
async fn headers_are_read_up_to_their_limit() {
    let head = |value: usize| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: {}\r\n\r\n",
            "a".repeat(value)
        )
    };
    let header_bytes_max = 2_000;
    let room = header_bytes_max - head(0).len();
    for (bytes, evidence) in [(room, Evidence::Answered(200)), (room + 1, Evidence::MaybeSent)] {
        let server = answering(head(bytes), Vec::new()).await;
        let limits = ExchangeLimits {
            header_bytes_max,
            ..patient()
        };
        assert_evidence(&post_within(&server, b"{}", &limits).await, evidence);
    }
}

#[tokio::test]
async fn header_lines_are_counted_and_read_up_to_their_limit() {
    for (lines, evidence) in [(256, Evidence::Answered(200)), (257, Evidence::MaybeSent)] {
        let others: String = (1..lines).map(|n| format!("X-{n}: a\r\n")).collect();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{others}\r\n");
        let exchange = post(&answering(head, Vec::new()).await, b"{}").await;
        assert_evidence(&exchange, evidence);
        if let Some(error) = exchange.error {
            assert!(error.contains("head is too large"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_byte_now_and_then_is_cut_by_the_timeout() {
    for in_head in [true, false] {
        let server = Server::start(move |mut peer| async move {
            peer.request().await?;
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
            peer.write(if in_head { &head[..20] } else { head }).await?;
            while peer.write("x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            peer.stay()
        })
        .await;
        let began_ms = SystemClock.boot_ms();
        let exchange = post_within(&server, b"{}", &quick()).await;
        assert_evidence(&exchange, Evidence::MaybeSent);
        assert!(exchange.error.unwrap().contains("within 400 ms"));
        assert!(SystemClock.boot_ms() - began_ms < 2_000);
    }
}

#[tokio::test]
async fn an_answer_that_hardly_moves_is_cut_long_before_a_long_timeout() {
    let server = Server::start(|mut peer| async move {
        peer.request().await?;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n").await?;
        while peer.write("x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        peer.stay()
    })
    .await;
    let limits = ExchangeLimits {
        timeout_ms: 60_000,
        progress_ms: 200,
        progress_bytes_min: 64,
        ..ExchangeLimits::default()
    };
    let exchange = post_within(&server, b"{}", &limits).await;
    assert_evidence(&exchange, Evidence::MaybeSent);
    assert!(exchange.error.unwrap().contains("too slowly"));
}

#[tokio::test]
async fn an_answer_that_keeps_moving_may_take_its_time() {
    let server = Server::start(|mut peer| async move {
        peer.request().await?;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1600\r\n\r\n").await?;
        for _ in 0..25 {
            tokio::time::sleep(Duration::from_millis(40)).await;
            peer.write("x".repeat(64)).await?;
        }
        peer.stay()
    })
    .await;
    let limits = ExchangeLimits {
        progress_ms: 200,
        progress_bytes_min: 64,
        ..patient()
    };
    let exchange = post_within(&server, b"{}", &limits).await;
    assert_evidence(&exchange, Evidence::Answered(200));
    assert_eq!(exchange.answer.unwrap().body.len(), 1_600);
}

#[tokio::test]
async fn a_destination_may_think_before_it_answers() {
    let server = Server::start(|mut peer| async move {
        peer.request().await?;
        tokio::time::sleep(Duration::from_millis(250)).await;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await?;
        peer.stay()
    })
    .await;
    let limits = ExchangeLimits {
        progress_ms: 50,
        ..patient()
    };
    assert_evidence(&post_within(&server, b"{}", &limits).await, Evidence::Answered(200));
}

#[tokio::test]
async fn a_destination_that_does_not_read_is_cut_by_the_timeout() {
    let server = Server::start(|mut peer| async move {
        peer.head().await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        peer.stay()
    })
    .await;
    assert_evidence(
        &post_within(&server, &vec![b'x'; 32 << 20], &quick()).await,
        Evidence::MaybeSent,
    );
}

#[tokio::test]
async fn an_encoded_answer_is_bounded_by_its_expanded_size() {
    for (expanded, evidence) in [(10_000, Evidence::Answered(200)), (10_001, Evidence::MaybeSent)] {
        let body = gzip(&vec![b'0'; expanded]);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let server = answering(head, body).await;
        let limits = ExchangeLimits {
            body_bytes_max: 10_000,
            ..patient()
        };
        let exchange = post_within(&server, b"{}", &limits).await;
        assert_evidence(&exchange, evidence);
        if let Some(answer) = exchange.answer {
            assert_eq!(answer.body.len(), expanded);
            assert_eq!(
                (answer.header("content-encoding"), answer.header("content-length")),
                (None, None)
            );
        }
    }
}

#[tokio::test]
async fn an_encoding_that_cannot_be_read_is_maybe_sent() {
    let cases = [
        ("br", b"data".to_vec()),
        ("gzip, gzip", gzip(&gzip(b"data"))),
        ("gzip", gzip(b"data")[..12].to_vec()),
        ("zstd", b"data".to_vec()),
    ];
    for (coding, body) in cases {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let server = answering(head, body).await;
        assert_evidence(&post(&server, b"{}").await, Evidence::MaybeSent);
    }
}

#[tokio::test]
async fn both_meanings_of_deflate_are_read() {
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(b"some data").unwrap();
    let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    bare.write_all(b"some data").unwrap();
    for body in [zlib.finish().unwrap(), bare.finish().unwrap()] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let server = answering(head, body).await;
        assert_eq!(post(&server, b"{}").await.answer.unwrap().body, b"some data");
    }
}
