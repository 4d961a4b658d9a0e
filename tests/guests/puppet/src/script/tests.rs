#![allow(clippy::unwrap_used)]

use oncegate_sdk::mock::Mock;
use oncegate_sdk::raw::RawCall;
use oncegate_sdk::{Failure, Finding, SendError};
use serde_json::{Value, json};

use super::{lookup, perform};
use oncegate_sdk::Doubt;

fn call(input: Value) -> RawCall {
    RawCall {
        action: "do".into(),
        input: input.to_string(),
        key: "K".into(),
        settings: "{}".into(),
    }
}

fn done(host: &Mock, script: Value) -> Result<String, Failure> {
    host.run(|| perform(&call(json!({"script": script}))))
}

fn looked(host: &Mock, script: Value) -> Finding<String> {
    host.run(|| {
        lookup(
            &call(json!({"lookup": script})),
            Doubt {
                first_sent_ms: 5,
                status: None,
            },
        )
    })
}

#[test]
fn it_sends_what_it_is_told_and_says_what_came_back() {
    let host = Mock::new()
        .answer(201, json!({"id": 7}))
        .fail(SendError::Denied("second".into()));
    let script = json!([
        {"op": "send", "path": "/effects/{{key}}", "json": {"key": "{{key}}"}, "query": [["a", "b"]], "times": 2},
    ]);
    let output: Value = serde_json::from_str(&done(&host, script).unwrap()).unwrap();
    assert_eq!(output["answers"][0]["status"], 201);
    assert_eq!(output["answers"][1]["error"], "denied");
    let sent = &host.requests()[0];
    assert_eq!((sent.method.as_str(), sent.path.as_str()), ("POST", "/effects/K"));
    assert_eq!(sent.body.as_deref(), Some(br#"{"key":"K"}"#.as_slice()));
}

#[test]
fn it_reports_what_it_is_told() {
    let host = Mock::new();
    assert_eq!(
        done(&host, json!([{"op": "text", "text": "no json"}])).unwrap(),
        "no json"
    );
    assert_eq!(done(&host, json!([{"op": "ok", "output": 7}])).unwrap(), "7");
    assert_eq!(done(&host, json!([{"op": "huge", "bytes": 3}])).unwrap(), "\"xxx\"");
    let temporary = done(&host, json!([{"op": "temporary", "code": "c", "retry_after_ms": 9}])).unwrap_err();
    assert!(matches!(temporary, Failure::Temporary(problem) if problem.retry_after_ms == Some(9)));
    assert!(matches!(
        done(&host, json!([{"op": "rejected"}])),
        Err(Failure::Rejected(_))
    ));
    assert!(matches!(
        done(&host, json!([{"op": "unauthorized"}])),
        Err(Failure::Unauthorized(_))
    ));
    assert!(matches!(
        done(&host, json!([{"op": "unsure"}])),
        Err(Failure::Unsure(_))
    ));
}

#[test]
fn it_finds_what_it_is_told() {
    let host = Mock::new();
    assert_eq!(looked(&host, json!([{"op": "absent"}])), Finding::Absent);
    let found = looked(
        &host,
        json!([{"op": "found", "reference": "r", "output": {"id": 1}, "by": "content"}]),
    );
    assert_eq!(found, Finding::by_content(r#"{"id":1}"#.to_owned(), "r"));
    assert!(matches!(looked(&host, json!([{"op": "unsure"}])), Finding::Unsure(_)));
}

#[test]
fn told_to_judge_it_is_honest() {
    let get = json!({"op": "send", "method": "GET", "path": "/effects/{{key}}"});
    let judge = json!({"op": "judge", "reference": "/id"});
    let script = json!([get, judge]);
    let host = Mock::new()
        .answer(200, json!({"key": "K", "id": 4}))
        .answer(404, "")
        .answer(200, json!({"key": "other"}));
    assert_eq!(
        looked(&host, script.clone()),
        Finding::by_key(r#"{"id":4,"key":"K"}"#.to_owned(), "4")
    );
    assert_eq!(looked(&host, script.clone()), Finding::Absent);
    assert!(matches!(looked(&host, script.clone()), Finding::Unsure(_)));
    let host = Mock::new().answer(422, "").fail(SendError::MaybeSent("cut".into()));
    assert!(matches!(done(&host, script.clone()), Err(Failure::Rejected(_))));
    assert!(matches!(done(&host, script), Err(Failure::Unsure(_))));
}

#[test]
fn it_traps_where_the_last_answer_had_the_status_that_it_is_told() {
    let script = json!([
        {"op": "trap", "status": 503},
        {"op": "send", "method": "GET", "path": "/"},
        {"op": "trap", "status": 503},
        {"op": "ok", "output": 1},
    ]);
    let told = |status| std::panic::catch_unwind(|| done(&Mock::new().answer(status, ""), script.clone()).unwrap());
    assert_eq!(told(200).unwrap(), "1");
    assert!(told(503).is_err());
}

#[test]
fn settings_hold_the_script_that_an_input_leaves_out() {
    let call = RawCall {
        action: "do".into(),
        input: "{}".into(),
        key: "K".into(),
        settings: json!({"script": [{"op": "ok", "output": 1}], "lookup": [{"op": "absent"}]}).to_string(),
    };
    assert_eq!(perform(&call).unwrap(), "1");
    assert_eq!(
        lookup(
            &call,
            Doubt {
                first_sent_ms: 0,
                status: None
            }
        ),
        Finding::Absent
    );
}
