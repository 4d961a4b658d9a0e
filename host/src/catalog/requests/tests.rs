#![allow(clippy::unwrap_used)]

use super::super::approved::tests::{CRM, HTTP, MAIL, approved};
use super::super::manifest::GOOD;
use super::*;

const KEY: &str = "og1_k";

fn request(method: &str, path: &str) -> Request {
    Request {
        method: method.into(),
        endpoint: "api".into(),
        path: path.into(),
        query: Vec::new(),
        headers: Vec::new(),
        body: Vec::new(),
        has_body: false,
    }
}

fn header(mut request: Request, name: &str, value: &str) -> Request {
    request.headers.push((name.into(), value.into()));
    request
}

fn query(mut request: Request, name: &str, value: &str) -> Request {
    request.query.push((name.into(), value.into()));
    request
}

fn body(request: Request, text: &str) -> Request {
    let mut request = header(request, "Content-Type", "application/json");
    request.body = text.into();
    request.has_body = true;
    request
}

/// The verdict on a request of the mail connection, as one line.
fn verdict(request: &Request, purpose: Purpose) -> String {
    said(&approved(HTTP, MAIL, "send"), request, purpose)
}

fn said(approved: &Approved, request: &Request, purpose: Purpose) -> String {
    match approved.check(request, purpose, KEY) {
        Ok(kind) => format!("{kind:?}").to_lowercase(),
        Err(denied) => format!("denied: {denied}"),
    }
}

#[test]
fn what_is_listed_may_leave_and_has_the_kind_of_the_list() {
    assert_eq!(
        verdict(&body(request("POST", "/messages"), "{}"), Purpose::Perform),
        "write"
    );
    assert_eq!(
        verdict(
            &query(request("GET", "/messages/og1_k"), "fields", "a&b=c"),
            Purpose::Perform
        ),
        "read"
    );
    assert_eq!(verdict(&request("GET", "/messages/og1_k"), Purpose::Lookup), "read");
    assert_eq!(
        verdict(&header(request("POST", "/messages"), "x-trace", "1"), Purpose::Perform),
        "write"
    );
    assert_eq!(
        verdict(
            &header(request("GET", "/messages/1"), "Accept", "application/json"),
            Purpose::Perform
        ),
        "read"
    );
}

#[test]
fn what_is_not_listed_never_leaves() {
    let list = "is not in the request list of send (POST /messages; GET /messages/{key})";
    for (method, path) in [
        ("GET", "/messages"),
        ("POST", "/messages/1"),
        ("post", "/messages"),
        ("POST", "/messages/"),
        ("POST", "/Messages"),
        ("POST", "/m%65ssages"),
        ("DELETE", "/messages/1"),
        ("HEAD", "/messages/1"),
        ("GET", "/messages/1/2"),
        ("GET", "/messages/"),
        ("GET", "/other"),
        ("POST\r\nX: y", "/messages"),
    ] {
        let said = verdict(&request(method, path), Purpose::Perform);
        assert!(
            said.starts_with("denied: ") && said.ends_with(list),
            "{method} {path}: {said}"
        );
        assert!(!said.contains('\r'), "{said:?}");
    }
    let mut elsewhere = request("POST", "/messages");
    elsewhere.endpoint = "https://169.254.169.254".into();
    let denied = "denied: no endpoint \"https://169.254.169.254\"; there is: api";
    assert_eq!(verdict(&elsewhere, Purpose::Perform), denied);
}

#[test]
fn a_lookup_and_a_reading_action_never_write() {
    let write = body(request("POST", "/messages"), "{}");
    assert_eq!(
        verdict(&write, Purpose::Lookup),
        "denied: a lookup only reads, and POST /messages is a write"
    );
    let mut reads = approved(HTTP, MAIL, "send");
    reads.terms.effect = Effect::Read;
    assert_eq!(
        said(&reads, &write, Purpose::Perform),
        "denied: the action send only reads, and this is a write"
    );
}

#[test]
fn where_two_entries_match_the_write_wins() {
    let mut both = approved(HTTP, MAIL, "send");
    let mut read = both.requests[0].clone();
    read.kind = RequestKind::Read;
    both.requests.insert(0, read);
    assert_eq!(said(&both, &request("POST", "/messages"), Purpose::Perform), "write");
}

#[test]
fn a_path_that_two_servers_read_in_two_ways_never_leaves() {
    for (path, why) in [
        ("messages/1", "a path begins with /"),
        ("", "a path begins with /"),
        ("https://evil.example/messages", "a path begins with /"),
        ("//evil.example/messages", "the path has an empty segment (//)"),
        ("/messages/..", "the path has a . or .. segment in it"),
        ("/messages/.", "the path has a . or .. segment in it"),
        ("/messages/%2e%2E", "the path has a . or .. segment in it"),
        ("/messages/.%2e", "the path has a . or .. segment in it"),
        ("/messages/%252e%252e", "the path has a . or .. segment in it"),
        ("/messages/..;x", "the path has a . or .. segment in it"),
        ("/messages/a%2fb", "the path has an encoded slash or backslash in it"),
        ("/messages/a%2Fb", "the path has an encoded slash or backslash in it"),
        ("/messages/a%5Cb", "the path has an encoded slash or backslash in it"),
        ("/messages/a%252fb", "the path has an encoded slash or backslash in it"),
        ("/messages/a\\b", "the path has a backslash in it"),
        (
            "/messages/1?admin=1",
            "the path has ? in it; queries go into `query`, fragments nowhere",
        ),
        (
            "/messages/1#x",
            "the path has # in it; queries go into `query`, fragments nowhere",
        ),
        ("/messages/a b", "the path has ' ' in it; percent-encode it"),
        ("/messages/a\r\nb", "the path has a control character in it"),
        ("/messages/a%0d%0ab", "the path has an encoded control character in it"),
        ("/messages/a%00", "the path has an encoded control character in it"),
        ("/messages/ä", "the path is not ASCII; percent-encode it"),
        ("/messages/100%", "the path has a % without two hexadecimal digits"),
        ("/messages/%g1", "the path has a % without two hexadecimal digits"),
        ("/messages/%+1", "the path has a % without two hexadecimal digits"),
    ] {
        assert_eq!(
            verdict(&request("GET", path), Purpose::Perform),
            format!("denied: {why}"),
            "{path:?}"
        );
    }
    for path in [
        "/messages/a%20b",
        "/messages/a@b.c",
        "/messages/%C3%A4",
        "/messages/...",
        "/messages/.a",
        "/messages/50%25",
    ] {
        assert_eq!(verdict(&request("GET", path), Purpose::Perform), "read", "{path:?}");
    }
    let long = |bytes: usize| format!("/messages/{}", "x".repeat(bytes - 10));
    assert_eq!(
        verdict(&request("GET", &long(path::PATH_BYTES_MAX)), Purpose::Perform),
        "read"
    );
    let said = verdict(&request("GET", &long(path::PATH_BYTES_MAX + 1)), Purpose::Perform);
    assert_eq!(said, "denied: the path has 4097 bytes, at most 4096 leave");
}

#[test]
fn headers_are_the_listed_ones_and_two_more() {
    for (name, why) in [
        ("Authorization", "may not be set: credentials are put in by the host"),
        ("Cookie", "may not be set: credentials are put in by the host"),
        (
            "HOST",
            "may not be set: it belongs to the transport, which is the host's",
        ),
        (
            "Content-Length",
            "may not be set: it belongs to the transport, which is the host's",
        ),
        (
            "transfer-encoding",
            "may not be set: it belongs to the transport, which is the host's",
        ),
        (
            "Connection",
            "may not be set: it belongs to the transport, which is the host's",
        ),
        (
            "Forwarded",
            "may not be set: it would speak for another sender or place",
        ),
        (
            "X-Forwarded-For",
            "may not be set: it would speak for another sender or place",
        ),
        (
            "X_Forwarded_For",
            "may not be set: it would speak for another sender or place",
        ),
        (
            "X-HTTP-Method-Override",
            "may not be set: it would make another method of the listed one",
        ),
        (
            "X-Method-Override",
            "may not be set: it would make another method of the listed one",
        ),
        (
            "X-HTTP-Method",
            "may not be set: it would make another method of the listed one",
        ),
        ("Idempotency-Key", "carries the key; the host puts it in"),
        ("idempotency-key", "carries the key; the host puts it in"),
        ("x-api-key", "carries the credential; the host puts it in"),
        ("X-Other", "is not listed for POST /messages"),
    ] {
        let said = verdict(&header(request("POST", "/messages"), name, "x"), Purpose::Perform);
        assert_eq!(said, format!("denied: the header {name:?} {why}"));
    }
    let said = verdict(&header(request("GET", "/messages/1"), "X-Trace", "1"), Purpose::Perform);
    assert_eq!(
        said, "denied: the header \"X-Trace\" is not listed for GET /messages/1",
        "listed for the other request only"
    );
    let twice = header(header(request("POST", "/messages"), "X-Trace", "1"), "x-trace", "2");
    assert_eq!(
        verdict(&twice, Purpose::Perform),
        "denied: the header \"x-trace\" is there twice"
    );
    let split = header(request("POST", "/messages"), "X-Trace", "1\r\nX-HTTP-Method: DELETE");
    assert_eq!(
        verdict(&split, Purpose::Perform),
        "denied: the header \"X-Trace\" has other than printable ASCII in it"
    );
    let name = header(request("POST", "/messages"), "X Trace", "1");
    assert_eq!(
        verdict(&name, Purpose::Perform),
        "denied: \"X Trace\" is no header name"
    );
}

#[test]
fn query_parameters_are_the_listed_ones() {
    let other = query(request("GET", "/messages/1"), "expand", "all");
    let unlisted = verdict(&other, Purpose::Perform);
    assert_eq!(
        unlisted,
        "denied: the query parameter \"expand\" is not listed for GET /messages/1"
    );
    let control = query(request("GET", "/messages/1"), "fields", "a\nb");
    assert_eq!(
        verdict(&control, Purpose::Perform),
        "denied: the query parameter \"fields\" has control characters"
    );
    let signed = MAIL.replace(
        "kind = \"header\"\nname = \"X-Api-Key\"",
        "kind = \"query\"\nname = \"api_key\"",
    );
    let said = said(
        &approved(HTTP, &signed, "send"),
        &query(request("GET", "/messages/1"), "api_key", "x"),
        Purpose::Perform,
    );
    assert_eq!(
        said,
        "denied: the query parameter \"api_key\" is the credential's; the host puts it in"
    );
}

#[test]
fn a_read_by_get_carries_no_body() {
    let said = verdict(&body(request("GET", "/messages/1"), "{}"), Purpose::Perform);
    assert_eq!(said, "denied: GET /messages/1 carries a body");
}

#[test]
fn a_key_in_the_body_is_there_before_anything_is_sent() {
    let header_dedup = "dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"24h\" }";
    let field = MAIL.replace(
        header_dedup,
        "dedup = { kind = \"field\", pointer = \"/meta/id\", window = \"24h\" }",
    );
    let mail = approved(HTTP, &field, "send");
    let post = |text: &str| said(&mail, &body(request("POST", "/messages"), text), Purpose::Perform);
    assert_eq!(post(r#"{"meta": {"id": "og1_k"}}"#), "write");
    assert_eq!(
        post(r#"{"meta": {"id": "og1_other"}}"#),
        "denied: the body has something else than the step's key at /meta/id"
    );
    assert_eq!(
        post(r#"{"meta": {"id": 1}}"#),
        "denied: the body has something else than the step's key at /meta/id"
    );
    assert_eq!(
        post(r#"{"meta": {}}"#),
        "denied: the body has no step's key at /meta/id"
    );
    let twice = post(r#"{"meta": {"id": "og1_other", "id": "og1_k"}}"#);
    assert!(
        twice.contains("\"/meta/id\" twice"),
        "the destination might read the other one: {twice}"
    );
    assert!(post("no json").contains("and the body is none"));
    let mut form = request("POST", "/messages");
    form.body = b"id=og1_k".to_vec();
    form.has_body = true;
    let form = header(form, "Content-Type", "application/x-www-form-urlencoded");
    let said = said(&mail, &form, Purpose::Perform);
    assert_eq!(
        said,
        "denied: the key belongs at /meta/id of a JSON body, and the Content-Type is not JSON"
    );
    assert_eq!(
        mail.check(&request("GET", "/messages/1"), Purpose::Perform, KEY),
        Ok(RequestKind::Read),
        "a read needs none"
    );
}

#[test]
fn a_reading_post_leaves_by_its_own_exact_path() {
    let search =
        "[[actions.requests]]\nmethod = \"POST\"\npath = \"/crm/v3/objects/contacts/search\"\nkind = \"read\"\n";
    let crm = approved(&format!("{GOOD}{search}"), CRM, "upsert-contact");
    let post = |path: &str, purpose| said(&crm, &body(request("POST", path), "{}"), purpose);
    assert_eq!(post("/crm/v3/objects/contacts/search", Purpose::Lookup), "read");
    let write = post("/crm/v3/objects/contacts/batch/upsert", Purpose::Lookup);
    assert_eq!(
        write,
        "denied: a lookup only reads, and POST /crm/v3/objects/contacts/batch/upsert is a write"
    );
    assert!(post("/crm/v3/objects/contacts/search/", Purpose::Lookup).contains("is not in the request list"));
}

#[test]
fn headers_are_bounded_in_number_and_in_bytes() {
    let listed = |count: usize, bytes: usize| {
        let mut read = request("GET", "/messages/1");
        for n in 0..count {
            let value = if n == 0 { "x".repeat(bytes) } else { String::new() };
            read.headers.push((format!("x-{n:02}"), value));
        }
        verdict(&read, Purpose::Perform)
    };
    // Whether they are listed is asked next.
    let names = |count: usize| count * "x-00".len();
    let bytes_max = 16 * 1024;
    for (count, bytes) in [(64, 0), (1, bytes_max - names(1))] {
        let said = listed(count, bytes);
        assert!(said.contains("is not listed"), "{said}");
    }
    for (count, bytes) in [(65, 0), (1, bytes_max - names(1) + 1)] {
        assert_eq!(
            listed(count, bytes),
            "denied: more than 64 headers or 16384 bytes of them"
        );
    }
}
