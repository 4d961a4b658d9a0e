//! What goes out to Resend, and what its answers become.
#![allow(clippy::unwrap_used)]

use oncegate_resend::SendEmail;
use oncegate_sdk::mock::Mock;
use oncegate_sdk::{Answer, Failure, SendError};
use serde_json::{Value, json};

fn input() -> Value {
    json!({"to": "ada@example.com", "subject": "Welcome, Ada", "text": "Good to have you here."})
}

fn host() -> Mock {
    Mock::new().settings(json!({"from": "Acme <hello@acme.example>"}))
}

fn sent(host: &Mock) -> Value {
    serde_json::from_slice(host.requests()[0].body.as_deref().unwrap()).unwrap()
}

#[test]
fn an_e_mail_goes_out_as_the_step_says_it() {
    let host = host().answer(200, json!({"id": "49a3999c"}));
    let mut input = input();
    input["html"] = json!("<p>Good to have you here.</p>");
    input["cc"] = json!(["Bob <bob@example.com>", "carol@example.com"]);
    input["bcc"] = json!("dave@example.com");
    input["reply_to"] = json!("office@acme.example");
    assert_eq!(host.perform::<SendEmail>(input), Ok(json!({"id": "49a3999c"})));
    let request = &host.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/emails"));
    let names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["content-type"], "the key's header is the host's to put in");
    let expected = json!({
        "from": "Acme <hello@acme.example>",
        "to": ["ada@example.com"],
        "subject": "Welcome, Ada",
        "text": "Good to have you here.",
        "html": "<p>Good to have you here.</p>",
        "cc": ["Bob <bob@example.com>", "carol@example.com"],
        "bcc": ["dave@example.com"],
        "reply_to": ["office@acme.example"],
    });
    assert_eq!(sent(&host), expected);
}

#[test]
fn a_step_may_name_another_sender_and_what_it_leaves_out_is_not_sent() {
    let host = host().answer(200, json!({"id": "1"}));
    let mut input = input();
    input["from"] = json!("sales@acme.example");
    host.perform::<SendEmail>(input).unwrap();
    let expected = json!({"from": "sales@acme.example", "to": ["ada@example.com"], "subject": "Welcome, Ada",
        "text": "Good to have you here."});
    assert_eq!(sent(&host), expected);
}

#[test]
fn each_of_resends_errors_becomes_what_it_means() {
    let kind = |failure: &Failure| match failure {
        Failure::Rejected(_) => "rejected",
        Failure::Unauthorized(_) => "unauthorized",
        Failure::Temporary(_) => "temporary",
        Failure::Unsure(_) => "unsure",
    };
    for (status, name, message, meant) in [
        (
            400,
            "invalid_idempotency_key",
            "Idempotency keys must have between 1 and 256 characters.",
            "rejected",
        ),
        (
            400,
            "validation_error",
            "An error was found with one or more fields in the request.",
            "rejected",
        ),
        (400, "validation_error", "API key is invalid", "unauthorized"),
        (401, "missing_api_key", "Missing API Key", "unauthorized"),
        (401, "validation_error", "API key is invalid", "unauthorized"),
        (
            401,
            "restricted_api_key",
            "This API key is restricted to only send emails.",
            "unauthorized",
        ),
        (403, "invalid_api_key", "API key is invalid.", "unauthorized"),
        (403, "suspended_api_key", "This API key is suspended.", "unauthorized"),
        (
            403,
            "validation_error",
            "The acme.example domain is not verified.",
            "rejected",
        ),
        (404, "not_found", "The requested endpoint does not exist.", "rejected"),
        (
            409,
            "invalid_idempotent_request",
            "Same idempotency key used with a different request payload.",
            "unsure",
        ),
        (
            409,
            "concurrent_idempotent_requests",
            "The original request is still in progress.",
            "unsure",
        ),
        (
            422,
            "missing_required_field",
            "The request body is missing one or more required fields.",
            "rejected",
        ),
        (422, "invalid_from_address", "Invalid `from` field.", "rejected"),
        (429, "rate_limit_exceeded", "Too many requests.", "temporary"),
        (
            429,
            "daily_quota_exceeded",
            "You have reached your daily email quota.",
            "temporary",
        ),
        (
            429,
            "monthly_quota_exceeded",
            "You have reached your monthly email quota.",
            "temporary",
        ),
        (500, "application_error", "An unexpected error occurred.", "unsure"),
        (503, "service_unavailable", "Down for a moment.", "unsure"),
    ] {
        let error = json!({"statusCode": status, "name": name, "message": message});
        let failure = host().answer(status, error).perform::<SendEmail>(input()).unwrap_err();
        assert_eq!(kind(&failure), meant, "{status} {name}");
        let problem = failure.problem();
        assert_eq!(
            (problem.code.as_str(), problem.message.ends_with(message)),
            (name, true)
        );
        assert_eq!(
            problem.retry_after_ms,
            name.ends_with("quota_exceeded").then_some(3_600_000),
            "{name}"
        );
    }
}

#[test]
fn answers_that_are_not_resends_mean_what_their_status_means() {
    let page = |status| Answer {
        status,
        headers: vec![],
        body: b"<h1>Bad Gateway</h1>".to_vec(),
    };
    let told = |status| {
        host()
            .answer_with(page(status))
            .perform::<SendEmail>(input())
            .unwrap_err()
    };
    assert!(matches!(told(400), Failure::Rejected(_)));
    assert!(matches!(told(429), Failure::Temporary(_)));
    assert!(matches!(told(502), Failure::Unsure(_)));
    assert!(matches!(told(200), Failure::Unsure(_)), "taken, and no id");
    let lost = host().fail(SendError::MaybeSent("cut".into()));
    assert!(matches!(lost.perform::<SendEmail>(input()), Err(Failure::Unsure(_))));
}

#[test]
fn what_cannot_be_an_e_mail_sends_nothing_and_says_why() {
    let with = |name: &str, value: Value| {
        let mut changed = input();
        changed[name] = value;
        changed
    };
    let many: Vec<String> = (0..51).map(|n| format!("a{n}@example.com")).collect();
    for (input, why) in [
        (with("to", json!("ada")), "an address is"),
        (with("to", json!("")), "an address is"),
        (with("to", json!("Ada ada@example.com")), "an address is"),
        (with("to", json!("Ada <ada@example.com")), "an address is"),
        (with("to", json!("a@b.c <ada@example.com>")), "an address is"),
        (with("to", json!("a@b.c, d@e.f")), "an address is"),
        (with("to", json!("a@b.c\r\nBcc: d@e.f")), "an address is"),
        (with("to", json!([])), "0 addresses"),
        (with("to", json!(many)), "51 addresses"),
        (with("to", json!(7)), "expected a string"),
        (with("subject", json!("  ")), "the subject is empty"),
        (with("subject", json!("Hi\nBcc: x@y.z")), "more than one line"),
        (with("text", Value::Null), "no content"),
        (with("sender", json!("a@b.c")), "unknown field"),
    ] {
        let host = host();
        let told = host.perform::<SendEmail>(input.clone());
        assert!(
            matches!(&told, Err(Failure::Rejected(problem)) if problem.message.contains(why)),
            "{input}: {told:?}"
        );
        assert!(host.requests().is_empty());
    }
    let nobody = Mock::new();
    let told = nobody.perform::<SendEmail>(input()).unwrap_err();
    assert_eq!(told.problem().fields[0].0, "/from");
    assert!(nobody.requests().is_empty());
}

#[test]
fn fifty_addresses_are_taken() {
    let many: Vec<String> = (0..50).map(|n| format!("a{n}@example.com")).collect();
    let host = host().answer(200, json!({"id": "1"}));
    let mut input = input();
    input["to"] = json!(many);
    assert!(host.perform::<SendEmail>(input).is_ok());
}
