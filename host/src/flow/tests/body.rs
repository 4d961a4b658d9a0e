//! Reading bodies.

use super::*;
use crate::flow::form::parse_form;

fn read(body: &[u8]) -> String {
    match parse_json(body, &BodyLimits::default()) {
        Ok(value) => value.to_string(),
        Err(error) => format!("refused: {error}"),
    }
}

#[test]
fn digits_of_numbers_stay_as_they_came() {
    for number in [
        "9007199254740993",
        "8202522731445525542",
        "12.30",
        "-0",
        "0.10e-5",
        "123456789012345678901234567890",
    ] {
        assert_eq!(read(number.as_bytes()), number);
    }
    assert_eq!(read(b"1e3"), "1e+3");
    assert_eq!(read(b"1E+3"), "1e+3");
}

#[test]
fn a_name_that_comes_twice_is_refused_with_its_path() {
    assert_eq!(
        read(br#"{"a": 1, "a": 1}"#),
        "refused: the body names \"/a\" twice; which one counts is not for us to guess"
    );
    assert!(read(br#"{"l": [0, {"a/b~": 1, "a/b~": 2}]}"#).contains("\"/l/1/a~1b~0\""));
    assert!(read(br#"{"a": 1, "\u0061": 2}"#).contains("\"/a\""));
    assert_eq!(
        read(br#"{"a": {"b": 1}, "b": {"b": 1}}"#),
        r#"{"a":{"b":1},"b":{"b":1}}"#
    );
}

#[test]
fn a_byte_order_mark_is_dropped_and_escapes_are_read() {
    assert_eq!(read("\u{feff}{\"a\": \"\\u20ac\"}".as_bytes()), "{\"a\":\"€\"}");
    assert_eq!(read(br#""\ud83d\ude00""#), "\"😀\"");
}

#[test]
fn an_object_cannot_pose_as_a_number() {
    assert!(read(br#"{"id": {"$serde_json::private::Number": "5"}}"#).contains("reserved name \"/id/$serde_json"));
    assert!(read(br#"{"\u0024serde_json::private::RawValue": "5"}"#).contains("reserved"));
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for body in [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "'a'",
        "nul",
        "tru",
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
        "--1",
        "NaN",
        "Infinity",
        "\"a",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\n\"",
        "1 2",
        "{} x",
        "[1 2]",
        "// c\n1",
        "\u{feff}\u{feff}1",
    ] {
        let text = read(body.as_bytes());
        assert!(
            text.starts_with("refused: the body cannot be read at byte "),
            "{body}: {text}"
        );
    }
    assert!(read(b"\"\xff\"").contains("at byte 1: it is not UTF-8"));
}

#[test]
fn depth_size_and_count_are_bounded_on_both_sides() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(!read(nested(64).as_bytes()).starts_with("refused"));
    assert_eq!(read(nested(65).as_bytes()), "refused: the body has more than 64 levels");
    assert_eq!(
        read("[".repeat(1_000_000).as_bytes()),
        "refused: the body has more than 64 levels"
    );
    let limits = BodyLimits {
        bytes_max: 10,
        depth_max: 9,
        values_max: 3,
    };
    assert!(parse_json(b"\"12345678\"", &limits).is_ok());
    assert_eq!(
        parse_json(b"\"123456789\"", &limits),
        Err(JsonError::TooMuch { max: 10, unit: "bytes" })
    );
    assert!(parse_json(b"[1,2]", &limits).is_ok());
    assert_eq!(
        parse_json(b"[1,2,3]", &limits),
        Err(JsonError::TooMuch { max: 3, unit: "values" })
    );
}

#[test]
fn a_form_becomes_an_object_and_repeated_names_a_list() {
    let form = |body: &str| parse_form(body.as_bytes(), &BodyLimits::default()).map(|v| v.to_string());
    assert_eq!(form("a=1&a=2&b=%E2%82%AC").unwrap(), r#"{"a":["1","2"],"b":"€"}"#);
    assert_eq!(form("a=1&a=2&a=3").unwrap(), r#"{"a":["1","2","3"]}"#);
    assert_eq!(
        form("name=Ada+B%2BC&empty=&bare&=x").unwrap(),
        r#"{"":"x","bare":"","empty":"","name":"Ada B+C"}"#
    );
    assert_eq!(form("").unwrap(), "{}");
    assert_eq!(form("a=%zz").unwrap(), r#"{"a":"%zz"}"#);
    assert_eq!(
        form("x=1&a=%ff").unwrap_err(),
        JsonError::Syntax {
            at: 4,
            what: "it is not UTF-8"
        }
    );
}
