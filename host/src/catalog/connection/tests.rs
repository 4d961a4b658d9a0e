#![allow(clippy::unwrap_used)]

use super::*;
use crate::credentials::SecretSource;

const GOOD: &str = r#"name = "crm"
connector = "hubspot"
account = "prod"
flows = ["website-*"]
[endpoints]
api = "https://api.hubapi.com"
[secrets]
token = { env = "ONCEGATE_SECRET_HUBSPOT" }
[limits]
concurrency = 4
rate = "10/s"
timeout = "5s"
[settings]
region = "eu"
big = 9007199254740993
[trust]
refused_before_effect = [503]
[trust.actions.send]
confirms = [409]
"#;

/// What is said about the good connection with `from` replaced by `to`.
#[track_caller]
fn check(from: &str, to: &str, expected: &[&str]) {
    assert!(GOOD.contains(from), "the connection has no {from:?}");
    let said = match ConnectionSpec::parse(&GOOD.replacen(from, to, 1)) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(said, expected);
}

#[test]
fn the_example_of_the_contract_is_read_whole() {
    let spec = ConnectionSpec::parse(GOOD).unwrap();
    assert_eq!(
        spec.secrets["token"],
        SecretSource::Env("ONCEGATE_SECRET_HUBSPOT".into())
    );
    assert_eq!(
        spec.limits.rate,
        Some(Rate {
            requests: 10,
            per_ms: 1000
        })
    );
    assert_eq!((spec.limits.concurrency, spec.limits.timeout_ms), (4, 5000));
    assert_eq!(spec.settings.to_string(), r#"{"big":9007199254740993,"region":"eu"}"#);
    assert_eq!(spec.trust.refused_before_effect, Some(vec![503]));
    assert_eq!(spec.actions["send"].trust.confirms, Some(vec![409]));
    assert_eq!(spec.digest, None);
}

#[test]
fn a_probe_is_an_exact_path_of_a_known_endpoint() {
    let with = |probe: &str| format!("[probe]\n{probe}\n[secrets]");
    check("[secrets]", &with("path = \"/account\""), &[]);
    let varies = "8:8: the path of a probe has {…} in it; write an exact path: the host asks it by itself";
    check("[secrets]", &with("path = \"/{id}\""), &[varies]);
    let unknown = "9:12: there is no endpoint \"web\"; the endpoints are: api";
    check(
        "[secrets]",
        &with("path = \"/account\"\nendpoint = \"web\""),
        &[unknown],
    );
}

#[test]
fn what_may_be_left_out_has_a_careful_default() {
    let bare =
        "name = \"crm\"\nconnector = \"http\"\naccount = \"a\"\nflows = []\n[endpoints]\napi = \"https://x.y\"\n";
    let spec = ConnectionSpec::parse(bare).unwrap();
    assert_eq!(
        spec.limits,
        Limits {
            concurrency: 8,
            rate: None,
            timeout_ms: 10_000
        }
    );
    assert!(!spec.plain_http && spec.allow_addresses.is_empty() && spec.secrets.is_empty());
    assert_eq!(spec.trust, TrustSpec::default());
    assert!(!spec.grants("website-lead"), "no pattern, no flow");
}

#[test]
fn every_problem_is_reported_at_once() {
    let source = GOOD
        .replace("\"crm\"", "\"CRM\"")
        .replace("10/s", "fast")
        .replace("[503]", "[200]");
    let said: Vec<_> = ConnectionSpec::parse(&source)
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        said,
        [
            "1:8: \"CRM\" is no name; write 2 to 40 of a-z, 0-9 and -, beginning with a letter",
            "11:8: `rate` is \"fast\"; write requests per time, as in \"10/s\" or \"600/m\"",
            "17:26: `refused_before_effect` cannot list 200; write statuses from 300 to 599",
        ]
    );
}

#[test]
fn what_must_be_there_is_asked_for() {
    check(
        "account = \"prod\"\n",
        "",
        &[
            "1:1: the connection has no `account`; add account = \"prod\", a word for the account at \
                                         the destination; a rotated secret keeps it",
        ],
    );
    check(
        "flows = [\"website-*\"]\n",
        "",
        &[
            "1:1: the connection has no `flows`; add flows = [\"website-*\"], the flows that may \
                                              use it",
        ],
    );
}

#[test]
fn unknown_fields_are_errors_everywhere() {
    check(
        "[limits]",
        "[limit]",
        &["9:2: the connection has no field `limit`; did you mean `limits`?"],
    );
    check(
        "rate =",
        "rates =",
        &["11:1: [limits] has no field `rates`; did you mean `rate`?"],
    );
    check(
        "confirms = [409]",
        "confirm = [409]",
        &["19:1: [trust.actions.send] has no field `confirm`; did you mean `confirms`?"],
    );
    check(
        "account = \"prod\"",
        "account = \"prod\"\nplain_http = true",
        &[
            "4:1: the connection has no field `plain_http`; known here: `account`, `auth`, `connector`, `digest`, `endpoints`, \
           `examples`, `flows`, `limits`, `name`, `probe`, `secrets`, `settings`, `trust`",
        ],
    );
}

#[test]
fn plain_http_and_closed_addresses_are_opened_on_purpose() {
    let api = "api = \"https://api.hubapi.com\"";
    check(
        api,
        "api = \"http://127.0.0.1:9000\"",
        &[
            "6:7: the endpoint \"api\" is plain http: what is sent there can be read and changed on the way; write https, or add \
           plain_http = true to [endpoints] where that is meant",
        ],
    );
    check(
        api,
        "api = \"http://127.0.0.1:9000\"\nplain_http = true\nallow_addresses = [\"127.0.0.1/32\"]",
        &[],
    );
    let problems =
        ConnectionSpec::parse(&GOOD.replacen(api, &format!("{api}\nallow_addresses = [\"127.0.0.1/33\"]"), 1));
    assert!(
        problems.unwrap_err()[0]
            .to_string()
            .starts_with("7:20: `127.0.0.1/33` is no range of addresses; ")
    );
    for bad in [
        "https://api.hubapi.com/v1",
        "https://u:p@api.hubapi.com",
        "api.hubapi.com",
        "https://a.b?c",
    ] {
        let problems = ConnectionSpec::parse(&GOOD.replacen("https://api.hubapi.com", bad, 1)).unwrap_err();
        assert_eq!(
            (problems.len(), problems[0].line, problems[0].column),
            (1, 6, 7),
            "{bad}"
        );
    }
}

#[test]
fn a_secret_stands_elsewhere() {
    let token = "token = { env = \"ONCEGATE_SECRET_HUBSPOT\" }";
    check(
        token,
        "token = \"sk_live_1234\"",
        &[
            "8:9: the secret \"token\" stands in the file itself; write token = { env = \"ONCEGATE_SECRET_…\" } or { file = \"…\" }; \
           then change the secret: it was readable here",
        ],
    );
    check(token, "token = { file = \"crm/token\" }", &[]);
    for bad in ["PATH", "ONCEGATE_SECRET_", "ONCEGATE_SECRET_a", "AWS_SECRET_ACCESS_KEY"] {
        check(
            token,
            &format!("token = {{ env = {bad:?} }}"),
            &[&format!(
                "8:17: the variable {bad:?} cannot be a secret; name a variable that begins with ONCEGATE_SECRET_: no other part \
                 of the environment can be read"
            )],
        );
    }
    for bad in ["/etc/passwd", "../token", "a/../../b", ""] {
        check(
            token,
            &format!("token = {{ file = {bad:?} }}"),
            &[&format!(
                "8:18: the file {bad:?} cannot be a secret; write a path below the secrets folder, without .. and not beginning \
                 with /"
            )],
        );
    }
    check(
        token,
        "token = {}",
        &[
            "8:9: the secret \"token\" is nowhere; write token = { env = \"ONCEGATE_SECRET_…\" } or { file = \
                                  \"…\" }",
        ],
    );
}

#[test]
fn a_digest_is_one() {
    let with = |digest: &str| format!("account = \"prod\"\ndigest = {digest:?}");
    check("account = \"prod\"", &with(&format!("sha256:{}", "a".repeat(64))), &[]);
    for bad in ["sha256:abc", &"a".repeat(64), &format!("sha256:{}", "A".repeat(64))] {
        check(
            "account = \"prod\"",
            &with(bad),
            &[&format!(
                "4:10: {bad:?} is no digest; write \"sha256:\" and 64 lower-case hexadecimal digits, or leave `digest` out: the \
                 first apply pins it"
            )],
        );
    }
}

#[test]
fn limits_hold_on_both_sides() {
    for good in ["1", "256"] {
        check("concurrency = 4", &format!("concurrency = {good}"), &[]);
    }
    for bad in ["0", "257", "-1"] {
        let expected = format!("10:15: `concurrency` is {bad}; write a whole number from 1 to 256");
        check("concurrency = 4", &format!("concurrency = {bad}"), &[&expected]);
    }
    for good in ["100ms", "2m"] {
        check("timeout = \"5s\"", &format!("timeout = {good:?}"), &[]);
    }
    for bad in ["99ms", "121s", "5", "5 s", "s"] {
        let expected = format!("12:11: `timeout` is {bad:?}; write a time from \"100ms\" to \"2m\"");
        check("timeout = \"5s\"", &format!("timeout = {bad:?}"), &[&expected]);
    }
    let account = |chars: usize| format!("account = \"{}\"", "a".repeat(chars));
    check("account = \"prod\"", &account(100), &[]);
    let mend = "write 1 to 100 printable ASCII characters without spaces";
    let expected = format!("3:11: the account {:?} is no word; {mend}", "a".repeat(101));
    check("account = \"prod\"", &account(101), &[&expected]);
    check(
        "timeout = \"5s\"",
        "timeout = 5",
        &["12:11: `timeout` is a number, not a time; write a time from \"100ms\" to \"2m\""],
    );
    for (good, per_ms) in [
        ("600/m", 60_000),
        ("1/10s", 10_000),
        ("5 / h", 3_600_000),
        ("1000000/24h", 86_400_000),
    ] {
        let spec = ConnectionSpec::parse(&GOOD.replacen("10/s", good, 1)).unwrap();
        assert_eq!(spec.limits.rate.unwrap().per_ms, per_ms);
    }
    let deep = |tables: usize| format!("[settings{}]", ".a".repeat(tables));
    check("[settings]", &deep(63), &[]);
    let expected = "13:1: this lies deeper than 64 lists and tables within each other; bring it further up";
    check("[settings]", &deep(64), &[expected]);
    for bad in ["0/s", "10", "10/x", "1/0s", "1000001/s", "1/25h"] {
        assert!(ConnectionSpec::parse(&GOOD.replacen("10/s", bad, 1)).is_err(), "{bad}");
    }
}

#[test]
fn trust_lists_only_what_can_be_trusted() {
    for status in [401, 403, 408, 425, 429, 500, 200] {
        let mend =
            "write 4xx statuses that are about the thing itself, as 404, 409 or 410; not 401, 403, 408, 425, 429";
        let expected = format!("19:13: `confirms` cannot list {status}; {mend}");
        check("confirms = [409]", &format!("confirms = [{status}]"), &[&expected]);
    }
    check(
        "confirms = [409]",
        "confirms = [409]\nrefused_before_effect = [409]",
        &[
            "19:1: 409 is in `confirms` and in `refused_before_effect`; leave it in one of them: it cannot prove that the effect \
           exists and that it does not",
        ],
    );
    check(
        "confirms = [409]",
        "on_absent = \"retry\"",
        &["19:13: `on_absent` is \"retry\"; write \"review\" or \"resend\""],
    );
    check(
        "confirms = [409]",
        "errors_in_2xx = \"refused\"\nrepeat_within = \"1h\"\nmay_find = true",
        &[],
    );
    check(
        "confirms = [409]",
        "may_find = \"yes\"",
        &["19:12: `may_find` is a text; write true or false"],
    );
    check(
        "confirms = [409]",
        "repeat_within = \"61m\"",
        &["19:17: `repeat_within` is \"61m\"; write a time from \"1s\" to \"1h\""],
    );
    check("confirms = [409]", "lookup_after = \"24h\"", &[]);
    check(
        "confirms = [409]",
        "lookup_after = \"86400001ms\"",
        &["19:16: `lookup_after` is \"86400001ms\"; write a time from \"100ms\" to \"1d\""],
    );
}

#[test]
fn the_connections_requests_follow_the_manifests_rules() {
    let requests =
        |path: &str| format!("[[trust.actions.send.requests]]\nmethod = \"POST\"\npath = {path:?}\nkind = \"write\"\n");
    let confirms = "confirms = [409]\n";
    check(confirms, &requests("/messages/{id}"), &[]);
    check(
        confirms,
        &requests("/messages//{id}"),
        &[
            "21:8: the path \"/messages//{id}\" cannot be listed: the path has an empty segment (//); write the path as it goes over \
           the wire, with {name} for a whole segment that varies",
        ],
    );
}

#[test]
fn a_pattern_of_flows_has_stars() {
    let matches = |pattern: &str, name: &str| FlowPattern(pattern.into()).matches(name);
    assert!(matches("*", "anything") && matches("website-*", "website-lead") && matches("website-*", "website-"));
    assert!(matches("*-lead", "website-lead") && matches("a*b*c", "a-xx-b-c") && matches("same", "same"));
    assert!(
        !matches("website-*", "web")
            && !matches("same", "same-not")
            && !matches("a*b*c", "a-c")
            && !matches("a*a", "a")
    );
    check(
        "flows = [\"website-*\"]",
        "flows = [\"Website?\"]",
        &["4:10: \"Website?\" is no pattern of flow names; write a flow's name, with * for any run of characters"],
    );
}

#[test]
fn the_examples_of_the_operators_reference_are_right() {
    let page = include_str!("../../../../docs/connections.md");
    let examples: Vec<_> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        let spec = ConnectionSpec::parse(example)
            .map_err(|problems| format!("{problems:?}\n{example}"))
            .unwrap();
        if spec.connector == "http" {
            let http = super::super::approved::tests::described(super::super::approved::tests::HTTP);
            super::super::approved::approve(&http, "sha256:00", &spec, 1).unwrap();
        }
    }
}
