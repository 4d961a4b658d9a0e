use super::*;

fn with_path(path: &str) -> Result<(), BadRequest> {
    outgoing(path, &[]).check()
}

fn outgoing(path: &str, headers: &[(&str, &str)]) -> Outgoing {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let origin = "https://api.example.com".to_owned();
    Outgoing {
        method: "POST".into(),
        origin,
        path_and_query: path.into(),
        headers,
        body: Vec::new(),
    }
}

#[test]
fn ordinary_paths_are_sent() {
    for path in [
        "/",
        "/v1/contacts/42",
        "/v1/contacts/ada%40example.com",
        "/a%20b/c+d",
        "/a.b/..c/.d/e..",
        "/files/%E2%82%AC",
        "/search?q=a%2Fb%0Ac&x=//../?&y[]={z}",
        "/trailing/",
        "/a;v=1",
        "/%25",
    ] {
        assert_eq!(with_path(path), Ok(()), "{path}");
    }
}

#[test]
fn paths_that_two_servers_could_read_differently_are_not_sent() {
    for path in [
        "",
        "a",
        "?a",
        "*",
        "//",
        "//a",
        "/a//b",
        "/a/",
        "/.",
        "/..",
        "/a/..",
        "/a/../b",
        "/./a",
        "/a/.",
        "/%2e",
        "/%2E%2e/a",
        "/.%2e/a",
        "/..;x/a",
        "/%2e%2e%3b/a",
        "/a%2fb",
        "/a%2Fb",
        "/a%5cb",
        "/a%5Cb",
        "/a\\b",
        "/a#b",
        "/a?b#c",
        "/a b",
        "/a\tb",
        "/a\r\nb",
        "/a\0",
        "/a%00",
        "/a%0d%0ab",
        "/a%7f",
        "/é",
        "/a?q=é",
        "/a%",
        "/a%2",
        "/a%zz",
        "/a%+1",
        "/a?q=%",
        "/a?q=%+1",
        "http://b/",
    ] {
        if path == "/a/" {
            assert_eq!(with_path(path), Ok(()));
        } else {
            assert!(matches!(with_path(path), Err(BadRequest::Path { .. })), "{path:?}");
        }
    }
}

#[test]
fn headers_are_sent_unless_they_belong_to_the_host() {
    for (name, value) in [
        ("Content-Type", "application/json"),
        ("Accept", "*/*"),
        ("Idempotency-Key", "og1_abc"),
        ("X-Note", "tab\tand blank"),
        ("X-Note", ""),
        ("X-Note", "grün"),
        ("Range", "bytes=0-9"),
    ] {
        assert_eq!(outgoing("/", &[(name, value)]).check(), Ok(()), "{name}");
    }
    for name in [
        "Authorization",
        "COOKIE",
        "host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "Proxy-Authorization",
        "Proxy-Anything",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Anything",
        "X_Forwarded_Host",
        "Transfer_Encoding",
        "X-HTTP-Method-Override",
        "X-HTTP-Method",
        "X-Method-Override",
        "Accept-Encoding",
        "X-Original-URL",
        "Early-Data",
    ] {
        assert!(
            matches!(outgoing("/", &[(name, "x")]).check(), Err(BadRequest::Forbidden(_))),
            "{name}"
        );
    }
    for (name, value) in [
        ("", "x"),
        ("a b", "x"),
        ("a:", "x"),
        ("a\r\n", "x"),
        ("é", "x"),
        ("a", "x\ry"),
        ("a", "x\ny"),
        ("a", "x\0y"),
        ("a", "\x7f"),
    ] {
        assert!(
            matches!(outgoing("/", &[(name, value)]).check(), Err(BadRequest::Header(_))),
            "{name:?}: {value:?}"
        );
    }
}

#[test]
fn only_seven_methods_are_sent() {
    for (method, sent) in [
        ("GET", true),
        ("HEAD", true),
        ("POST", true),
        ("PUT", true),
        ("PATCH", true),
        ("DELETE", true),
        ("OPTIONS", true),
        ("CONNECT", false),
        ("TRACE", false),
        ("get", false),
        ("", false),
        ("GET ", false),
        ("PROPFIND", false),
    ] {
        let out = Outgoing {
            method: method.into(),
            ..outgoing("/", &[])
        };
        assert_eq!(out.check().is_ok(), sent, "{method}");
    }
}

#[test]
fn credentials_are_added_and_never_recorded() {
    let origin = Origin::parse("https://api.example.com", false).unwrap();
    let out = outgoing("/a?b=1", &[]);
    let built = out
        .assemble(
            &origin,
            Credential::Query {
                name: "api key",
                secret: "s&cr=t /+%",
            },
        )
        .unwrap();
    assert_eq!(built.uri(), "/a?b=1&api%20key=s%26cr%3Dt%20%2F%2B%25");
    let built = outgoing("/a", &[])
        .assemble(&origin, Credential::Query { name: "k", secret: "v" })
        .unwrap();
    assert_eq!(built.uri(), "/a?k=v");
    let built = out
        .assemble(
            &origin,
            Credential::Basic {
                user: "ada",
                password: "se:cret",
            },
        )
        .unwrap();
    assert_eq!(built.headers()["authorization"], "Basic YWRhOnNlOmNyZXQ=");
    assert!(built.headers()["authorization"].is_sensitive());
    let built = out
        .assemble(
            &origin,
            Credential::Header {
                name: "Cookie",
                secret: "session=1",
            },
        )
        .unwrap();
    assert_eq!(built.headers()["cookie"], "session=1");
    assert!(!serde_json::to_string(&out).unwrap().contains("authorization"));
}

#[test]
fn the_origin_of_the_request_must_be_that_of_the_place() {
    let origin = Origin::parse("https://other.example.com", false).unwrap();
    assert!(matches!(
        outgoing("/", &[]).assemble(&origin, Credential::None),
        Err(BadRequest::Origin { .. })
    ));
}

#[test]
fn a_recorded_request_is_read_back_as_it_was() {
    for body in [&b""[..], b"{\"n\":12.30}", "grün\n".as_bytes(), &[0xff, 0, 1]] {
        let out = Outgoing {
            body: body.to_vec(),
            ..outgoing("/a?b", &[("a", "1"), ("a", "2")])
        };
        let stored = serde_json::to_string(&out).unwrap();
        assert_eq!(serde_json::from_str::<Outgoing>(&stored).unwrap(), out, "{stored}");
    }
    let text = serde_json::to_string(&Outgoing {
        body: b"{}".to_vec(),
        ..outgoing("/", &[])
    })
    .unwrap();
    assert!(text.contains(r#""body":{"text":"{}"}"#), "a person can read it: {text}");
}
