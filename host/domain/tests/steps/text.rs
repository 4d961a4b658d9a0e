//! The text of a standing, as the ledger keeps it.

use oncegate_domain::step::Step;

#[test]
fn what_a_standing_does_not_have_takes_no_room() {
    let text = serde_json::to_string(&Step::new()).unwrap();
    assert_eq!(text, r#"{"state":{"state":"pending"}}"#);
}

/// Ledgers of before hold them.
#[test]
fn a_standing_that_names_what_it_does_not_have_says_the_same() {
    let text = r#"{"state":{"state":"pending"},"ready_ms":null,"attempts":0,"lookups":0,"refusals":0,"first_intent_ms":null,
        "last_intent_ms":null,"uncounted":0,"waiting_since_ms":null,"open_intent":null,"doubt":null,"resend_spent":false}"#;
    assert_eq!(serde_json::from_str::<Step>(text).unwrap(), Step::new());
}
