//! Whether an effect is there: found only with our key, absent only where nothing is shown, else unsure.
#![allow(clippy::unwrap_used)]

use oncegate_http::Send;
use oncegate_sdk::mock::Mock;
use oncegate_sdk::{Finding, SendError};
use serde_json::{Value, json};

fn host(lookup: Value) -> Mock {
    Mock::new().key("og1_k").settings(json!({"lookup": lookup}))
}

fn input() -> Value {
    json!({"path": "/contacts", "query": {"n": 9007199254740993_u64}, "body": {"email": "max@example.com"}})
}

fn by_key() -> Value {
    json!({"path": "/contacts/by-key/{key}", "pointer": "/key", "reference": "/id"})
}

#[test]
fn it_asks_by_key_or_by_what_the_input_says() {
    let host = host(json!({
        "path": "/contacts/{input./body/email}",
        "query": {"external_id": "x-{key}", "of": "{input./query/n}"},
        "pointer": "/key",
    }))
    .answer(404, "");
    assert_eq!(host.lookup::<Send>(input()), Finding::Absent);
    let sent = &host.requests()[0];
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("GET", "/contacts/max%40example.com")
    );
    assert_eq!(
        sent.query,
        [
            ("external_id".to_owned(), "x-og1_k".to_owned()),
            ("of".to_owned(), "9007199254740993".to_owned())
        ]
    );
}

#[test]
fn braces_in_a_value_mean_nothing() {
    let host = host(json!({"path": "/c", "query": {"q": "{input./path} {key}"}, "pointer": "/key"})).answer(404, "");
    host.lookup::<Send>(json!({"path": "{key} {input./body}"}));
    assert_eq!(
        host.requests()[0].query,
        [("q".to_owned(), "{key} {input./body} og1_k".to_owned())]
    );
}

#[test]
fn our_key_is_found_with_its_reference() {
    let host = host(by_key()).answer(200, json!({"key": "og1_k", "id": 7}));
    let found = host.lookup::<Send>(input());
    assert_eq!(
        found,
        Finding::by_key(json!({"status": 200, "body": {"key": "og1_k", "id": 7}}), "7")
    );
}

#[test]
fn in_a_list_our_item_is_found() {
    let lookup =
        json!({"path": "/c", "query": {"k": "{key}"}, "items": "/results", "pointer": "/key", "reference": "/id"});
    let host = host(lookup)
        .answer(
            200,
            json!({"results": [{"key": "other", "id": 1}, {"key": "og1_k", "id": 2}]}),
        )
        .answer(200, json!({"results": []}))
        .answer(200, json!({"results": [{"key": "other"}]}))
        .answer(200, json!({"items": []}));
    assert!(matches!(host.lookup::<Send>(input()), Finding::Found(effect) if effect.reference == "2"));
    assert_eq!(host.lookup::<Send>(input()), Finding::Absent);
    assert!(matches!(host.lookup::<Send>(input()), Finding::Unsure(_)));
    assert!(matches!(host.lookup::<Send>(input()), Finding::Unsure(_)));
}

#[test]
fn absent_is_only_what_shows_nothing() {
    let mut lookup = by_key();
    lookup["pointer"] = json!("/results/0/key");
    for nothing in [
        json!({"results": []}),
        json!({"results": null}),
        json!([]),
        json!({}),
        Value::Null,
    ] {
        let host = host(lookup.clone()).answer(200, &nothing);
        assert_eq!(host.lookup::<Send>(input()), Finding::Absent, "{nothing}");
    }
    for status in [404, 410] {
        assert_eq!(
            host(by_key()).answer(status, "").lookup::<Send>(input()),
            Finding::Absent
        );
    }
}

#[test]
fn all_else_is_unsure() {
    for other in [
        json!({"key": "another"}),
        json!({"id": 7}),
        json!({"key": ["og1_k"]}),
        json!("og1_k"),
        json!({"key": ""}),
    ] {
        let found = host(by_key()).answer(200, &other).lookup::<Send>(input());
        assert!(matches!(found, Finding::Unsure(_)), "{other}: {found:?}");
    }
    for status in [301, 400, 401, 403, 429, 500, 503] {
        assert!(
            matches!(
                host(by_key()).answer(status, "").lookup::<Send>(input()),
                Finding::Unsure(_)
            ),
            "{status}"
        );
    }
    let cut = host(by_key()).fail(SendError::MaybeSent("cut".into()));
    assert!(matches!(cut.lookup::<Send>(input()), Finding::Unsure(_)));
}

#[test]
fn without_a_described_lookup_nothing_is_asked() {
    let host = Mock::new();
    assert!(matches!(host.lookup::<Send>(input()), Finding::Unsure(_)));
    assert!(host.requests().is_empty());
}

#[test]
fn a_value_that_the_input_does_not_have_asks_nothing() {
    for lookup in [
        json!({"path": "/c/{input./body/phone}", "pointer": "/key"}),
        json!({"path": "/c", "query": {"a": "{input./body/phone}"}, "pointer": "/key"}),
        json!({"path": "/c/{other}", "pointer": "/key"}),
    ] {
        let host = host(lookup);
        assert!(matches!(host.lookup::<Send>(input()), Finding::Unsure(_)));
        assert!(host.requests().is_empty());
    }
}
