//! `[trigger.webhook]`.

use super::*;

const KEY: &str = "key = \"{{ body.id }}\"";

fn hook(lines: &str) -> String {
    with_trigger(&format!("path = \"t\"\n{KEY}\n{lines}"))
}

#[test]
fn verify_must_be_written_even_for_an_open_hook() {
    assert!(check(&hook("")).contains("needs `verify`"));
    assert_eq!(check(&hook("verify = \"none\"")), "ok");
}

#[test]
fn a_bearer_secret_is_named_and_never_written() {
    let flow = flow(&hook("verify = { scheme = \"bearer\", secret = \"LEADS\" }"));
    assert_eq!(
        flow.webhook().unwrap().verify,
        Verify::Bearer {
            secret: "LEADS".to_owned()
        }
    );
    let text = check(&hook("verify = { scheme = \"bearer\", secret = \"s3cr3t/+=\" }"));
    assert!(
        text.contains("never the secret itself") && !text.contains("s3cr3t"),
        "{text}"
    );
    assert!(check(&hook("verify = { scheme = \"bearer\" }")).contains("needs `secret`"));
}

#[test]
fn schemes_that_come_later_say_so() {
    for scheme in ["github", "stripe"] {
        let text = check(&hook(&format!("verify = {{ scheme = \"{scheme}\", secret = \"X\" }}")));
        assert!(
            text.contains(&format!("the scheme `{scheme}` is not there yet; it comes later")),
            "{text}"
        );
    }
    let text = check(&hook("verify = { scheme = \"md5\", secret = \"X\" }"));
    assert!(
        text.contains("there is no scheme `md5`; schemes here: bearer, standard-webhooks"),
        "{text}"
    );
    assert!(check(&hook("verify = \"bearer\"")).contains("`verify` must be \"none\" or a scheme with a secret"));
}

#[test]
fn limits_are_rates_with_a_unit() {
    let flow = flow(&hook(
        "verify = \"none\"\nlimit = { per_source = \"20/m\", total = \"1000/h\" }",
    ));
    let limit = flow.webhook().unwrap().limit;
    assert_eq!(
        limit.total,
        Some(Rate {
            count: 1000,
            per_ms: 3_600_000
        })
    );
    for (rate, what) in [
        ("\"20\"", "\"20\" is not a rate"),
        ("\"20/x\"", "\"x\" is not a unit of time"),
        ("\"0/m\"", "\"0\" is not a number between 1 and 1000000"),
        ("20", "`total` must be a text, not a whole number"),
    ] {
        let text = check(&hook(&format!("verify = \"none\"\nlimit = {{ total = {rate} }}")));
        assert!(text.contains(what), "{rate}: {text}");
    }
}

#[test]
fn respond_is_accepted_or_result() {
    let respond = |lines: &str| flow(&hook(lines)).webhook().unwrap().respond;
    assert_eq!(respond("verify = \"none\""), Respond::Accepted);
    assert_eq!(respond("verify = \"none\"\nrespond = \"result\""), Respond::Result);
    assert!(check(&hook("verify = \"none\"\nrespond = \"results\"")).contains("did you mean `result`?"));
}

#[test]
fn other_triggers_are_not_there_yet() {
    let text = check(&format!(
        "{}[trigger.schedule]\ncron = \"0 6 * * *\"\n",
        hook("verify = \"none\"")
    ));
    assert!(text.contains("there is no trigger `schedule` yet"), "{text}");
}

#[test]
fn a_hook_needs_a_path_and_a_key() {
    let text = check(&with_trigger("verify = \"none\""));
    assert!(text.contains("needs `path`") && text.contains("needs `key`"), "{text}");
    for path in ["", "/a", "a/", "a//b", "a b", "../a", "a?b", "ä"] {
        let text = check(&with_trigger(&format!("path = \"{path}\"\nverify = \"none\"\n{KEY}")));
        assert!(text.contains("cannot be the path of a hook"), "{path}: {text}");
    }
    assert!(check(&with_trigger("path = \"t\"\nverify = \"none\"\nkey = []")).contains("from 1 to 8 parts"));
}

#[test]
fn a_fingerprint_is_body_none_or_a_list() {
    let text = check(&hook("verify = \"none\"\nfingerprint = \"all\""));
    assert!(
        text.contains("`fingerprint` must be \"body\", \"none\" or a list"),
        "{text}"
    );
}
