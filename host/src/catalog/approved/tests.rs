#![allow(clippy::unwrap_used)]

use super::super::manifest::{GOOD, Manifest};
use super::super::section::{self, ActionSchemas, Description, Schemas};
use super::*;
use oncegate_domain::doubt::Dedup;
use serde_json::json;

/// A connector as its component describes it; every action takes and gives an object.
pub(crate) fn described(manifest: &str) -> Description {
    let manifest = Manifest::parse(manifest).unwrap();
    let both = ActionSchemas {
        input: json!({"type": "object"}),
        output: json!({"type": "object"}),
    };
    let actions = manifest
        .actions
        .keys()
        .map(|name| (name.clone(), both.clone()))
        .collect();
    let settings = Some(json!({"type": "object", "properties": {"region": {"type": "string"}}}));
    section::describe(&section::to_json(&manifest, &Schemas { actions, settings })).unwrap()
}

/// A connection that fits [`GOOD`].
pub(crate) const CRM: &str = r#"name = "crm"
connector = "hubspot"
account = "prod"
flows = ["website-*"]
[endpoints]
api = "https://api.hubapi.com"
[secrets]
token = { env = "ONCEGATE_SECRET_HUBSPOT" }
[limits]
timeout = "10s"
"#;

/// A connector that knows no destination, and a connection that says all.
pub(crate) const HTTP: &str = "name = \"http\"\nversion = \"0.1.0\"\ntitle = \"HTTP\"\n[endpoints.api]\n[auth]\n\
    kind = \"connection\"\n[[actions]]\nname = \"send\"\neffect = \"write\"\nsays = \"sends\"\nrequests = \"connection\"\n\
    [[actions]]\nname = \"read\"\neffect = \"read\"\nsays = \"reads\"\nrequests = \"connection\"\n";

pub(crate) const MAIL: &str = r#"name = "mail"
connector = "http"
account = "prod"
flows = ["*"]
[endpoints]
api = "https://mail.example.com"
[auth]
kind = "header"
name = "X-Api-Key"
secret = "key"
[secrets]
key = { file = "mail.key" }
[trust.actions.send]
dedup = { kind = "header", name = "Idempotency-Key", window = "24h" }
lookup_after = "30s"
[[trust.actions.send.requests]]
method = "POST"
path = "/messages"
kind = "write"
headers = ["X-Trace"]
[[trust.actions.send.requests]]
method = "GET"
path = "/messages/{key}"
query = ["fields"]
kind = "read"
"#;

/// One action of a connection that is right.
#[track_caller]
pub(crate) fn approved(manifest: &str, connection: &str, action: &str) -> Approved {
    let spec = ConnectionSpec::parse(connection).unwrap();
    let actions = approve(&described(manifest), "sha256:00", &spec, 7).unwrap();
    Approved::clone(&actions[action])
}

/// What is said about a connection when it meets its connector.
#[track_caller]
fn check(manifest: &str, connection: &str, from: &str, to: &str, expected: &[&str]) {
    assert!(connection.contains(from), "the connection has no {from:?}");
    let spec = ConnectionSpec::parse(&connection.replacen(from, to, 1)).unwrap();
    let said = match approve(&described(manifest), "sha256:00", &spec, 7) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(said, expected);
}

#[test]
fn what_the_connection_leaves_open_is_what_the_approved_bytes_say() {
    let crm = approved(GOOD, CRM, "upsert-contact");
    assert_eq!(
        crm.terms.dedup,
        Dedup::Natural {
            repeat_within_ms: 600_000
        }
    );
    assert_eq!(crm.terms.lookup_after_ms, Some(30_000));
    assert_eq!(crm.terms.request_timeout_ms, 10_000);
    assert_eq!(
        crm.terms.trust,
        oncegate_domain::outcome::Trust::default(),
        "no status proves anything unless approved"
    );
    assert_eq!((crm.connection_revision, crm.key.clone()), (7, KeyPlace::None));
    assert_eq!(crm.natural_key(r#"{"email": "a@b.c"}"#).unwrap(), "[\"a@b.c\"]");
    assert_eq!(crm.natural_key("{}").unwrap(), "[null]");
    assert_eq!(crm.requests().len(), 2);
}

#[test]
fn the_probe_is_the_connections_own_where_it_says_one() {
    let path = |manifest, connection: &str| approved(manifest, connection, "send").probe.map(|probe| probe.path);
    assert_eq!(path(HTTP, MAIL), None);
    let own = MAIL.replace("[secrets]", "[probe]\npath = \"/account\"\n[secrets]");
    assert_eq!(path(HTTP, &own).as_deref(), Some("/account"));
    let crm = |connection: &str| approved(GOOD, connection, "upsert-contact").probe.unwrap();
    let claimed = crm(CRM);
    let own = CRM.replace("[secrets]", "[probe]\npath = \"/me\"\n[secrets]");
    assert_eq!((crm(&own).endpoint, crm(&own).path.as_str()), (claimed.endpoint, "/me"));
}

#[test]
fn what_the_connection_says_goes_before_the_manifest() {
    let trust = r#"[limits]
timeout = "2s"
[trust]
refused_before_effect = [503]
may_find = true
lookup_after = "1m"
[trust.actions.upsert-contact]
dedup = { kind = "header", name = "Idempotency-Key", window = "unknown", format = "uuid" }
lookup_after = "5s"
confirms = [409]
absent_on = [404]
on_absent = "review"
errors_in_2xx = "refused"
"#;
    let crm = approved(
        GOOD,
        &CRM.replace("[limits]\ntimeout = \"10s\"\n", trust),
        "upsert-contact",
    );
    assert_eq!(
        crm.terms.dedup,
        Dedup::None,
        "a key that is honoured for an unknown time protects nothing"
    );
    assert_eq!(
        crm.key,
        KeyPlace::Header {
            name: "Idempotency-Key".into(),
            format: KeyFormat::Uuid
        },
        "it is sent all the same"
    );
    assert_eq!(crm.terms.lookup_after_ms, Some(5_000));
    assert!(crm.terms.absent_to_review && crm.terms.trust.may_find && crm.terms.trust.errors_in_2xx_refused);
    assert_eq!(crm.terms.trust.confirms, [409]);
    assert_eq!(crm.terms.trust.refused_before_effect, [503]);
    assert_eq!(crm.terms.trust.absent_on, [404]);
    assert!(crm.natural.is_empty());
}

#[test]
fn requests_of_the_http_connector_come_from_the_connection_alone() {
    let mail = approved(HTTP, MAIL, "send");
    assert_eq!(mail.terms.dedup, Dedup::Key { window_ms: 86_400_000 });
    assert_eq!(mail.terms.lookup_after_ms, Some(30_000));
    assert!(matches!(mail.auth, Auth::Header { .. }));
    let spec = ConnectionSpec::parse(MAIL).unwrap();
    let actions = approve(&described(HTTP), "sha256:00", &spec, 1).unwrap();
    assert_eq!(
        actions.keys().collect::<Vec<_>>(),
        ["send"],
        "an action without requests is not granted"
    );
    let without = &MAIL[..MAIL.find("[[trust").unwrap()];
    check(
        HTTP,
        without,
        "lookup_after = \"30s\"\n",
        "",
        &[
            "13:16: the action \"send\" lists no requests, and the connector knows none; add [[trust.actions.send.requests]], \
           everything it may send",
        ],
    );
}

#[test]
fn every_endpoint_has_an_origin_that_the_operator_wrote() {
    check(
        GOOD,
        CRM,
        "api = ",
        "apx = ",
        &[
            "5:2: the endpoint \"api\" has no origin; add api = \"https://api.hubapi.com\" to [endpoints]: only you choose where \
           requests go",
            "6:1: the connector \"hubspot\" has no endpoint \"apx\"; its endpoints are: api",
        ],
    );
}

#[test]
fn secrets_are_those_that_signing_needs() {
    check(
        GOOD,
        CRM,
        "token = ",
        "tokens = ",
        &[
            "8:1: nothing uses the secret \"tokens\"; what is used: token",
            "7:2: the secret \"token\" is missing; add token = { env = \"ONCEGATE_SECRET_…\" } or { file = \"…\" } to [secrets]",
        ],
    );
    check(
        GOOD,
        CRM,
        "[secrets]",
        "[auth]\nkind = \"none\"\n[secrets]",
        &["7:2: the connector \"hubspot\" says itself how requests are signed; leave [auth] out"],
    );
}

#[test]
fn a_lookup_is_not_asked_while_the_request_may_be_under_way() {
    check(
        GOOD,
        CRM,
        "timeout = \"10s\"",
        "timeout = \"1m\"",
        &[
            "1:1: `lookup_after` of \"upsert-contact\" is 30s, less than the request timeout of 1m; write lookup_after = \"1m\" or \
           more in [trust.actions.upsert-contact], or a shorter timeout in [limits]: until then the request may still be \
           under way",
        ],
    );
    check(GOOD, CRM, "timeout = \"10s\"", "timeout = \"30s\"", &[]);
}

#[test]
fn a_lookup_without_lookup_after_is_refused() {
    check(
        HTTP,
        MAIL,
        "lookup_after = \"30s\"",
        "absent_on = [404]\non_absent = \"review\"",
        &[
            "15:1: `absent_on` of \"send\" speaks of a lookup, and it has none; add lookup_after = \"…\", the longest time after \
           which a request can no longer take effect and is visible",
            "16:1: `on_absent` of \"send\" speaks of a lookup, and it has none; add lookup_after = \"…\", the longest time after \
           which a request can no longer take effect and is visible",
        ],
    );
    check(
        HTTP,
        MAIL,
        "kind = \"read\"",
        "kind = \"write\"",
        &[
            "13:16: \"send\" has `lookup_after` and lists no read to ask with; list the request of the lookup with kind = \
           \"read\", or leave `lookup_after` out",
        ],
    );
}

#[test]
fn the_rules_of_request_lists_hold_in_connections_too() {
    check(
        HTTP,
        MAIL,
        "headers = [\"X-Trace\"]",
        "headers = [\"Idempotency-Key\", \"X-Api-Key\"]",
        &[
            "13:16: the action \"send\" lists the header \"Idempotency-Key\", which is the key's; leave it out of `headers`: the \
           host puts it in",
            "13:16: the action \"send\" lists the header \"X-Api-Key\", which is the credential's; leave it out of `headers`: the \
           host puts it in",
        ],
    );
    let shared = "[trust.actions.read]\n[[trust.actions.read.requests]]\nmethod = \"POST\"\npath = \"/messages\"\nkind = \"read\"\n\
                  [trust.actions.send]";
    check(
        HTTP,
        MAIL,
        "[trust.actions.send]",
        shared,
        &[
            "14:22: the read POST /messages and the write POST /messages share a path; list the read as a write: on a shared path \
           only the content would tell one from the other",
        ],
    );
}

#[test]
fn actions_and_settings_are_the_connectors() {
    check(
        GOOD,
        CRM,
        "[limits]",
        "[trust.actions.upsert-contacts]\nmay_find = true\n[limits]",
        &["9:16: the connector \"hubspot\" has no action \"upsert-contacts\"; did you mean \"upsert-contact\"?"],
    );
    check(
        GOOD,
        CRM,
        "[limits]",
        "[settings]\nregion = 7\n[limits]",
        &[
            "9:2: [settings] does not fit the connector \"hubspot\": /region: value is not of type \"string\"; write what the \
           connector's schema asks for",
        ],
    );
    check(
        GOOD,
        CRM,
        "connector = \"hubspot\"",
        "connector = \"hubspod\"",
        &["2:1: the connector with these bytes is called \"hubspot\"; name the connector whose digest this is"],
    );
}

#[test]
fn another_origin_account_or_opening_is_another_place() {
    let before = ConnectionSpec::parse(CRM).unwrap();
    let moved = |from: &str, to: &str| moves(&before, &ConnectionSpec::parse(&CRM.replacen(from, to, 1)).unwrap());
    assert!(moved("api.hubapi.com", "api.eu.hubapi.com"));
    assert!(moved("account = \"prod\"", "account = \"test\""));
    assert!(moved("[secrets]", "allow_addresses = [\"10.0.0.0/8\"]\n[secrets]"));
    assert!(
        !moved("ONCEGATE_SECRET_HUBSPOT", "ONCEGATE_SECRET_NEW"),
        "a rotated secret keeps the place"
    );
    assert!(!moved("10s", "20s"));
}

#[test]
fn input_and_output_are_checked_by_the_schemas() {
    let crm = approved(GOOD, CRM, "upsert-contact");
    assert!(crm.check_input(&json!({})).is_ok());
    assert!(crm.check_output(&json!([])).is_err());
}
