#![allow(clippy::unwrap_used)]

mod bounds;
mod requests;

use super::*;

/// A whole, right manifest; tests change one thing.
pub(crate) const GOOD: &str = r#"name = "hubspot"
version = "0.1.0"
title = "HubSpot CRM"

[endpoints.api]
default = "https://api.hubapi.com"

[auth]
kind = "bearer"
secret = "token"

[probe]
path = "/account-info/v3/details"

[[actions]]
name = "upsert-contact"
effect = "write"
says = "creates or updates one contact, found by its e-mail address"
dedup = { kind = "natural", key = ["/email"] }
lookup_after = "30s"
reference = "/id"
[actions.example]
input = { email = "a@b.c", big = 9007199254740993, exact = 12.30 }
[[actions.requests]]
method = "POST"
path = "/crm/v3/objects/contacts/batch/upsert"
kind = "write"
[[actions.requests]]
method = "GET"
path = "/crm/v3/objects/contacts/{email}"
query = ["idProperty", "properties"]
headers = ["X-Trace"]
kind = "read"
"#;

/// What is said about the good manifest with `from` replaced by `to`.
#[track_caller]
fn check(from: &str, to: &str, expected: &[&str]) {
    assert!(GOOD.contains(from), "the manifest has no {from:?}");
    let said = match Manifest::parse(&GOOD.replacen(from, to, 1)) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(said, expected);
}

#[test]
fn the_example_of_the_contract_is_read_whole() {
    let manifest = Manifest::parse(GOOD).unwrap();
    let action = &manifest.actions["upsert-contact"];
    assert_eq!(
        action.dedup,
        Dedup::Natural {
            key: vec!["/email".into()]
        }
    );
    assert_eq!(action.lookup_after_ms, Some(30_000));
    let Requests::Listed(rules) = &action.requests else {
        panic!("listed")
    };
    assert_eq!(rules[1].to_string(), "GET /crm/v3/objects/contacts/{email}");
    assert_eq!(rules[1].endpoint, "api", "the only endpoint need not be named");
    assert!(rules[1].headers.contains("x-trace"));
    assert_eq!(manifest.probe.unwrap().endpoint, "api");
}

#[test]
fn the_manifest_of_a_component_is_the_one_of_the_file() {
    let manifest = Manifest::parse(GOOD).unwrap();
    let again = Manifest::from_json(manifest.to_json()).unwrap();
    assert_eq!(again, manifest);
    let text = manifest.to_json().to_string();
    assert!(
        text.contains("9007199254740993") && text.contains("12.30"),
        "digits are kept: {text}"
    );
}

#[test]
fn inside_a_component_places_are_paths() {
    let mut json = Manifest::parse(GOOD).unwrap().to_json().clone();
    json["actions"][0]["effect"] = "wriet".into();
    let problems = Manifest::from_json(&json).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "manifest.actions[0].effect: no effect \"wriet\"; write effect = \"read\" or \"write\""
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    let source = GOOD
        .replace("name = \"hubspot\"", "name = \"HubSpot\"")
        .replace("version = \"0.1.0\"", "version = \"new\"")
        .replace("kind = \"read\"", "kind = \"look\"");
    let lines: Vec<u32> = Manifest::parse(&source)
        .unwrap_err()
        .iter()
        .map(|problem| problem.line)
        .collect();
    assert_eq!(lines, [1, 2, 33]);
}

#[test]
fn only_the_first_syntax_error_is_reported() {
    let problems = Manifest::parse("name = \"a\ntitle = [1, 2\nversion = ").unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].line, 1);
    assert!(problems[0].what.starts_with("not TOML: "), "{}", problems[0]);
}

#[test]
fn names_and_titles_are_what_people_can_trust() {
    let name = "write 2 to 40 of a-z, 0-9 and -, beginning with a letter";
    for bad in ["h", "Hubspot", "1crm", "hub_spot", "häb", &"a".repeat(41)] {
        check(
            "name = \"hubspot\"",
            &format!("name = {bad:?}"),
            &[&format!("1:8: the name {bad:?} is no name; {name}")],
        );
    }
    check("name = \"hubspot\"", &format!("name = \"{}\"", "a".repeat(40)), &[]);
    let plain = "`title` has control, bidirectional or invisible characters; write plain characters only, so that people \
                 read what is there";
    for bad in [
        "Hub\\u202Espot",
        "Hub\\u200Bspot",
        "Hub\\nspot",
        "Hub\\u2066spot",
        "Hub\\uFEFFspot",
        "Hub\\u00ADspot",
    ] {
        check(
            "title = \"HubSpot CRM\"",
            &format!("title = \"{bad}\""),
            &[&format!("3:9: {plain}")],
        );
    }
    check("title = \"HubSpot CRM\"", "title = \"HübSpöt 中文\"", &[]);
    check(
        "title = \"HubSpot CRM\"",
        "title = \" \"",
        &["3:9: `title` has 1 characters; write 1 to 120, not only spaces"],
    );
}

#[test]
fn an_unknown_field_is_an_error_everywhere() {
    check(
        "title = ",
        "titel = \"x\"\ntitle = ",
        &["3:1: the manifest has no field `titel`; did you mean `title`?"],
    );
    check(
        "lookup_after = ",
        "lookup_afer = \"1s\"\nlookup_after = ",
        &["20:1: the action has no field `lookup_afer`; did you mean `lookup_after`?"],
    );
    check(
        "secret = \"token\"",
        "secret = \"token\"\nscope = \"x\"",
        &["11:1: [auth] has no field `scope`; known here: `kind`, `secret`"],
    );
}

#[test]
fn what_must_be_there_is_asked_for() {
    check(
        "title = \"HubSpot CRM\"\n",
        "",
        &["1:1: the manifest has no `title`; add title = \"…\", what people read"],
    );
    check(
        "method = \"POST\"\n",
        "",
        &["24:1: the request has no `method`; add method = \"GET\""],
    );
}

#[test]
fn an_origin_is_https_and_nothing_more() {
    check(
        "https://api.hubapi.com",
        "http://api.hubapi.com",
        &["6:11: a default over plain http; write https, or leave the default out"],
    );
    for bad in [
        "https://api.hubapi.com/v1",
        "https://me@api.hubapi.com",
        "api.hubapi.com",
        "https://",
        "ftp://x.y",
    ] {
        let problems = Manifest::parse(&GOOD.replacen("https://api.hubapi.com", bad, 1)).unwrap_err();
        assert_eq!((problems.len(), problems[0].line), (1, 6), "{bad}: {problems:?}");
    }
}

#[test]
fn a_lookup_needs_something_to_ask_with() {
    check(
        "[[actions.requests]]\nmethod = \"GET\"\npath = \"/crm/v3/objects/contacts/{email}\"\nquery = [\"idProperty\", \"properties\"]\nheaders = [\"X-Trace\"]\nkind = \"read\"\n",
        "",
        &[
            "15:1: the action \"upsert-contact\" has `lookup_after` and lists no read to ask with; list the request of the \
           lookup with kind = \"read\", or leave `lookup_after` out",
        ],
    );
}

#[test]
fn dedup_says_how_long_a_key_counts() {
    let natural = "dedup = { kind = \"natural\", key = [\"/email\"] }";
    check(
        natural,
        "dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"24h\" }",
        &[],
    );
    check(
        natural,
        "dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"unknown\" }",
        &[],
    );
    check(
        natural,
        "dedup = { kind = \"header\", name = \"Idempotency-Key\" }",
        &[
            "19:9: `dedup` has no `window`; add window = \"24h\", how long the destination honours a key, or \"unknown\", which \
           protects nothing",
        ],
    );
    check(
        natural,
        "dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"24h\", max_length = 29 }",
        &["19:83: `max_length` is 29; write a whole number from 30 to 256"],
    );
    check(
        natural,
        "dedup = { kind = \"header\", name = \"Authorization\", window = \"24h\" }",
        &[
            "19:35: the header \"Authorization\" cannot carry the key; name the header that the destination reads the key from",
        ],
    );
    check(
        natural,
        "dedup = { kind = \"field\", pointer = \"external_id\", window = \"24h\" }",
        &["19:37: \"external_id\" is no JSON pointer; write it as \"/field\" or \"/outer/field\""],
    );
    check(
        natural,
        "dedup = { kind = \"field\", pointer = \"/external~1id\", window = \"24h\", format = \"uuid\" }",
        &[],
    );
    check(
        natural,
        "dedup = { kind = \"guess\" }",
        &["19:18: no dedup kind \"guess\"; write kind = \"header\", \"field\", \"natural\" or \"none\""],
    );
    check(
        natural,
        "dedup = { kind = \"header\", name = \"X-Trace\", window = \"24h\" }",
        &[
            "15:1: the action \"upsert-contact\" lists the header \"X-Trace\", which is the key's; leave it out of `headers`: the \
           host puts it in",
        ],
    );
}

#[test]
fn auth_names_secrets_and_never_holds_them() {
    let bearer = "kind = \"bearer\"\nsecret = \"token\"";
    check(bearer, "kind = \"none\"", &[]);
    check(bearer, "kind = \"basic\"\nuser = \"user\"\nsecret = \"password\"", &[]);
    check(
        bearer,
        "kind = \"header\"\nname = \"X-Api-Key\"\nsecret = \"token\"",
        &[],
    );
    check(
        bearer,
        "kind = \"query\"\nname = \"idProperty\"\nsecret = \"token\"",
        &[
            "16:1: the action \"upsert-contact\" lists the query parameter \"idProperty\", which is the credential's; leave it \
           out of `query`: the host puts it in",
        ],
    );
    check(
        bearer,
        "kind = \"oauth2\"",
        &["9:8: no auth kind \"oauth2\"; write kind = one of none, bearer, basic, header, query or connection"],
    );
    check(
        bearer,
        "kind = \"header\"\nname = \"Host\"\nsecret = \"token\"",
        &["10:8: the header \"Host\" cannot carry a credential; name the provider's own header"],
    );
    check(
        "secret = \"token\"",
        "secret = \"sk_live_1234\"",
        &[
            "10:10: the secret's name \"sk_live_1234\" is no name; write 2 to 40 of a-z, 0-9 and -, beginning with a letter",
        ],
    );
}

#[test]
fn a_proposal_names_its_page() {
    let proposal = |inner: &str| format!("refused_before_effect = {{ {inner} }}\n\n[endpoints.api]");
    check(
        "[endpoints.api]",
        &proposal("statuses = [503], page = \"https://x.y/errors\""),
        &[],
    );
    check(
        "[endpoints.api]",
        &proposal("statuses = [503]"),
        &["5:25: `refused_before_effect` has no `page`; add the page of the provider's documentation that says so"],
    );
    check(
        "[endpoints.api]",
        &proposal("statuses = [200], page = \"https://x.y\""),
        &["5:39: `statuses` cannot list 200; write statuses from 300 to 599"],
    );
}

#[test]
fn two_endpoints_must_be_told_apart() {
    let problems = Manifest::parse(&GOOD.replacen("[auth]", "[endpoints.files]\n[auth]", 1)).unwrap_err();
    let said: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said[0],
        "13:1: [probe] names no endpoint; add endpoint = one of api, files"
    );
    assert_eq!(said.len(), 3);
}

#[test]
fn a_connector_may_leave_requests_and_signing_to_the_connection() {
    let source = "name = \"http\"\nversion = \"0.1.0\"\ntitle = \"HTTP\"\n[endpoints.api]\n[auth]\nkind = \"connection\"\n\
                  [[actions]]\nname = \"send\"\neffect = \"write\"\nsays = \"sends\"\nrequests = \"connection\"\n";
    let manifest = Manifest::parse(source).unwrap();
    assert_eq!(manifest.actions["send"].requests, Requests::Connection);
    assert_eq!(manifest.auth, Auth::Connection);
}
