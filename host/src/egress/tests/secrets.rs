//! Where credentials go and where they must not come back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// Answers with the request it got, in headers, body and, encoded, once more.
async fn echo() -> Server {
    Server::start(|mut peer| async move {
        let head = peer.request().await?;
        let line = head.lines().next().unwrap().to_owned();
        let header = head
            .lines()
            .find(|line| line.starts_with("authorization:") || line.starts_with("x-api-key:"));
        let body = format!(
            "{head}\n{}\n{}",
            STANDARD.encode(&head),
            STANDARD.encode(format!("z{head}"))
        );
        peer.write(format!(
            "HTTP/1.1 200 OK\r\nX-Line: {line}\r\nX-Echo: {}\r\nSet-Cookie: a={}\r\nContent-Length: {}\r\n\r\n{body}",
            header.unwrap_or_default(),
            header.unwrap_or_default(),
            body.len()
        ))
        .await?;
        peer.stay()
    })
    .await
}

#[tokio::test]
async fn an_echo_of_the_request_shows_no_secret() {
    let server = echo().await;
    let (egress, place) = (egress(), place(&server));
    let mask = Mask::new([SECRET]).unwrap();
    for (credential, on_the_wire) in [
        (
            Credential::Bearer(SECRET),
            format!("authorization: Bearer {SECRET}\r\n"),
        ),
        (
            Credential::Basic {
                user: "ada",
                password: SECRET,
            },
            format!("authorization: Basic {}\r\n", STANDARD.encode(format!("ada:{SECRET}"))),
        ),
        (
            Credential::Header {
                name: "X-Api-Key",
                secret: SECRET,
            },
            format!("x-api-key: {SECRET}\r\n"),
        ),
        (
            Credential::Query {
                name: "token",
                secret: SECRET,
            },
            "/leads?a=1&token=s3cr3t%2Ftoken%2Bwith%3Dsigns HTTP".into(),
        ),
    ] {
        let out = request(&place, "POST", "/leads?a=1", b"{}");
        let channel = egress.connect(&place, Reuse::Never).await.unwrap();
        let exchange = egress
            .send(channel, &out, credential, write_permit(), &patient(), &mask)
            .await;
        assert!(server.text().contains(&on_the_wire), "{}", server.text());
        assert_evidence(&exchange, Evidence::Answered(200));
        let answer = exchange.answer.unwrap();
        let shown = format!("{answer:?} {}", String::from_utf8_lossy(&answer.body));
        let body = String::from_utf8(answer.body.clone()).unwrap();
        for line in body.lines().filter(|line| !line.contains(MASKED)) {
            let decoded = STANDARD.decode(line).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&decoded).contains(SECRET), "{line}");
        }
        assert!(shown.contains(MASKED), "{shown}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
        assert_eq!(answer.header("set-cookie"), None);
        let recorded = serde_json::to_string(&out).unwrap();
        assert!(!recorded.contains("s3cr3t"), "{recorded}");
    }
}

#[tokio::test]
async fn a_secret_in_a_compressed_answer_or_in_a_header_name_is_hidden_too() {
    use std::io::Write;
    let server = Server::start(|mut peer| async move {
        peer.request().await?;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(b"your token is abcdef-0123456789, keep it")?;
        let body = gzip.finish()?;
        let head = format!(
            "X-ABCDEF-0123456789: 1\r\nContent-Encoding: gzip\r\nContent-Length: {}",
            body.len()
        );
        peer.write([format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").as_bytes(), &body].concat())
            .await?;
        peer.stay()
    })
    .await;
    let (egress, place) = (egress(), place(&server));
    let mask = Mask::new(["abcdef-0123456789"]).unwrap();
    let channel = egress.connect(&place, Reuse::Never).await.unwrap();
    let out = request(&place, "GET", "/", b"");
    let answer = egress
        .send(channel, &out, Credential::None, Permit::Read, &patient(), &mask)
        .await
        .answer
        .unwrap();
    assert_eq!(answer.body, b"your token is [masked], keep it");
    assert!(
        !format!("{answer:?}").to_lowercase().contains("abcdef-0123456789"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_credential_shows_nothing_when_it_is_printed() {
    for credential in [
        Credential::Bearer(SECRET),
        Credential::Basic {
            user: "ada",
            password: SECRET,
        },
        Credential::Header {
            name: "x",
            secret: SECRET,
        },
        Credential::Query {
            name: "x",
            secret: SECRET,
        },
    ] {
        assert!(!format!("{credential:?}").contains("s3cr3t"));
    }
    assert!(!format!("{:?}", Mask::new([SECRET]).unwrap()).contains("s3cr3t"));
}
