#![allow(clippy::unwrap_used)]

use super::super::super::manifest::{GOOD, Manifest};
use super::super::tests::{CRM, HTTP, MAIL, approved};
use super::*;
use oncegate_domain::doubt::Dedup;

/// What becomes of a step that was sent by `then` (manifest, connection) once this is in force.
#[track_caller]
fn check(then: (&str, &str), now: (&str, &str), action: &str) -> Approved {
    let before = approved(then.0, then.1, action);
    let claim = Manifest::parse(then.0).unwrap().actions[action].clone();
    let spec = ConnectionSpec::parse(now.1).unwrap();
    let names = Manifest::parse(now.0).unwrap().actions;
    let other = names
        .keys()
        .find(|name| *name == action)
        .or(names.keys().next())
        .unwrap();
    as_recorded(&before, &claim, &approved(now.0, now.1, other), &spec)
}

fn key(window_ms: u64) -> Dedup {
    Dedup::Key { window_ms }
}

const DAY_MS: u64 = 86_400_000;

#[test]
fn the_code_stays_and_the_operators_word_is_that_of_now() {
    let newer = MAIL
        .replace("24h", "12h")
        .replace("30s", "60s")
        .replace("file = \"mail.key\"", "file = \"rotated.key\"")
        .replace("/messages\"\nkind", "/v2/messages\"\nkind")
        + "[settings]\nregion = \"eu\"\n";
    let then = check((HTTP, MAIL), (HTTP, &newer), "send");
    assert_eq!(
        (then.terms.dedup, then.terms.lookup_after_ms),
        (key(DAY_MS / 2), Some(60_000))
    );
    let before = approved(HTTP, MAIL, "send");
    assert_eq!((&then.requests, &then.settings), (&before.requests, &before.settings));
    assert_ne!(then.secrets, before.secrets);
}

/// What was sent without the key is recognised by nobody, whatever the destination does with later requests.
#[test]
fn a_key_counts_only_for_a_request_that_carried_it_there() {
    let dedup = "dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"24h\" }";
    let none = MAIL.replace(dedup, "");
    let elsewhere = MAIL.replace("Idempotency-Key", "X-Request-Id");
    let field = MAIL.replace(
        dedup,
        "dedup = { kind = \"field\", pointer = \"/key\", window = \"24h\" }",
    );
    let shorter = MAIL.replace("window = \"24h\"", "window = \"24h\", max_length = 64");
    let cases = [
        (MAIL, MAIL, key(DAY_MS)),
        (none.as_str(), MAIL, Dedup::None),
        (MAIL, none.as_str(), Dedup::None),
        (elsewhere.as_str(), MAIL, Dedup::None),
        (field.as_str(), MAIL, Dedup::None),
        (MAIL, field.as_str(), Dedup::None),
        (shorter.as_str(), MAIL, key(DAY_MS)),
    ];
    for (then, now, dedup) in cases {
        assert_eq!(
            check((HTTP, then), (HTTP, now), "send").terms.dedup,
            dedup,
            "{then}\n{now}"
        );
    }
}

#[test]
fn what_a_later_version_claims_is_about_later_requests() {
    let newer = GOOD
        .replace("dedup = { kind = \"natural\", key = [\"/email\"] }", "")
        .replace("lookup_after = \"30s\"", "");
    let then = check((GOOD, CRM), (&newer, CRM), "upsert-contact");
    assert_eq!(then.terms.lookup_after_ms, Some(30_000));
    assert!(matches!(then.terms.dedup, Dedup::Natural { .. }), "{:?}", then.terms);
    let then = check((&newer, CRM), (GOOD, CRM), "upsert-contact");
    assert_eq!((then.terms.lookup_after_ms, then.terms.dedup), (None, Dedup::None));
}

#[test]
fn another_natural_key_says_nothing_about_what_was_sent() {
    let newer = "[trust.actions.upsert-contact]\ndedup = { kind = \"natural\", key = [\"/phone\"] }\n";
    let then = check((GOOD, CRM), (GOOD, &format!("{CRM}{newer}")), "upsert-contact");
    assert_eq!(then.terms.dedup, Dedup::None);
    assert_eq!(then.natural, ["/email"]);
}

#[test]
fn a_version_without_the_action_leaves_its_doubts_with_the_old_one() {
    let newer = GOOD.replace("name = \"upsert-contact\"", "name = \"save-contact\"");
    let then = check((GOOD, CRM), (&newer, CRM), "upsert-contact");
    assert_eq!(
        (then.action.as_str(), then.terms.lookup_after_ms),
        ("upsert-contact", Some(30_000))
    );
}

#[test]
fn an_endpoint_is_found_under_its_new_name_by_its_origin() {
    let newer = GOOD
        .replace("[endpoints.api]", "[endpoints.crm]")
        .replace("[probe]", "[probe]\nendpoint = \"crm\"")
        .replace("[[actions.requests]]", "[[actions.requests]]\nendpoint = \"crm\"");
    let renamed = CRM.replace("api = \"https://api.hubapi.com\"", "crm = \"https://api.hubapi.com\"");
    let then = check((GOOD, CRM), (&newer, &renamed), "upsert-contact");
    assert_eq!(then.places["api"].origin.to_string(), "https://api.hubapi.com");
    let moved = renamed.replace("api.hubapi.com", "api.example.com");
    let then = check((GOOD, CRM), (&newer, &moved), "upsert-contact");
    assert!(then.places.is_empty(), "{:?}", then.places);
    let elsewhere = CRM.replace("api.hubapi.com", "api.example.com");
    let then = check((GOOD, CRM), (GOOD, &elsewhere), "upsert-contact");
    assert_eq!(then.places["api"].origin.to_string(), "https://api.example.com");
}
