//! `retry`, durations and rates.

use super::*;

fn with_retry(retry: &str) -> String {
    with_steps(&format!("[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nretry = {retry}"))
}

#[test]
fn without_retry_a_step_has_the_default_policy() {
    assert_eq!(flow(&with_input("x = 1")).steps()[0].retry, Policy::default());
}

#[test]
fn a_policy_says_attempts_first_factor_longest_and_refusals() {
    let flow = flow(&with_retry(
        "{ attempts = 5, first = \"500ms\", factor = 1.5, longest = \"24h\", refusals = 3 }",
    ));
    let policy = flow.steps()[0].retry;
    assert_eq!((policy.attempts, policy.first_ms, policy.factor), (5, 500, 1.5));
    assert_eq!((policy.longest_ms, policy.refusals), (86_400_000, 3));
    assert_eq!(policy.wait_longest_ms, Policy::default().wait_longest_ms);
}

#[test]
fn a_policy_can_be_named_once_and_used_by_several_steps() {
    let source = format!(
        "{}[retry.patient]\nattempts = 20\nfirst = \"1m\"\n",
        with_retry("\"patient\"")
    );
    let policy = flow(&source).steps()[0].retry;
    assert_eq!((policy.attempts, policy.first_ms), (20, 60_000));
    assert!(check(&source.replace("\"patient\"", "\"pateint\"")).contains("did you mean `patient`?"));
    assert!(check(&with_retry("\"x\"")).contains("there is no retry policy `x`; add `[retry.x]`"));
    assert!(check(&format!("{}[retry]\nattempts = 2\n", with_retry("{}"))).contains("`[retry]` holds named policies"));
}

#[test]
fn a_policy_out_of_bounds_is_refused() {
    for (retry, what) in [
        ("{ attempts = 0 }", "`attempts` must be a whole number from 1 to 100"),
        ("{ attempts = 101 }", "`attempts` must be a whole number from 1 to 100"),
        ("{ attempts = \"5\" }", "`attempts` must be a whole number"),
        ("{ refusals = 0 }", "`refusals` must be a whole number from 1 to 100"),
        (
            "{ refusals = -1 }",
            "`refusals` must be a whole number from 1 to 100; write `refusals = 1`",
        ),
        ("{ factor = 0.5 }", "`factor` must be a number from 1 to 10"),
        ("{ factor = 11 }", "`factor` must be a number from 1 to 10"),
        ("{ factor = nan }", "`factor` must be a number from 1 to 10"),
        ("{ first = \"1ms\" }", "`first` must be from 100ms to 1h"),
        ("{ first = \"2h\" }", "`first` must be from 100ms to 1h"),
        ("{ longest = \"2d\" }", "`longest` must be from 1s to 1d"),
        (
            "{ first = \"10s\", longest = \"5s\" }",
            "`longest` is shorter than `first`, which is 10s",
        ),
        ("{ first = \"2\" }", "`first`: \"2\" has no unit"),
        ("{ first = 2 }", "`first` has no unit; write `first = \"2s\"`"),
        ("{ first = -2 }", "`first` has no unit; write `first = \"2s\"`"),
        ("{ first = \"2 s\" }", "\" s\" is not a unit of time"),
        ("{ first = \"soon\" }", "\"soon\" is not a duration"),
        ("{ first = \"99999999999999999999s\" }", "is too long"),
        (
            "{ fist = \"2s\" }",
            "`retry` has no field `fist`; did you mean `first`?",
        ),
        ("3", "`retry` must be a table"),
    ] {
        let text = check(&with_retry(retry));
        assert!(text.contains(what), "{retry}: {text}");
    }
    for retry in [
        "{ attempts = 1 }",
        "{ attempts = 100 }",
        "{ factor = 1 }",
        "{ factor = 10 }",
        "{ first = \"1h\" }",
    ] {
        assert_eq!(check(&with_retry(retry)), "ok", "{retry}");
    }
}

#[test]
fn a_long_first_delay_lifts_the_longest_one() {
    assert_eq!(
        flow(&with_retry("{ first = \"1h\" }")).steps()[0].retry.longest_ms,
        3_600_000
    );
}
