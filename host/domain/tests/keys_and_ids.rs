//! The business identity of an event, and the key that travels (DESIGN section 6).
#![allow(clippy::unwrap_used)]

use oncegate_domain::id::Id;
use oncegate_domain::key::{
    EventKey, InstallationSecret, KeyError, KeyFormat, Role, StepIdentity, forgotten_word, key_hash, step_key,
};
use oncegate_domain::limits::EVENT_KEY_BYTES_MAX;
use proptest::prelude::*;
use std::collections::HashSet;

fn key(parts: &[&str]) -> Result<EventKey, KeyError> {
    EventKey::from_parts(&parts.iter().map(|part| part.to_string()).collect::<Vec<_>>())
}

const SECRET: InstallationSecret = InstallationSecret([7; 32]);

#[test]
fn one_part_is_the_key_and_several_are_a_compact_json_array() {
    assert_eq!(key(&["A-1042"]).unwrap().as_str(), "A-1042");
    assert_eq!(key(&["a", "b"]).unwrap().as_str(), r#"["a","b"]"#);
    assert_eq!(
        key(&["a\"b\\", "\n\u{1}€"]).unwrap().as_str(),
        r#"["a\"b\\","\n\u0001€"]"#
    );
}

#[test]
fn a_key_without_a_value_or_too_long_is_refused() {
    assert_eq!(key(&[]), Err(KeyError::Blank { part: 1 }));
    assert_eq!(key(&[""]), Err(KeyError::Blank { part: 1 }));
    assert_eq!(key(&[" \t\u{a0}"]), Err(KeyError::Blank { part: 1 }));
    assert_eq!(key(&["a", " "]), Err(KeyError::Blank { part: 2 }));
    let longest = "x".repeat(EVENT_KEY_BYTES_MAX);
    assert_eq!(key(&[&longest]).unwrap().as_str(), longest);
    assert_eq!(
        key(&[&format!("{longest}x")]),
        Err(KeyError::TooLong {
            bytes: EVENT_KEY_BYTES_MAX + 1,
            max: EVENT_KEY_BYTES_MAX
        })
    );
}

#[test]
fn ids_beyond_the_digits_of_a_float_are_two_keys() {
    assert_ne!(key(&["9007199254740992"]), key(&["9007199254740993"]));
}

proptest! {
    #[test]
    fn no_two_lists_of_parts_join_to_one_key(
        one in prop::collection::vec("[a-c\",\\[\\]\\\\]{1,4}", 2..4),
        other in prop::collection::vec("[a-c\",\\[\\]\\\\]{1,4}", 2..4),
    ) {
        prop_assert_eq!(one == other, EventKey::from_parts(&one) == EventKey::from_parts(&other));
    }

    #[test]
    fn ids_sort_by_time_and_survive_text(ms in 0_i64..(1 << 48), random: [u8; 10], later in 1_i64..1_000_000) {
        let id = Id::new(ms, random);
        prop_assert_eq!(id.to_string().len(), 26);
        prop_assert_eq!(id.to_string().parse::<Id>().unwrap(), id);
        prop_assert_eq!(id.to_string().to_lowercase().parse::<Id>().unwrap(), id);
        prop_assert_eq!(Id::from_bytes(id.to_bytes()), id);
        prop_assert_eq!(id.made_ms(), ms);
        let next = Id::new(ms + later, [0; 10]);
        if ms + later < 1 << 48 {
            prop_assert!(id < next && id.to_string() < next.to_string());
        }
    }
}

#[test]
fn what_is_not_an_id_is_refused_with_its_text() {
    for text in [
        "",
        "01ARZ3NDEKTSV4RRFFQ69G5FA",
        "81ARZ3NDEKTSV4RRFFQ69G5FAV",
        "01ARZ3NDEKTSV4RRFFQ69G5FAU",
        "01ARZ3NDEKTSV4RRFFQ69G5F€",
    ] {
        assert!(text.parse::<Id>().is_err(), "{text}");
    }
    assert_eq!(
        "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse::<Id>().unwrap().to_string(),
        "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    );
}

fn identity<'a>(event_key: &'a EventKey) -> StepIdentity<'a> {
    StepIdentity {
        flow_id: "f1",
        event_key,
        role: Role::Do,
        step: "crm",
        item: None,
        correction: 0,
    }
}

#[test]
fn a_step_key_is_the_same_for_ever_and_differs_with_each_part_of_the_identity() {
    let text = KeyFormat::Text { max_length: 255 };
    let (one, other) = (key(&["A-1042"]).unwrap(), key(&["A-1043"]).unwrap());
    let base = identity(&one);
    let of = |identity: &StepIdentity<'_>| step_key(&SECRET, identity, text).unwrap();
    let all = [
        base,
        StepIdentity { flow_id: "f2", ..base },
        StepIdentity {
            event_key: &other,
            ..base
        },
        StepIdentity {
            role: Role::Undo,
            ..base
        },
        StepIdentity {
            role: Role::Notify,
            ..base
        },
        StepIdentity { step: "mail", ..base },
        StepIdentity { item: Some(""), ..base },
        StepIdentity {
            item: Some("0"),
            ..base
        },
        StepIdentity { correction: 1, ..base },
    ];
    let keys: HashSet<String> = all.iter().map(of).collect();
    assert_eq!(keys.len(), all.len());
    // Pinned: a change of this text would send every unfinished step again under another key.
    assert_eq!(of(&base), "og1_pdgkq2onk2zjagej6kbovspzdfsajsohwwq3rve6hmra4e4teqjq");
    assert_ne!(of(&base), step_key(&InstallationSecret([8; 32]), &base, text).unwrap());
}

#[test]
fn parts_of_an_identity_cannot_be_shifted_into_each_other() {
    let (a, b) = (key(&["xcrm"]).unwrap(), key(&["x"]).unwrap());
    let text = KeyFormat::Text { max_length: 255 };
    let one = StepIdentity {
        flow_id: "f",
        step: "mail",
        ..identity(&a)
    };
    let other = StepIdentity {
        flow_id: "f",
        step: "crmmail",
        ..identity(&b)
    };
    assert_ne!(step_key(&SECRET, &one, text), step_key(&SECRET, &other, text));
    assert_ne!(
        key_hash(&SECRET, "f", &a),
        key_hash(&SECRET, "fx", &key(&["crm"]).unwrap())
    );
}

#[test]
fn a_key_fits_the_destination_and_never_falls_under_128_bits() {
    let event_key = key(&["A-1042"]).unwrap();
    let of = |format| step_key(&SECRET, &identity(&event_key), format);
    let whole = of(KeyFormat::Text { max_length: 1000 }).unwrap();
    assert!(whole.starts_with("og1_") && whole.len() == 4 + 52);
    assert!(
        whole[4..]
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte))
    );
    assert_eq!(of(KeyFormat::Text { max_length: 30 }).unwrap(), whole[..30]);
    assert_eq!(
        of(KeyFormat::Text { max_length: 29 }),
        Err(KeyError::FormatTooShort {
            max_length: 29,
            min: 30
        })
    );
    let uuid = of(KeyFormat::Uuid).unwrap();
    assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert_eq!(&uuid[14..15], "8");
    assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"));
}

#[test]
fn neither_a_key_nor_a_debug_print_gives_anything_away() {
    let event_key = key(&["jane@example.com"]).unwrap();
    let sent = step_key(&SECRET, &identity(&event_key), KeyFormat::Text { max_length: 255 }).unwrap();
    assert!(!sent.contains("jane"));
    assert_eq!(format!("{SECRET:?}"), "InstallationSecret(hidden)");
}

#[test]
fn a_forgotten_word_can_be_found_again_and_not_read() {
    let word = |name, value| forgotten_word(&SECRET, name, value);
    assert_eq!(word("customer", "anna"), word("customer", "anna"));
    let others = [
        word("customer", "anna2"),
        word("customeranna", ""),
        word("custome", "ranna"),
        forgotten_word(&InstallationSecret([8; 32]), "customer", "anna"),
    ];
    assert!(!others.contains(&word("customer", "anna")));
    assert_eq!(word("customer", "anna").len(), 26);
}
