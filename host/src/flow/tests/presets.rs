//! Schemes that know the good key.

use super::*;

const SIGNED: &str = "scheme = \"standard-webhooks\", secret = \"SHOP\"";

/// A hook with this `verify` and these further lines.
fn hook(verify: &str, lines: &str) -> String {
    with_trigger(&format!("path = \"t\"\nverify = {{ {verify} }}\n{lines}"))
}

fn signed(lines: &str) -> String {
    hook(SIGNED, lines)
}

#[test]
fn one_secret_is_named_or_two_while_they_are_rotated() {
    let verify = |text: &str| flow(&hook(text, "")).webhook().unwrap().verify.clone();
    let of = |secrets: &[&str], tolerance_s| Verify::StandardWebhooks {
        secrets: secrets.iter().map(|name| (*name).to_owned()).collect(),
        tolerance_s,
    };
    let scheme = "scheme = \"standard-webhooks\"";
    assert_eq!(verify(SIGNED), of(&["SHOP"], 300));
    assert_eq!(verify(&format!("{scheme}, secret = [\"NEW\"]")), of(&["NEW"], 300));
    assert_eq!(
        verify(&format!("{scheme}, secret = [\"NEW\", \"OLD\"]")),
        of(&["NEW", "OLD"], 300)
    );
    for secret in ["[]", "[\"A\", \"B\", \"C\"]", "[\"A\", \"A\"]"] {
        let text = check(&hook(&format!("{scheme}, secret = {secret}"), ""));
        assert!(
            text.contains("`secret` must be one name, or two that differ; write the new one and the old one"),
            "{secret}: {text}"
        );
    }
    let text = check(&hook(&format!("{scheme}, secret = 7"), ""));
    assert!(
        text.contains("`secret` must be the name of a secret, or a list of two"),
        "{text}"
    );
    assert!(check(&hook(scheme, "")).contains("`verify` needs `secret`"));
}

#[test]
fn a_secret_that_looks_like_a_name_is_still_not_written_down() {
    for secret in [
        "whsec_C2FVsBQIhrscChlQIMVb5sSYspob7oD0",
        "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    ] {
        for scheme in ["standard-webhooks", "bearer"] {
            let text = check(&hook(
                &format!("scheme = \"{scheme}\", secret = \"{secret}\""),
                "key = \"{{ body.id }}\"",
            ));
            assert!(
                text.contains("never the secret itself") && !text.contains("C2FV"),
                "{text}"
            );
        }
    }
}

#[test]
fn the_tolerance_has_bounds_and_a_unit() {
    let tolerance = |text: &str| hook(&format!("{SIGNED}, tolerance = {text}"), "");
    for (text, seconds) in [("\"10s\"", 10), ("\"5m\"", 300), ("\"1h\"", 3_600), ("\"90000ms\"", 90)] {
        let verify = flow(&tolerance(text)).webhook().unwrap().verify.clone();
        assert!(
            matches!(verify, Verify::StandardWebhooks { tolerance_s, .. } if tolerance_s == seconds),
            "{text}: {verify:?}"
        );
    }
    for (text, says) in [
        ("\"9s\"", "must be from 10s to 1h, in whole seconds"),
        ("\"3601s\"", "must be from 10s to 1h, in whole seconds"),
        ("\"10500ms\"", "must be from 10s to 1h, in whole seconds"),
        ("\"300\"", "\"300\" has no unit"),
        ("\"soon\"", "\"soon\" is not a duration"),
        ("300", "`tolerance` must be a text, not a whole number"),
    ] {
        let said = check(&tolerance(text));
        assert!(said.contains(says), "{text}: {said}");
    }
}

#[test]
fn bearer_has_one_secret_and_no_time() {
    let bearer = |more: &str| {
        check(&hook(
            &format!("scheme = \"bearer\", {more}"),
            "key = \"{{ body.id }}\"",
        ))
    };
    assert!(bearer("secret = [\"A\", \"B\"]").contains("`bearer` takes one secret; write `secret = \"NAME\"`"));
    assert!(bearer("secret = \"A\", tolerance = \"5m\"").contains("`bearer` signs nothing; take it out"));
    assert_eq!(bearer("secret = \"A\""), "ok");
}

/// The key of a delivery with this id and body.
fn key(flow: &Flow, id: &str, body: &str) -> String {
    let mut delivery = Delivery::new(body);
    delivery.headers.insert("webhook-id".to_owned(), id.to_owned());
    match flow.event_key(&delivery.event()) {
        Ok(key) => key.as_str().to_owned(),
        Err(error) => format!("refused: {error}"),
    }
}

#[test]
fn without_a_key_the_senders_id_is_the_key_and_the_content_is_not_compared() {
    for lines in [
        "",
        "key = '{{ headers[\"webhook-id\"] }}'",
        "key = '{{ headers[\"Webhook-Id\"] }}'",
    ] {
        assert_eq!(check(&signed(lines)), "ok", "{lines}");
        let flow = flow(&signed(lines));
        assert_eq!(key(&flow, "msg_1", "{}"), "msg_1");
        assert_eq!(flow.webhook().unwrap().fingerprint, Fingerprint::Nothing, "{lines}");
    }
    // A part of the key is enough: the same key is the same event by the sender's word.
    let both = flow(&signed("key = ['{{ headers[\"webhook-id\"] }}', \"{{ body.part }}\"]"));
    assert_eq!(both.webhook().unwrap().fingerprint, Fingerprint::Nothing);
    let said = flow(&signed("fingerprint = \"body\""));
    assert_eq!(said.webhook().unwrap().fingerprint, Fingerprint::Body);
}

/// Else a payment that is first pending and then paid would be dropped at its second delivery.
#[test]
fn a_key_of_the_flows_own_is_compared_by_content() {
    let own = flow(&signed("key = \"{{ body.id }}\""));
    assert_eq!(key(&own, "msg_1", "{\"id\": \"A-1\"}"), "A-1");
    assert_eq!(own.webhook().unwrap().fingerprint, Fingerprint::Body);
}

#[test]
fn a_scheme_that_names_no_event_needs_a_key() {
    let text = check(&hook("scheme = \"bearer\", secret = \"A\"", ""));
    assert!(text.contains("`[trigger.webhook]` needs `key`"), "{text}");
    // What is wrong with `verify` is said; that a key were missing would be wrong.
    let text = check(&hook("scheme = \"standard-webhooks\"", ""));
    assert!(!text.contains("needs `key`"), "{text}");
}

#[test]
fn the_header_has_a_dash() {
    let text = check(&signed("key = \"{{ headers.webhook_id }}\""));
    assert_eq!(
        text,
        "5:11: no delivery has a header \"webhook_id\"; leave `key` out: it is webhook-id then; or write \
         {{ headers[\"webhook-id\"] }}"
    );
}
