//! What goes out and what comes back, on the SDK's mock of the host.
#![allow(clippy::unwrap_used)]

use oncegate_http::{Read, Send};
use oncegate_sdk::mock::Mock;
use oncegate_sdk::{Answer, Failure, Json, SendError};
use serde_json::json;

fn raw(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn a_step_says_the_whole_request() {
    let host = Mock::new().answer(200, json!({}));
    let input = json!({
        "method": "PATCH",
        "path": "/contacts/{email}/notes/{n}",
        "values": {"email": "max+1@example.com", "n": 7},
        "query": {"a": "1 2", "list": [1, "b"], "none": null, "yes": true},
        "headers": {"x-tenant": "acme"},
        "body": {"text": "hello"},
    });
    host.perform::<Send>(input).unwrap();
    let sent = &host.requests()[0];
    assert_eq!((sent.method.as_str(), sent.endpoint.as_str()), ("PATCH", "api"));
    assert_eq!(sent.path, "/contacts/max%2B1%40example.com/notes/7");
    let query = [("a", "1 2"), ("list", "1"), ("list", "b"), ("yes", "true")];
    assert_eq!(sent.query, query.map(|(n, v)| (n.to_owned(), v.to_owned())));
    let headers = [
        ("accept", "application/json"),
        ("x-tenant", "acme"),
        ("content-type", "application/json"),
    ];
    assert_eq!(sent.headers, headers.map(|(n, v)| (n.to_owned(), v.to_owned())));
    assert_eq!(sent.body.as_deref(), Some(br#"{"text":"hello"}"#.as_slice()));
}

#[test]
fn what_is_left_out_has_the_plain_meaning() {
    let host = Mock::new().answer(200, json!({})).answer(200, json!({}));
    host.perform::<Send>(json!({"path": "/x"})).unwrap();
    host.perform::<Read>(json!({"path": "/x", "query": [["a", "1"], ["a", 2]]}))
        .unwrap();
    let sent = host.requests();
    assert_eq!((sent[0].method.as_str(), sent[0].body.as_ref()), ("POST", None));
    assert_eq!((sent[1].method.as_str(), sent[1].body.as_ref()), ("GET", None));
    assert_eq!(
        sent[1].query,
        [("a".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())]
    );
}

#[test]
fn given_content_type_and_accept_are_sent_once() {
    let host = Mock::new().answer(200, json!({}));
    let headers = json!({"Content-Type": "application/merge-patch+json", "Accept": "text/plain"});
    host.perform::<Send>(json!({"path": "/x", "headers": headers, "body": {}}))
        .unwrap();
    let names: Vec<_> = host.requests()[0]
        .headers
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(names, ["Accept", "Content-Type"]);
}

#[test]
fn digits_are_the_same_on_both_ways() {
    let digits = r#"[9007199254740993,8202522731445525542,12.30,1e3,1.0,-0]"#;
    let answer = Answer {
        status: 200,
        headers: vec![],
        body: digits.as_bytes().to_vec(),
    };
    let host = Mock::new().answer_with(answer);
    let input = raw(&format!(r#"{{"path":"/x","body":{{"n":{digits}}}}}"#));
    let output = host.run(|| {
        let call = oncegate_sdk::raw::RawCall {
            input: input.to_string(),
            settings: "{}".into(),
            ..Default::default()
        };
        oncegate_sdk::raw::perform::<Send>(&call).unwrap()
    });
    assert_eq!(
        host.requests()[0].body.as_deref(),
        Some(format!(r#"{{"n":{digits}}}"#).as_bytes())
    );
    assert_eq!(output, format!(r#"{{"status":200,"body":{digits}}}"#));
}

#[test]
fn an_answer_that_is_no_json_is_text_and_an_empty_one_is_null() {
    let plain = |body: &str| Answer {
        status: 200,
        headers: vec![("Location".into(), "/7".into())],
        body: body.into(),
    };
    let host = Mock::new().answer_with(plain("hi \"you\"")).answer_with(plain(""));
    let output = host
        .perform::<Read>(json!({"path": "/x", "keep_headers": ["location"]}))
        .unwrap();
    assert_eq!(
        output,
        json!({"status": 200, "body": "hi \"you\"", "headers": {"location": "/7"}})
    );
    assert_eq!(
        host.perform::<Read>(json!({"path": "/x"})).unwrap(),
        json!({"status": 200, "body": null})
    );
}

#[test]
fn the_key_goes_into_the_body_where_the_connection_wants_it() {
    let host = Mock::new()
        .key("og1_k")
        .settings(json!({"key_field": "/meta/id"}))
        .answer(200, json!({}))
        .answer(200, json!({}));
    host.perform::<Send>(json!({"path": "/x", "body": {"a": 1.0}})).unwrap();
    host.perform::<Send>(json!({"path": "/x"})).unwrap();
    let bodies: Vec<_> = host
        .requests()
        .into_iter()
        .map(|sent| String::from_utf8(sent.body.unwrap()).unwrap())
        .collect();
    assert_eq!(
        bodies,
        [r#"{"a":1.0,"meta":{"id":"og1_k"}}"#, r#"{"meta":{"id":"og1_k"}}"#]
    );
}

#[test]
fn a_step_cannot_take_the_place_of_the_key() {
    let host = Mock::new().settings(json!({"key_field": "/id"}));
    for body in [json!({"id": "mine"}), json!([1])] {
        let failure = host.perform::<Send>(json!({"path": "/x", "body": body})).unwrap_err();
        assert!(
            matches!(&failure, Failure::Rejected(problem) if problem.fields[0].0 == "/body/id"),
            "{failure:?}"
        );
    }
    assert!(host.requests().is_empty());
}

#[test]
fn other_answers_become_the_failure_that_they_mean() {
    let refused = json!({"detail": "no such list"});
    let host = Mock::new()
        .answer(422, refused)
        .answer(401, "")
        .answer(429, "")
        .answer(500, "")
        .fail(SendError::MaybeSent("cut".into()));
    let mut failures = (0..5).map(|_| host.perform::<Send>(json!({"path": "/x"})).unwrap_err());
    let rejected = failures.next().unwrap();
    assert!(
        matches!(&rejected, Failure::Rejected(problem) if problem.message.ends_with("no such list")),
        "{rejected:?}"
    );
    assert!(matches!(failures.next(), Some(Failure::Unauthorized(_))));
    assert!(matches!(failures.next(), Some(Failure::Temporary(_))));
    assert!(matches!(failures.next(), Some(Failure::Unsure(_))));
    assert!(matches!(failures.next(), Some(Failure::Unsure(_))));
}

#[test]
fn a_status_that_the_connection_lists_is_done() {
    let host = Mock::new()
        .settings(json!({"also_ok": [409]}))
        .answer(409, json!({"id": 1}))
        .answer(410, "");
    assert_eq!(host.perform::<Send>(json!({"path": "/x"})).unwrap()["status"], 409);
    assert!(host.perform::<Send>(json!({"path": "/x"})).is_err());
}

#[test]
fn a_value_that_is_missing_or_has_no_place_sends_nothing() {
    let host = Mock::new();
    for input in [
        json!({"path": "/c/{email}"}),
        json!({"path": "/c/{email}", "values": {"email": ""}}),
        json!({"path": "/c/{email}", "values": {"email": "a/b"}}),
        json!({"path": "/c/{email}", "values": {"email": {"a": 1}}}),
        json!({"path": "/c", "unknown": 1}),
        json!({"path": "/c", "query": {"a": {"b": 1}}}),
    ] {
        assert!(
            matches!(host.perform::<Send>(input.clone()), Err(Failure::Rejected(_))),
            "{input}"
        );
    }
    assert!(host.requests().is_empty());
}
