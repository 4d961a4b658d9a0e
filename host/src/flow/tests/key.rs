//! Keys and fingerprints.

use super::*;

fn with_key(key: &str) -> String {
    with_trigger(&format!("path = \"t\"\nverify = \"none\"\nkey = {key}"))
}

fn with_key_and_example(key: &str, example: &str) -> String {
    let source = with_trigger(&format!(
        "path = \"t\"\nverify = \"none\"\nkey = {key}\nexample = \"e.json\""
    ));
    check_with(&source, &|_| Some(example.to_owned()))
}

#[test]
fn c10_large_ids_are_two_keys_and_numbers_keep_their_digits() {
    let flow = flow(&with_key("\"{{ body.id }}\""));
    let key = |number: &str| key_of(&flow, &format!("{{\"id\": {number}}}"));
    assert_ne!(key("9007199254740992"), key("9007199254740993"));
    for number in [
        "9007199254740992",
        "9007199254740993",
        "8202522731445525542",
        "12.30",
        "1000",
        "1.0",
        "1",
        "-0",
    ] {
        assert_eq!(key(number), number);
    }
    // Stated in docs/flows.md: an exponent is written `e+3`, and so is another key than 1000.
    assert_eq!(key("1e3"), "1e+3");
    assert_eq!(key("1E3"), "1e+3");
    assert_eq!(key("1e-3"), "1e-3");
}

#[test]
fn c10_the_rule_for_numbers_is_the_same_in_key_context_and_request() {
    let flow = flow(
        "name = \"test\"\n[trigger.webhook]\npath = \"t\"\nverify = \"none\"\nkey = \"{{ body.id }}\"\n[context]\nid = \"{{ body.id }}\"\n[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwith = { id = \"{{ body.id }}\", text = \"no {{ body.id }}\", all = \"{{ body }}\" }\n",
    );
    for (sent, kept) in [
        ("9007199254740993", "9007199254740993"),
        ("12.30", "12.30"),
        ("1e3", "1e+3"),
        ("-0", "-0"),
    ] {
        let delivery = Delivery::new(&format!("{{\"id\":{sent}}}"));
        let event = delivery.event();
        let input = flow.input(0, &scope(&event, &[None])).unwrap();
        assert_eq!(flow.event_key(&event).unwrap().as_str(), kept);
        assert_eq!(flow.context(&event).unwrap()[0].value, kept);
        assert_eq!(
            input.to_string(),
            format!("{{\"all\":{{\"id\":{kept}}},\"id\":{kept},\"text\":\"no {kept}\"}}")
        );
    }
}

#[test]
fn c22_a_key_without_the_status_is_warned_about_and_the_better_one_proposed() {
    let example = r#"{"transaction": {"id": "T-1", "amount": "5.00", "status": "pending"}}"#;
    assert_eq!(
        with_key_and_example("\"{{ body.transaction.id }}\"", example),
        "warning 5:7: the body also has `body.transaction.status`: a later event of the same `body.transaction.id` with another `status` would be a conflict, not a new event; if each is an event of its own, write `key = [\"{{ body.transaction.id }}\", \"{{ body.transaction.status }}\"]`"
    );
    let both = "[\"{{ body.transaction.id }}\", \"{{ body.transaction.status }}\"]";
    assert_eq!(with_key_and_example(both, example), "ok");
}

#[test]
fn c22_the_proposed_key_makes_two_events_of_pending_and_paid() {
    let flow = flow(&with_key("[\"{{ body.id }}\", \"{{ body.status }}\"]"));
    let (pending, paid) = (r#"{"id":"T-1","status":"pending"}"#, r#"{"id":"T-1","status":"paid"}"#);
    assert_eq!(key_of(&flow, pending), r#"["T-1","pending"]"#);
    assert_eq!(key_of(&flow, paid), r#"["T-1","paid"]"#);
}

#[test]
fn c22_the_same_key_with_another_body_has_another_fingerprint() {
    let flow = flow(&with_key("\"{{ body.id }}\""));
    let print = |body: &str| flow.fingerprint(&Delivery::new(body).event());
    assert_ne!(
        print(r#"{"id":"T-1","status":"pending"}"#),
        print(r#"{"id":"T-1","status":"paid"}"#)
    );
}

#[test]
fn a_list_of_values_is_joined_without_ambiguity() {
    let flow = flow(&with_key("[\"{{ body.a }}\", \"{{ body.b }}\"]"));
    assert_ne!(
        key_of(&flow, r#"{"a": "1", "b": "23"}"#),
        key_of(&flow, r#"{"a": "12", "b": "3"}"#)
    );
}

#[test]
fn an_event_without_its_key_is_refused() {
    let flow = flow(&with_key("\"{{ body.id }}\""));
    for body in ["{}", r#"{"id": ""}"#, r#"{"id": "  "}"#, r#"{"id": null}"#, "[]", "7"] {
        let text = key_of(&flow, body);
        assert!(
            text.starts_with("refused: trigger.webhook.key: `body.id` is"),
            "{body}: {text}"
        );
    }
    assert!(key_of(&flow, &format!("{{\"id\": \"{}\"}}", "x".repeat(513))).starts_with("refused: "));
    assert!(!key_of(&flow, &format!("{{\"id\": \"{}\"}}", "x".repeat(512))).starts_with("refused: "));
}

#[test]
fn a_key_with_one_empty_value_is_refused() {
    let flow = flow(&with_key("\"{{ body.shop }}/{{ body.id }}\""));
    assert!(key_of(&flow, r#"{"shop": "eu", "id": ""}"#).contains("`body.id` is empty in this event"));
    assert_eq!(key_of(&flow, r#"{"shop": "eu", "id": "7"}"#), "eu/7");
}

#[test]
fn a_key_of_the_time_of_receipt_is_refused() {
    let text = check(&with_key("\"{{ event.received_at }}\""));
    assert!(
        text.starts_with("5:11: the key is made only of the time of receipt"),
        "{text}"
    );
    let text = check(&with_key("\"{{ event.source }}-{{ event.received_at }}\""));
    assert!(text.contains("the key is made only of the time of receipt"), "{text}");
    let text = check(&with_key("\"{{ body.id }}-{{ event.received_at }}\""));
    assert!(text.starts_with("warning ") && text.contains("another event"), "{text}");
}

#[test]
fn a_key_that_cannot_tell_events_apart_is_refused() {
    for key in ["\"lead\"", "\"{{ event.source }}\"", "\"{{ 1 + 1 }}\""] {
        let text = check(&with_key(key));
        assert!(text.contains("the key is the same for every event"), "{key}: {text}");
    }
}

#[test]
fn a_key_must_not_use_the_run_or_the_id_of_the_delivery() {
    assert!(check(&with_key("\"{{ run.id }}\"")).contains("a key must not use `run`"));
    assert!(check(&with_key("\"{{ run.started_at }}\"")).contains("a key must not use `run`"));
    assert!(check(&with_key("\"{{ event.id }}\"")).contains("`event.id` is new with every delivery"));
    assert!(check(&with_key("\"{{ steps.a.output.id }}\"")).contains("before any step runs"));
}

#[test]
fn names_that_look_like_times_or_counters_are_warned_about() {
    for name in [
        "created_at",
        "createdAt",
        "timestamp",
        "order_date",
        "updated",
        "sent_at",
    ] {
        let text = check(&with_key(&format!("\"{{{{ body.{name} }}}}\"")));
        assert!(
            text.starts_with("warning ") && text.contains("looks like a time"),
            "{name}: {text}"
        );
    }
    for name in ["attempt", "retry_count", "deliveryAttempt"] {
        let text = check(&with_key(&format!("\"{{{{ body.{name} }}}}\"")));
        assert!(text.contains("looks like a counter of attempts"), "{name}: {text}");
    }
    for name in ["id", "order_id", "category", "catalog_number", "format", "batch"] {
        assert_eq!(check(&with_key(&format!("\"{{{{ body.{name} }}}}\""))), "ok", "{name}");
    }
}

#[test]
fn example_values_that_look_like_times_are_warned_about() {
    for value in [
        "\"2026-03-29T02:30:00Z\"",
        "\"2026-03-29\"",
        "1790000000",
        "1790000000000",
    ] {
        let text = with_key_and_example("\"{{ body.ref }}\"", &format!("{{\"ref\": {value}}}"));
        assert!(text.contains("looks like a time in the example"), "{value}: {text}");
    }
    for value in ["\"A-1042\"", "1042", "9007199254740993", "\"20260329\"", "true"] {
        assert_eq!(
            with_key_and_example("\"{{ body.ref }}\"", &format!("{{\"ref\": {value}}}")),
            "ok",
            "{value}"
        );
    }
}

#[test]
fn values_joined_without_a_separator_are_warned_about() {
    for key in [
        "\"{{ body.a }}{{ body.b }}\"",
        "\"{{ body.a ~ body.b }}\"",
        "\"{{ body.a + body.b }}\"",
    ] {
        let text = check(&with_key(key));
        assert!(
            text.starts_with("warning ") && text.contains("joined with nothing between"),
            "{key}: {text}"
        );
    }
    assert_eq!(check(&with_key("\"{{ body.a }}-{{ body.b }}\"")), "ok");
}

#[test]
fn a_constant_to_fall_back_on_is_warned_about_however_it_is_written() {
    for expression in [
        "body.id | default('x')",
        "body.id or 'x'",
        "body.id if body.id else 'x'",
        "body.id | default(body.number) | default(vars.none)",
        "headers.id | default('x')",
    ] {
        let text = check(&(with_key(&format!("\"{{{{ {expression} }}}}\"")) + "\n[vars]\nnone = \"x\"\n"));
        assert!(
            text.starts_with("warning 5:11: an event without `") && text.contains("gets \"x\" in its key"),
            "{expression}: {text}"
        );
        assert!(text.contains("leave the constant out"), "{text}");
    }
    // An event that says nothing is refused all the same.
    for expression in [
        "body.id",
        "body.id | default(body.number)",
        "body.id | default('')",
        "body.id | upper",
    ] {
        assert_eq!(
            check(&with_key(&format!("\"{{{{ {expression} }}}}\""))),
            "ok",
            "{expression}"
        );
    }
}

#[test]
fn a_stage_may_have_a_default_where_the_rest_of_the_key_tells_events_apart() {
    let key = |id: &str| format!("[\"{{{{ {id} }}}}\", \"{{{{ body.status | default('new') }}}}\"]");
    assert_eq!(check(&with_key(&key("body.id"))), "ok");
    let text = check(&with_key(&key("body.id | default('x')")));
    assert_eq!(text.lines().count(), 2, "{text}");
    let text = check(&with_key("[\"{{ body.tenant }}\", \"{{ body.id | default('x') }}\"]"));
    assert!(
        text.starts_with("warning ") && text.contains("without `body.id`"),
        "{text}"
    );
}

#[test]
fn headers_and_query_can_be_keys_and_header_names_know_no_case() {
    let delivery = Delivery::new("{}");
    for (key, value) in [("headers[\\\"Idempotency-Key\\\"]", "K-1"), ("query.shop", "eu")] {
        let flow = flow(&with_key(&format!("\"{{{{ {key} }}}}\"")));
        assert_eq!(flow.event_key(&delivery.event()).unwrap().as_str(), value);
    }
}

#[test]
fn the_fingerprint_ignores_order_and_spaces_and_nothing_else() {
    let flow = flow(&with_key("\"{{ body.id }}\""));
    let print = |body: &str| flow.fingerprint(&Delivery::new(body).event());
    assert_eq!(
        print(r#"{"id":1,"b":[1,2]}"#),
        print("{ \"b\": [1, 2],\r\n \"id\": 1 }")
    );
    assert_eq!(print(r#"{"id":"\u20ac"}"#), print(r#"{"id":"€"}"#));
    for (one, other) in [
        (r#"{"id":1}"#, r#"{"id":1.0}"#),
        (r#"{"id":1}"#, r#"{"id":"1"}"#),
        (r#"{"id":[1,2]}"#, r#"{"id":[2,1]}"#),
        (r#"{"a":"b","c":""}"#, r#"{"a":"","c":"b"}"#),
        (r#"["ab","c"]"#, r#"["a","bc"]"#),
        (r#"[[],[]]"#, r#"[[[]]]"#),
        (r#"{"id":null}"#, "{}"),
        (r#"{"id":true}"#, r#"{"id":false}"#),
    ] {
        assert_ne!(print(one), print(other), "{one} {other}");
    }
}

#[test]
fn a_fingerprint_of_fields_covers_only_them_and_one_of_nothing_covers_nothing() {
    let trigger = |fingerprint: &str| {
        flow(&with_trigger(&format!(
            "path = \"t\"\nverify = \"none\"\nkey = \"{{{{ body.id }}}}\"\nfingerprint = {fingerprint}"
        )))
    };
    let print = |flow: &Flow, body: &str| flow.fingerprint(&Delivery::new(body).event());
    let fields = trigger("[\"{{ body.amount }}\", \"{{ body.note | upper }}\"]");
    assert_eq!(fields.webhook().unwrap().fingerprint, Fingerprint::Fields);
    assert_eq!(
        print(&fields, r#"{"amount":1,"x":1}"#),
        print(&fields, r#"{"amount":1,"x":2}"#)
    );
    assert_ne!(print(&fields, r#"{"amount":1}"#), print(&fields, r#"{"amount":2}"#));
    assert_ne!(print(&fields, "{}"), print(&fields, r#"{"amount":null}"#));
    let nothing = trigger("\"none\"");
    assert_eq!(nothing.webhook().unwrap().fingerprint, Fingerprint::Nothing);
    assert_eq!(print(&nothing, r#"{"amount":1}"#), print(&nothing, r#"{"amount":2}"#));
}
