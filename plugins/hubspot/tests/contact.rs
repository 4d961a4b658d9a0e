//! What goes out for a contact, and when one counts as done, found or absent.
#![allow(clippy::unwrap_used)]

use oncegate_hubspot::UpsertContact;
use oncegate_sdk::mock::Mock;
use oncegate_sdk::{Answer, Failure, Finding, Json, SendError};
use serde_json::{Value, json};

fn input() -> Value {
    json!({"email": "Ada@Example.com", "properties": {"firstname": "Ada", "employees": 12, "newsletter": true, "phone": null}})
}

/// HubSpot's answer to an upsert.
fn done() -> Value {
    json!({"status": "COMPLETE", "results": [{"id": "512", "new": true, "properties": {"email": "ada@example.com"}, "archived": false}],
        "startedAt": "2026-01-31T09:30:00.000Z", "completedAt": "2026-01-31T09:30:00.010Z"})
}

/// HubSpot's answer to a read, with these properties beside those that it always shows.
fn record(properties: Value) -> Value {
    let mut all = json!({"email": "ada@example.com", "hs_object_id": "512", "createdate": "2026-01-31T09:30:00Z"});
    all.as_object_mut()
        .unwrap()
        .extend(properties.as_object().unwrap().clone());
    json!({"id": "512", "properties": all, "archived": false})
}

#[test]
fn a_contact_is_a_batch_of_one_by_its_e_mail_address() {
    let host = Mock::new().answer(200, done());
    let output = host.perform::<UpsertContact>(input());
    assert_eq!(output, Ok(json!({"id": "512", "email": "Ada@Example.com"})));
    let sent = &host.requests()[0];
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("POST", "/crm/v3/objects/contacts/batch/upsert")
    );
    let body: Value = serde_json::from_slice(sent.body.as_deref().unwrap()).unwrap();
    let properties = json!({"firstname": "Ada", "employees": "12", "newsletter": "true"});
    assert_eq!(
        body,
        json!({"inputs": [{"idProperty": "email", "id": "Ada@Example.com", "properties": properties}]}),
        "values are texts, and what is null is left alone"
    );
}

#[test]
fn numbers_are_sent_as_they_are_written() {
    let host = Mock::new().answer(200, done());
    let input = Json::parse(r#"{"email":"a@b.c","properties":{"amount":12.30,"big":9007199254740993}}"#).unwrap();
    host.perform::<UpsertContact>(input).unwrap();
    let sent = String::from_utf8(host.requests()[0].body.clone().unwrap()).unwrap();
    assert!(sent.contains(r#""amount":"12.30","big":"9007199254740993""#), "{sent}");
}

#[test]
fn a_batch_that_was_taken_without_the_contact_is_not_done() {
    let refused = json!({"status": "COMPLETE", "results": [], "numErrors": 1,
        "errors": [{"status": "error", "category": "VALIDATION_ERROR", "message": "Email address is invalid"}]});
    let host = Mock::new()
        .answer(207, refused)
        .answer(200, json!({"status": "PENDING", "results": []}))
        .answer(200, json!({"status": "CANCELED", "results": [{"id": "512"}]}))
        .answer(200, "no json that we know");
    let mut failures = (0..4).map(|_| host.perform::<UpsertContact>(input()).unwrap_err());
    let rejected = failures.next().unwrap();
    assert!(
        matches!(&rejected, Failure::Rejected(problem) if problem.code == "VALIDATION_ERROR" && problem.message.contains("invalid")),
        "{rejected:?}"
    );
    assert!(failures.all(|failure| matches!(failure, Failure::Unsure(_))));
}

#[test]
fn other_answers_mean_what_hubspot_says_of_them() {
    let error =
        |category: &str| json!({"status": "error", "message": "so it is", "correlationId": "c", "category": category});
    let told = |status: u16| {
        let host = Mock::new().answer(status, error("SOME_CATEGORY"));
        host.perform::<UpsertContact>(input()).unwrap_err()
    };
    assert!(matches!(told(400), Failure::Rejected(_)));
    assert!(matches!(told(401), Failure::Unauthorized(_)));
    assert!(matches!(told(403), Failure::Unauthorized(_)), "a scope is missing");
    assert!(matches!(told(423), Failure::Temporary(problem) if problem.retry_after_ms == Some(2_000)));
    assert!(matches!(told(429), Failure::Temporary(_)));
    assert!(matches!(told(477), Failure::Temporary(problem) if problem.code == "SOME_CATEGORY"));
    assert!(matches!(told(502), Failure::Unsure(_)));
    let lost = Mock::new().fail(SendError::MaybeSent("cut".into()));
    assert!(matches!(
        lost.perform::<UpsertContact>(input()),
        Err(Failure::Unsure(_))
    ));
}

#[test]
fn a_contact_is_found_when_every_field_is_as_asked_for() {
    let asked = json!({"firstname": "Ada", "employees": "12", "newsletter": "true", "phone": "1"});
    let host = Mock::new().answer(200, record(asked));
    let found = host.lookup::<UpsertContact>(input());
    assert_eq!(
        found,
        Finding::by_content(json!({"id": "512", "email": "Ada@Example.com"}), "512")
    );
    let sent = &host.requests()[0];
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("GET", "/crm/v3/objects/contacts/Ada%40Example.com")
    );
    let query = [
        ("idProperty", "email"),
        ("properties", "email,employees,firstname,newsletter"),
    ];
    assert_eq!(
        sent.query,
        query.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[test]
fn one_field_that_is_otherwise_and_it_is_not_found() {
    for other in [
        json!({"firstname": "ada", "employees": "12", "newsletter": "true"}),
        json!({"firstname": "Ada", "employees": "12.0", "newsletter": "true"}),
        json!({"firstname": "Ada", "employees": null, "newsletter": "true"}),
        json!({"firstname": "Ada", "newsletter": "true"}),
        json!({"firstname": "Ada", "employees": "12", "newsletter": "true", "email": "ada@elsewhere.example"}),
        json!({"firstname": "Ada", "employees": "12", "newsletter": "true", "email": null}),
    ] {
        let found = Mock::new()
            .answer(200, record(other.clone()))
            .lookup::<UpsertContact>(input());
        assert!(
            matches!(&found, Finding::Unsure(why) if why.contains("not as asked for")),
            "{other}: {found:?}"
        );
    }
}

#[test]
fn a_property_that_was_to_be_cleared_is_empty_or_not_there() {
    let clearing = json!({"email": "ada@example.com", "properties": {"phone": ""}});
    for (properties, cleared) in [
        (json!({}), true),
        (json!({"phone": null}), true),
        (json!({"phone": ""}), true),
        (json!({"phone": "1"}), false),
    ] {
        let found = Mock::new()
            .answer(200, record(properties.clone()))
            .lookup::<UpsertContact>(clearing.clone());
        assert_eq!(matches!(found, Finding::Found(_)), cleared, "{properties}");
    }
}

#[test]
fn absent_is_only_what_hubspot_does_not_know() {
    let missing = json!({"status": "error", "message": "resource not found", "category": "OBJECT_NOT_FOUND"});
    let host = Mock::new().answer(404, missing);
    assert_eq!(host.lookup::<UpsertContact>(input()), Finding::Absent);
    for status in [400, 401, 403, 429, 477, 500, 503] {
        let found = Mock::new()
            .answer(status, json!({"status": "error"}))
            .lookup::<UpsertContact>(input());
        assert!(matches!(found, Finding::Unsure(_)), "{status}: {found:?}");
    }
    let cut = Mock::new().answer_with(Answer {
        status: 200,
        headers: vec![],
        body: b"{".to_vec(),
    });
    assert!(matches!(cut.lookup::<UpsertContact>(input()), Finding::Unsure(_)));
}

#[test]
fn what_cannot_be_a_contact_sends_nothing_and_says_why() {
    for (input, why) in [
        (json!({"email": ""}), "one e-mail address"),
        (json!({"email": "ada"}), "one e-mail address"),
        (json!({"email": "@example.com"}), "one e-mail address"),
        (json!({"email": "a@b@c"}), "one e-mail address"),
        (json!({"email": "a@b, c@d"}), "one e-mail address"),
        (json!({"email": "a b@c"}), "one e-mail address"),
        (
            json!({"email": format!("{}@example.com", "a".repeat(250))}),
            "one e-mail address",
        ),
        (json!({"properties": {}}), "missing field `email`"),
        (json!({"email": "a@b.c", "name": "Ada"}), "unknown field `name`"),
        (
            json!({"email": "a@b.c", "properties": {"First Name": "Ada"}}),
            "no internal name",
        ),
        (
            json!({"email": "a@b.c", "properties": {"a,b": "1"}}),
            "no internal name",
        ),
        (json!({"email": "a@b.c", "properties": {"": "1"}}), "no internal name"),
        (
            json!({"email": "a@b.c", "properties": {"email": "x@y.z"}}),
            "belongs into `email`",
        ),
        (
            json!({"email": "a@b.c", "properties": {"tags": ["a"]}}),
            "a text, number or boolean",
        ),
    ] {
        let host = Mock::new();
        let told = host.perform::<UpsertContact>(input.clone());
        assert!(
            matches!(&told, Err(Failure::Rejected(problem)) if problem.message.contains(why)),
            "{input}: {told:?}"
        );
        assert!(host.requests().is_empty());
    }
}
