//! Each bound of a manifest, at it and one past it.

use super::*;
use oncegate_domain::limits::{NAME_BYTES_MAX, NAME_BYTES_MIN, TITLE_CHARS_MAX};
use serde_json::json;

const NATURAL: &str = "dedup = { kind = \"natural\", key = [\"/email\"] }";
const SAYS: &str = "says = \"creates or updates one contact, found by its e-mail address\"";

/// The manifest with this in place of that.
fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "the manifest has no {from:?}");
    GOOD.replacen(from, to, 1)
}

fn of_bytes(bytes: usize) -> String {
    format!("{GOOD}# {}", "x".repeat(bytes - GOOD.len() - 2))
}

fn named(bytes: usize) -> String {
    with("name = \"hubspot\"", &format!("name = \"{}\"", "a".repeat(bytes)))
}

fn titled(chars: usize) -> String {
    with("title = \"HubSpot CRM\"", &format!("title = \"{}\"", "ü".repeat(chars)))
}

fn saying(chars: usize) -> String {
    with(SAYS, &format!("says = \"{}\"", "x".repeat(chars)))
}

fn requests(more: usize) -> String {
    let request = |n: usize| format!("[[actions.requests]]\nmethod = \"GET\"\npath = \"/r{n}\"\nkind = \"read\"\n");
    format!("{GOOD}{}", (0..more).map(request).collect::<String>())
}

fn actions(more: usize) -> String {
    let action = |n: usize| {
        format!(
            "[[actions]]\nname = \"act-{n}\"\neffect = \"read\"\nsays = \"reads\"\n[[actions.requests]]\n\
             method = \"GET\"\npath = \"/a{n}\"\nkind = \"read\"\n"
        )
    };
    format!("{GOOD}{}", (0..more).map(action).collect::<String>())
}

fn natural(fields: usize) -> String {
    let key: Vec<String> = (0..fields).map(|n| format!("/f{n}")).collect();
    with(NATURAL, &format!("dedup = {{ kind = \"natural\", key = {key:?} }}"))
}

/// Around these lists, each in the one before, are four: the actions, the action, its example, the example's input.
fn nested(lists: usize) -> String {
    let deep = format!("{}{}", "[".repeat(lists), "]".repeat(lists));
    with("exact = 12.30", &format!("exact = 12.30, deep = {deep}"))
}

fn keyed(more: &str) -> String {
    let dedup = format!("dedup = {{ kind = \"header\", name = \"Idempotency-Key\", {more} }}");
    with(NATURAL, &dedup)
}

#[test]
fn a_manifest_is_right_at_each_bound_and_refused_one_past_it() {
    let name = "write 2 to 40 of a-z, 0-9 and -";
    for (at, past, what) in [
        (
            of_bytes(MANIFEST_BYTES_MAX),
            of_bytes(MANIFEST_BYTES_MAX + 1),
            "the file has 262145 bytes, at most 262144 are read",
        ),
        (named(NAME_BYTES_MIN), named(NAME_BYTES_MIN - 1), name),
        (named(NAME_BYTES_MAX), named(NAME_BYTES_MAX + 1), name),
        (
            titled(TITLE_CHARS_MAX),
            titled(TITLE_CHARS_MAX + 1),
            "`title` has 121 characters; write 1 to 120",
        ),
        (saying(300), saying(301), "`says` has 301 characters; write 1 to 300"),
        (
            requests(REQUESTS_MAX - 2),
            requests(REQUESTS_MAX - 1),
            "`requests` lists 65 requests",
        ),
        (actions(ACTIONS_MAX - 1), actions(ACTIONS_MAX), "write 1 to 64"),
        (
            with("lookup_after = \"30s\"", "lookup_after = \"24h\""),
            with("lookup_after = \"30s\"", "lookup_after = \"25h\""),
            "`lookup_after` is \"25h\"",
        ),
        (
            keyed("window = \"366d\""),
            keyed("window = \"367d\""),
            "`window` is \"367d\"",
        ),
        (
            keyed("window = \"24h\", max_length = 30"),
            keyed("window = \"24h\", max_length = 29"),
            "`max_length` is 29; write a whole number from 30 to 256",
        ),
        (
            keyed("window = \"24h\", max_length = 256"),
            keyed("window = \"24h\", max_length = 257"),
            "`max_length` is 257; write a whole number from 30 to 256",
        ),
        (natural(8), natural(9), "`key` lists 9 fields; write 1 to 8"),
        (
            nested(60),
            nested(61),
            "23:134: this lies deeper than 64 lists and tables within each other; bring it further up",
        ),
    ] {
        let said = |source: &str| match Manifest::parse(source) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(said(&at), Vec::<String>::new(), "{what}");
        let said = said(&past);
        assert!(said.iter().any(|line| line.contains(what)), "{what}: {said:#?}");
    }
}

#[test]
fn a_manifest_inside_a_component_nests_as_deep_as_one_in_a_file() {
    let nested = |lists: usize| {
        let mut json = Manifest::parse(GOOD).unwrap().to_json().clone();
        json["actions"][0]["example"]["input"]["deep"] = (1..lists).fold(json!([]), |inner, _| json!([inner]));
        Manifest::from_json(&json)
    };
    assert!(nested(60).is_ok());
    let said = nested(61).unwrap_err()[0].to_string();
    assert!(
        said.starts_with("manifest.actions[0].example.input.deep[0][0]"),
        "{said}"
    );
    assert!(said.contains("this lies deeper than 64 lists and tables"), "{said}");
}
