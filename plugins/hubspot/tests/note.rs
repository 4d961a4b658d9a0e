//! What goes out for a note, and how it is found again by its key.
#![allow(clippy::unwrap_used)]

use oncegate_hubspot::CreateNote;
use oncegate_sdk::mock::Mock;
use oncegate_sdk::{Failure, Finding};
use serde_json::{Value, json};

const KEY: &str = "og1_k7";

fn input() -> Value {
    json!({"contact": "512", "text": "Call back & <b>soon</b>\nplease", "at": "2026-01-31T09:30:00Z"})
}

fn hit(id: &str, body: &str) -> Value {
    json!({"id": id, "properties": {"hs_note_body": body, "hs_object_id": id}, "archived": false})
}

#[test]
fn a_note_is_tied_to_its_contact_and_carries_the_key_below_the_text() {
    let host = Mock::new().key(KEY).answer(201, json!({"id": "901", "properties": {}}));
    assert_eq!(host.perform::<CreateNote>(input()), Ok(json!({"id": "901"})));
    let sent = &host.requests()[0];
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("POST", "/crm/v3/objects/notes")
    );
    let body: Value = serde_json::from_slice(sent.body.as_deref().unwrap()).unwrap();
    let kind = json!({"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 202});
    let expected = json!({
        "properties": {
            "hs_timestamp": "2026-01-31T09:30:00Z",
            "hs_note_body": "Call back &amp; &lt;b&gt;soon&lt;/b&gt;<br>please<br><small>og1_k7</small>",
        },
        "associations": [{"to": {"id": "512"}, "types": [kind]}],
    });
    assert_eq!(body, expected);
}

#[test]
fn answers_other_than_2xx_are_no_note() {
    let told = |status: u16| {
        let host = Mock::new().answer(status, json!({"status": "error", "message": "no", "category": "C"}));
        host.perform::<CreateNote>(input()).unwrap_err()
    };
    assert!(matches!(told(400), Failure::Rejected(_)));
    assert!(matches!(told(403), Failure::Unauthorized(_)));
    assert!(matches!(told(423), Failure::Temporary(_)));
    assert!(matches!(told(500), Failure::Unsure(_)));
    let host = Mock::new().answer(201, json!({"properties": {}}));
    assert!(
        matches!(host.perform::<CreateNote>(input()), Err(Failure::Unsure(_))),
        "a note without an id"
    );
}

#[test]
fn it_is_searched_for_by_the_key_and_found_where_the_key_stands_in_full() {
    let results = json!([
        hit("900", "another one<br><small>og1_k</small>"),
        hit("901", "ours<br><small>og1_k7</small>")
    ]);
    let host = Mock::new()
        .key(KEY)
        .answer(200, json!({"total": 2, "results": results}));
    assert_eq!(
        host.lookup::<CreateNote>(input()),
        Finding::by_key(json!({"id": "901"}), "901")
    );
    let sent = &host.requests()[0];
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("POST", "/crm/v3/objects/notes/search")
    );
    let body: Value = serde_json::from_slice(sent.body.as_deref().unwrap()).unwrap();
    assert_eq!(
        body,
        json!({"query": "og1_k7", "properties": ["hs_note_body"], "limit": 20})
    );
}

#[test]
fn absent_is_only_a_search_that_gives_nothing() {
    let host = Mock::new().key(KEY).answer(200, json!({"total": 0, "results": []}));
    assert_eq!(host.lookup::<CreateNote>(input()), Finding::Absent);
    for unclear in [
        json!({"total": 1, "results": [hit("900", "something else")]}),
        json!({"total": 1, "results": [{"id": "900", "properties": {"hs_note_body": null}}]}),
        json!({"total": 1, "results": [{"id": "900", "properties": {}}]}),
        json!({"total": 0}),
        json!([]),
    ] {
        let found = Mock::new().key(KEY).answer(200, &unclear).lookup::<CreateNote>(input());
        assert!(matches!(found, Finding::Unsure(_)), "{unclear}: {found:?}");
    }
    for status in [400, 401, 403, 404, 429, 500] {
        let found = Mock::new().answer(status, json!({})).lookup::<CreateNote>(input());
        assert!(matches!(found, Finding::Unsure(_)), "{status}: {found:?}");
    }
}

#[test]
fn what_cannot_be_a_note_sends_nothing_and_says_why() {
    let with = |name: &str, value: Value| {
        let mut changed = input();
        changed[name] = value;
        changed
    };
    for (input, why) in [
        (with("contact", json!("")), "HubSpot's id"),
        (with("contact", json!("ada@example.com")), "HubSpot's id"),
        (with("text", json!(" \n")), "no text"),
        (with("text", json!("&".repeat(20_000))), "HubSpot takes 65536"),
        (with("at", json!("yesterday")), "an instant in UTC"),
        (with("at", json!("2026-01-31")), "an instant in UTC"),
        (with("at", json!("2026-01-31T09:30:00+01:00")), "an instant in UTC"),
        (with("at", json!("2026-01-31T09:30:00.Z")), "an instant in UTC"),
        (with("at", json!("2026-01-31T09:30:00")), "an instant in UTC"),
        (with("at", json!("2026-01-31T09:30:00.5")), "an instant in UTC"),
        (with("at", json!("2026-01-31T09:30:00.x5Z")), "an instant in UTC"),
        (with("at", json!("2026-01-31T09:30:0äZ")), "an instant in UTC"),
        (with("owner", json!(1)), "unknown field"),
    ] {
        let host = Mock::new();
        let told = host.perform::<CreateNote>(input.clone());
        assert!(
            matches!(&told, Err(Failure::Rejected(problem)) if problem.message.contains(why)),
            "{why}: {told:?}"
        );
        assert!(host.requests().is_empty());
    }
}

#[test]
fn a_note_of_the_longest_kind_and_an_instant_with_a_fraction_are_taken() {
    let host = Mock::new().key(KEY).answer(201, json!({"id": "1"}));
    let mark = "<br><small>og1_k7</small>".chars().count();
    let mut longest = input();
    longest["text"] = json!("ä".repeat(65_536 - mark));
    longest["at"] = json!("2026-01-31T09:30:00.123456Z");
    assert!(host.perform::<CreateNote>(longest).is_ok());
}
