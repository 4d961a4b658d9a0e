#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;

fn refused(schema: Value) -> String {
    Schema::compile(&schema).unwrap_err().0
}

#[test]
fn a_schema_reaches_nothing_outside_of_itself() {
    for target in [
        "https://example.com/s.json",
        "file:///etc/passwd",
        "other.json#/a",
        "#anchor",
    ] {
        let why = refused(json!({"$ref": target}));
        assert_eq!(
            why,
            format!("$ref {target:?} leads out of it; only \"#/…\" is followed")
        );
    }
    assert!(refused(json!({"$id": "https://x.y/z"})).contains("$id"));
    assert!(refused(json!({"$dynamicRef": "#x"})).contains("$dynamicRef"));
    assert!(refused(json!({"$schema": "http://json-schema.org/draft-07/schema#"})).contains("write it for"));
    assert!(refused(json!({"$ref": "#/$defs/nothing"})).contains("leads nowhere"));
}

#[test]
fn references_inside_are_followed() {
    let schema =
        json!({"$schema": DRAFT, "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}});
    let schema = Schema::compile(&schema).unwrap();
    assert!(schema.check(&json!({"a": 1})).is_ok());
    assert!(schema.check(&json!({"a": "x"})).is_err());
}

#[test]
fn references_neither_circle_nor_multiply() {
    assert!(refused(json!({"$ref": "#"})).contains("runs in a circle"));
    assert!(
        refused(json!({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}})).contains("circle")
    );
    let mut defs = serde_json::Map::new();
    for n in 0..20 {
        let next = format!("#/$defs/d{}", n + 1);
        defs.insert(format!("d{n}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
    }
    defs.insert("d20".into(), json!({"type": "string"}));
    let why = refused(json!({"$ref": "#/$defs/d0", "$defs": defs}));
    assert_eq!(why, "with its references written out it has more than 20000 values");
}

#[test]
fn values_are_counted_with_references_written_out() {
    let too_many = "with its references written out it has more than 20000 values";
    let listing = |items: usize| json!({"enum": (0..items).collect::<Vec<_>>()});
    assert!(Schema::compile(&listing(19_998)).is_ok());
    assert_eq!(refused(listing(19_999)), too_many);
    let both = json!([{"$ref": "#/$defs/list"}, {"$ref": "#/$defs/list"}]);
    let referring = |items: usize| json!({"allOf": both, "$defs": {"list": listing(items)}});
    assert!(Schema::compile(&referring(9_995)).is_ok());
    assert_eq!(refused(referring(9_996)), too_many);
}

#[test]
fn patterns_take_linear_time() {
    let why = refused(json!({"pattern": "^(a+)\\1$"}));
    assert!(why.starts_with("it is no schema"), "{why}");
    assert!(
        Schema::compile(&json!({"pattern": "^(a+)+$"}))
            .unwrap()
            .check(&json!("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"))
            .is_err()
    );
    assert!(Schema::compile(&json!({"pattern": "((a{1000}){1000}){1000}"})).is_err());
}

#[test]
fn size_and_depth_are_bounded() {
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(Schema::compile(&nested(JSON_DEPTH_MAX)).is_ok());
    assert!(refused(nested(JSON_DEPTH_MAX + 1)).contains("nests deeper"));
    let titled = |bytes: usize| json!({"title": "x".repeat(bytes - 12)});
    assert!(Schema::compile(&titled(SCHEMA_BYTES_MAX)).is_ok());
    assert!(refused(titled(SCHEMA_BYTES_MAX + 1)).contains("131073 bytes"));
}

#[test]
fn numbers_of_any_size_are_checked_as_they_are() {
    let integer = Schema::compile(&json!({"type": "integer"})).unwrap();
    for number in ["9007199254740993", "-0", "123456789012345678901234567890"] {
        let value: Value = serde_json::from_str(number).unwrap();
        assert!(integer.check(&value).is_ok(), "{number}");
    }
    let number = Schema::compile(&json!({"type": "number", "maximum": 9007199254740992_u64})).unwrap();
    assert!(number.check(&serde_json::from_str("9007199254740992").unwrap()).is_ok());
    assert!(
        number
            .check(&serde_json::from_str("9007199254740993").unwrap())
            .is_err()
    );
    assert!(number.check(&serde_json::from_str("12.30").unwrap()).is_ok());
    assert!(number.check(&serde_json::from_str("1e400").unwrap()).is_err());
}

#[test]
fn a_mismatch_names_the_place_and_hides_the_value() {
    let schema = json!({"type": "object", "required": ["email"], "properties": {"phone": {"type": "integer"}}});
    let error = Schema::compile(&schema)
        .unwrap()
        .check(&json!({"phone": "+49 151 000"}))
        .unwrap_err()
        .to_string();
    assert!(error.contains("/phone: ") && error.contains("the whole: "), "{error}");
    assert!(!error.contains("151"), "{error}");
}
