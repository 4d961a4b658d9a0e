//! What an author may do by mistake: it has one meaning and is done, or it is refused by name, in the log, before it reaches
//! the boundary, where it would be changed in silence or end the call without a word. The cases are in `odd.js`, `odd.py`.

use crate::called::{Answering, Called};
use oncegate::runtime::{LogLevel, LookupReturn, PerformReturn, Problem, Stop};

/// An output, where the case has one.
async fn output(called: &Called, input: &str) -> String {
    match called.odd(input).await {
        (_, Ok(PerformReturn::Completed(output))) => output,
        (door, other) => panic!("{input}: {other:?} {:?}", door.log),
    }
}

async fn problem(called: &Called, input: &str) -> Problem {
    match called.odd(input).await {
        (_, Ok(PerformReturn::Rejected(problem) | PerformReturn::Temporary(problem))) => problem,
        (door, other) => panic!("{input}: {other:?} {:?}", door.log),
    }
}

/// The one line that says why; what the language itself prints beside it says nothing else.
fn why(door: &Answering) -> String {
    let mut errors = door.log.iter().filter(|(level, ..)| *level == LogLevel::Error);
    let (Some((_, message, _)), None) = (errors.next(), errors.next()) else {
        panic!("{:?}", door.log);
    };
    assert!(!format!("{:?}", door.log).contains("invalid variant"), "{:?}", door.log);
    message.clone()
}

async fn refused(called: &Called, input: &str, named: &str) {
    let (door, returned) = called.odd(input).await;
    assert!(matches!(returned, Err(Stop::Trap(_))), "{input}: {returned:?}");
    let why = why(&door);
    assert!(why.contains(named), "{input}: {why}");
}

pub async fn what_is_no_json_is_refused_by_name(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    for (case, named) in [
        ("not_a_number", "NaN"),
        ("no_json", "cannot be written as JSON"),
        ("half_a_character", "half a character"),
        ("no_plain_object", "JSON"),
    ] {
        refused(&called, &format!(r#"{{"case": "{case}"}}"#), named).await;
    }
    assert_eq!(output(&called, r#"{"case": "then"}"#).await, r#"{"then":"later"}"#);
}

pub async fn the_words_of_a_failure_are_text_or_refused_by_name(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    let told = problem(&called, r#"{"case": "words", "n": 12.30}"#).await;
    assert_eq!((told.code.as_str(), told.message.as_str()), ("422", "12.30"));
    assert_eq!(told.fields, [("3".to_owned(), "true".to_owned())]);
    let told = problem(&called, r#"{"case": "half_words"}"#).await;
    assert!(told.message.starts_with("so "), "{told:?}");
    refused(&called, r#"{"case": "no_kind"}"#, "broken").await;
    refused(&called, r#"{"case": "no_method"}"#, "").await;
    refused(&called, r#"{"case": "no_words"}"#, "a failure's message must be a text").await;
}

pub async fn a_pause_is_whole_milliseconds_within_a_day(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    for (ms, pause) in [
        ("1500", Some(1_500)),
        ("1.5", Some(2)),
        ("\"250\"", Some(250)),
        ("-1", Some(0)),
        ("1180591620717411303424", Some(86_400_000)),
        ("null", None),
    ] {
        let told = problem(&called, &format!(r#"{{"case": "pause", "ms": {ms}}}"#)).await;
        assert_eq!(told.retry_after_ms, pause, "{ms}");
    }
    for ms in ["\"soon\"", "\"\"", "true", "[]"] {
        refused(
            &called,
            &format!(r#"{{"case": "pause", "ms": {ms}}}"#),
            "takes milliseconds",
        )
        .await;
    }
}

pub async fn a_query_has_a_pair_for_each_element_and_none_for_what_is_not_there(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    let (door, returned) = called.odd(r#"{"case": "query"}"#).await;
    assert!(returned.is_ok(), "{returned:?}");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        door.requests[0].query,
        [pair("b", "1"), pair("b", "x"), pair("c", "true")]
    );
    for case in ["query_object", "half_path"] {
        let told = problem(&called, &format!(r#"{{"case": "{case}"}}"#)).await;
        assert_eq!(told.code, "request_not_built", "{told:?}");
    }
}

pub async fn a_byte_order_mark_is_passed_over(wasm: &[u8]) {
    let (door, returned) = Called::of(wasm).await.perform(201, "\u{feff}{\"id\":\"i-1\"}").await;
    let output = r#"{"id":"i-1","total":null}"#.to_owned();
    assert_eq!(returned, Ok(PerformReturn::Completed(output)), "{:?}", door.log);
}

pub async fn values_are_compared_by_value_and_to_the_last_digit(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    let cases = [
        ("12.30, 12.3", true),
        ("1.0, 1", true),
        ("1e3, 1000", true),
        ("-0, 0", true),
        ("0.0012, 12e-4", true),
        ("9007199254740993, 9007199254740992", false),
        ("1e400, 1e401", false),
        ("1, -1", false),
        ("1, \"1\"", false),
        ("1, true", false),
        ("null, 0", false),
        ("[1, 2], [1.0, 2]", true),
        ("[1, 2], [2, 1]", false),
        (r#"{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}"#, true),
        (r#"{"a": 1}, {"a": 1, "b": null}"#, false),
        ("[], {}", false),
    ];
    let pairs: Vec<String> = cases.iter().map(|(pair, _)| format!("[{pair}]")).collect();
    let told = output(
        &called,
        &format!(r#"{{"case": "same", "pairs": [{}]}}"#, pairs.join(",")),
    )
    .await;
    let told: Vec<bool> = serde_json::from_str(&told).unwrap();
    for ((pair, expected), told) in cases.iter().zip(told) {
        assert_eq!(told, *expected, "{pair}");
    }
}

pub async fn a_lookup_by_content_says_absent_only_of_what_could_be_compared(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    let items = r#"[{"id": "a", "n": 9007199254740993, "amount": 12.3, "note": null}, {"id": "b", "n": 7}]"#;
    for (wanted, items, expected) in [
        (r#"{"n": 9007199254740993, "amount": 12.30}"#, items, "found a"),
        (r#"{"n": 9007199254740993, "note": null}"#, items, "found a"),
        (r#"{"n": 9007199254740992}"#, items, "absent"),
        (r#"{"n": 7}"#, "[]", "absent"),
        (r#"{"n": "7"}"#, items, "in the type of its values alone"),
        (r#"{"number": 7}"#, items, "has a field number"),
        (
            r#"{"n": 7}"#,
            r#"[{"id": "b", "n": 7}, {"id": "c", "n": 7.0}]"#,
            "2 records",
        ),
        (r#"{"n": 7}"#, "null", "a list is needed"),
    ] {
        let input = format!(r#"{{"case": "", "items": {items}, "wanted": {wanted}}}"#);
        let told = match called.odd_lookup(&input).await.1.unwrap() {
            LookupReturn::Found { reference, .. } => format!("found {reference}"),
            LookupReturn::Absent => "absent".to_owned(),
            LookupReturn::Unsure(why) => why,
        };
        assert!(told.contains(expected), "{wanted}: {told}");
    }
    let (door, returned) = called.odd_lookup(r#"{"case": "nothing"}"#).await;
    assert!(matches!(returned, Err(Stop::Trap(_))), "{returned:?}");
    assert!(why(&door).contains("lookup must return"), "{:?}", door.log);
}

pub async fn a_whole_number_of_any_size_may_leave_and_nothing_may_not(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    assert_eq!(
        output(&called, r#"{"case": "big"}"#).await,
        r#"{"whole":9007199254740993}"#
    );
    refused(&called, r#"{"case": "nothing"}"#, "perform returned nothing").await;
    refused(&called, r#"{"case": "stray"}"#, "a stray text").await;
}

pub async fn what_python_reads_late_is_there_and_numbers_are_exact(wasm: &[u8]) {
    let called = Called::of(wasm).await;
    assert_eq!(
        output(&called, r#"{"case": "library"}"#).await,
        r#"[2026,"<a>&#233;</a>","80","xn--bcher-kva.example","a"]"#
    );
    let n = "12345678901234567890123456789012.34";
    let twice = "24691357802469135780246913578024.68";
    assert_eq!(
        output(&called, &format!(r#"{{"case": "digits", "n": {n}}}"#)).await,
        format!("[{n},-{n},{twice},{n},{n}]")
    );
}
