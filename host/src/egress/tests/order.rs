//! Addresses, `send_by` and the shape of the request: what is decided before the first byte.

use super::*;

async fn count_only() -> Server {
    Server::start(|mut peer| async move {
        peer.request().await?;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await?;
        peer.stay()
    })
    .await
}

#[tokio::test]
async fn a_closed_address_is_not_connected_to() {
    let server = count_only().await;
    for origin in [
        server.origin(),
        format!("http://localhost:{}", server.port()),
        format!("http://[::ffff:127.0.0.1]:{}", server.port()),
        format!("http://0x7f.1:{}", server.port()),
        format!("http://2130706433:{}", server.port()),
        format!("http://0:{}", server.port()),
        "http://169.254.169.254".into(),
        "http://[fd00:ec2::254]".into(),
    ] {
        let place = Place::new(&origin, true, &[]).unwrap();
        let error = egress().connect(&place, Reuse::Never).await.unwrap_err();
        assert!(matches!(error, NothingSent::Forbidden { .. }), "{origin}: {error}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn metadata_stays_closed_where_everything_is_opened() {
    let place = Place::new("http://169.254.169.254", true, &["0.0.0.0/0", "::/0"]).unwrap();
    let error = egress().connect(&place, Reuse::Never).await.unwrap_err();
    assert!(error.to_string().contains("metadata"), "{error}");
}

/// A resolver that answers from a list, one answer per question, and counts.
fn resolver(answers: &[&[&str]]) -> (resolve::Lookup, Arc<std::sync::Mutex<usize>>) {
    let asked = Arc::new(std::sync::Mutex::new(0));
    let answers: Vec<Vec<String>> = answers
        .iter()
        .map(|all| all.iter().map(ToString::to_string).collect())
        .collect();
    let count = asked.clone();
    let lookup: resolve::Lookup = Arc::new(move |_, port| {
        let mut asked = count.lock().unwrap();
        let addresses = answers[(*asked).min(answers.len() - 1)].clone();
        *asked += 1;
        let found = addresses
            .iter()
            .map(|ip| std::net::SocketAddr::new(ip.parse().unwrap(), port))
            .collect();
        Box::pin(async move { Ok(found) })
    });
    (lookup, asked)
}

#[tokio::test]
async fn a_name_that_leads_into_the_private_network_is_refused() {
    for addresses in [
        &["10.0.0.5"][..],
        &["192.168.1.1", "fe80::1"],
        &["::1"],
        &["64:ff9b::a00:5"],
    ] {
        let (lookup, _) = resolver(&[addresses]);
        let egress = Egress::with_lookup(Arc::new(SystemClock), lookup);
        let place = Place::new("https://crm.example.com", false, &[]).unwrap();
        let error = egress.connect(&place, Reuse::Never).await.unwrap_err();
        assert!(matches!(error, NothingSent::Forbidden { .. }), "{error}");
        assert!(error.to_string().contains(addresses[0]), "{error}");
    }
}

#[tokio::test]
async fn a_name_is_resolved_once_and_the_checked_address_is_connected_to() {
    let server = count_only().await;
    let (lookup, asked) = resolver(&[&["10.0.0.5", "127.0.0.1"], &["10.0.0.5"]]);
    let egress = Egress::with_lookup(Arc::new(SystemClock), lookup);
    let place = Place::new(
        &format!("http://crm.example.com:{}", server.port()),
        true,
        &["127.0.0.1/32"],
    )
    .unwrap();
    let channel = egress.connect(&place, Reuse::Never).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), 1);
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
    assert_evidence(&exchange, Evidence::Answered(200));
    assert_eq!(*asked.lock().unwrap(), 1, "sending asks nobody");
    assert!(
        server
            .text()
            .contains(&format!("host: crm.example.com:{}\r\n", server.port()))
    );
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_nothing_sent() {
    let place = Place::new("https://no-such-name.invalid", false, &[]).unwrap();
    let error = egress().connect(&place, Reuse::Never).await.unwrap_err();
    assert!(matches!(error, NothingSent::Resolve { .. }), "{error}");
}

#[tokio::test]
async fn past_send_by_on_either_clock_nothing_leaves() {
    let server = count_only().await;
    let place = place(&server);
    type Move = fn(&ManualClock);
    let moves: [(&str, Move, bool); 5] = [
        ("in time", |clock| clock.advance(4_999), true),
        ("both", |clock| clock.advance(5_000), false),
        (
            "stopped, then the wall clock was set back",
            |clock| clock.advance_boot(5_000),
            false,
        ),
        ("the wall clock alone", |clock| clock.advance_wall(5_000), false),
        ("much later", |clock| clock.advance(3_600_000), false),
    ];
    let mut sent = 0;
    for (what, pass, leaves) in moves {
        let clock = Arc::new(ManualClock::new(1_774_746_000_000));
        let egress = Egress::new(clock.clone());
        let permit = permit(clock.now_ms() + 5_000, clock.boot_ms() + 5_000);
        let channel = egress.connect(&place, Reuse::Never).await.unwrap();
        pass(&clock);
        let out = request(&place, "POST", "/", b"{}");
        let exchange = egress
            .send(channel, &out, Credential::None, permit, &patient(), &Mask::none())
            .await;
        let evidence = if leaves {
            Evidence::Answered(200)
        } else {
            Evidence::NothingSent
        };
        assert_evidence(&exchange, evidence);
        assert_eq!(exchange.over_ms, clock.now_ms(), "{what}");
        sent += exchange.bytes_handed;
        assert_eq!(server.bytes().await, sent, "{what}");
        assert_eq!(leaves, exchange.bytes_handed > 0, "{what}");
    }
}

#[tokio::test]
async fn a_read_has_no_last_moment() {
    let server = count_only().await;
    assert_evidence(&get(&server, &patient()).await, Evidence::Answered(200));
}

#[tokio::test]
async fn a_host_that_stood_still_does_not_finish_an_old_request() {
    let (go_on, wait) = tokio::sync::watch::channel(false);
    let server = Server::start(move |mut peer| {
        let mut wait = wait.clone();
        async move {
            peer.head().await?;
            wait.wait_for(|go_on| *go_on).await.unwrap();
            peer.stay()
        }
    })
    .await;
    let clock = Arc::new(ManualClock::new(0));
    let (egress, place) = (Egress::new(clock.clone()), place(&server));
    let channel = egress.connect(&place, Reuse::Never).await.unwrap();
    let permit = permit(5_000, clock.boot_ms() + 5_000);
    let (out, limits, mask) = (
        request(&place, "POST", "/", &vec![b'x'; 32 << 20]),
        ExchangeLimits::default(),
        Mask::none(),
    );
    let send = egress.send(channel, &out, Credential::None, permit, &limits, &mask);
    let stand_still = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        clock.advance(3_600_000);
        go_on.send(true).unwrap();
    };
    let (exchange, ()) = tokio::join!(send, stand_still);
    assert_evidence(&exchange, Evidence::MaybeSent);
    assert!(exchange.bytes_handed < 32 << 20);
    assert!(exchange.error.unwrap().contains("time was over"));
}

#[tokio::test]
async fn the_request_arrives_as_it_was_recorded_with_what_the_host_adds() {
    let server = count_only().await;
    let (egress, place) = (egress(), place(&server));
    let mut out = request(&place, "PUT", "/a%20b/%C3%A9?q=1&q=a%2Fb", b"{\"n\":12.30}");
    out.headers.push(("Idempotency-Key".into(), "og1_abc".into()));
    let channel = egress.connect(&place, Reuse::Never).await.unwrap();
    egress
        .send(
            channel,
            &out,
            Credential::Bearer(SECRET),
            write_permit(),
            &patient(),
            &Mask::none(),
        )
        .await;
    let text = server.text();
    assert!(text.starts_with("PUT /a%20b/%C3%A9?q=1&q=a%2Fb HTTP/1.1\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\n{\"n\":12.30}"), "{text}");
    for line in [
        format!("host: 127.0.0.1:{}", server.port()),
        "content-type: application/json".into(),
        "idempotency-key: og1_abc".into(),
        format!("authorization: Bearer {SECRET}"),
        "accept-encoding: identity".into(),
        "content-length: 11".into(),
    ] {
        assert_eq!(text.matches(&format!("\r\n{line}\r\n")).count(), 1, "{line} in {text}");
    }
    assert!(
        !text.contains("expect:") && !text.contains("transfer-encoding:"),
        "{text}"
    );
}

#[tokio::test]
async fn a_write_without_a_body_says_so() {
    let server = count_only().await;
    post(&server, b"").await;
    assert!(server.text().contains("\r\ncontent-length: 0\r\n"), "{}", server.text());
}

#[tokio::test]
async fn an_attempt_to_smuggle_a_second_request_sends_nothing() {
    let server = count_only().await;
    let (egress, place) = (egress(), place(&server));
    let attack = "x\r\nContent-Length: 0\r\n\r\nDELETE /all HTTP/1.1\r\nHost: a";
    let mut requests = Vec::new();
    for path in [
        "/a b",
        "/a\r\nX: y",
        "/a HTTP/1.1\r\nHost: b\r\n\r\n",
        "/a#b",
        "a",
        "",
        "//evil.example",
        "/a/../b",
        "/é",
        "http://evil.example/",
    ] {
        requests.push(request(&place, "POST", path, b"{}"));
    }
    for (name, value) in [
        ("x-note", attack),
        ("x-note", "a\nb"),
        ("x-note", "a\0b"),
        ("x-note: a\r\nx-more", "b"),
        ("transfer-encoding", "chunked"),
        ("Content-Length", "0"),
        ("Connection", "close"),
        ("Host", "evil.example"),
        ("Authorization", "Bearer mine"),
        ("Cookie", "a=b"),
        ("Expect", "100-continue"),
        ("X-HTTP-Method-Override", "DELETE"),
        ("X_Forwarded_For", "127.0.0.1"),
    ] {
        let mut out = request(&place, "POST", "/", b"{}");
        out.headers.push((name.into(), value.into()));
        requests.push(out);
    }
    for method in ["CONNECT", "TRACE", "POST /x HTTP/1.1\r\n\r\nGET", "post", ""] {
        requests.push(request(&place, method, "/", b"{}"));
    }
    requests.push(Outgoing {
        origin: "https://evil.example".into(),
        ..request(&place, "POST", "/", b"{}")
    });
    for out in requests {
        let channel = egress.connect(&place, Reuse::Never).await.unwrap();
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
    }
    assert_eq!(server.bytes().await, 0);
}

#[tokio::test]
async fn a_credential_that_breaks_a_header_sends_nothing() {
    let server = count_only().await;
    let (egress, place) = (egress(), place(&server));
    let mut out = request(&place, "POST", "/", b"{}");
    out.headers.push(("x-token".into(), "mine".into()));
    for credential in [
        Credential::Bearer("secret-with\r\nX: y"),
        Credential::Header {
            name: "x-api key",
            secret: SECRET,
        },
        Credential::Header {
            name: "X-Token",
            secret: SECRET,
        },
        Credential::Header {
            name: "Host",
            secret: SECRET,
        },
        Credential::Header {
            name: "x-api-key",
            secret: "a\nb-secret",
        },
        Credential::Basic {
            user: "a:b",
            password: SECRET,
        },
    ] {
        let channel = egress.connect(&place, Reuse::Never).await.unwrap();
        let exchange = egress
            .send(channel, &out, credential, write_permit(), &patient(), &Mask::none())
            .await;
        assert_evidence(&exchange, Evidence::NothingSent);
        assert!(!exchange.error.unwrap().contains(SECRET));
    }
    assert_eq!(server.bytes().await, 0);
}
