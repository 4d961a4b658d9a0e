use super::*;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

const SECRET: &str = "p@ss/w0rd+with=\"odd\" signs~";

fn masked(text: &str) -> String {
    Mask::new([SECRET]).unwrap().text(text.to_owned())
}

#[test]
fn every_form_of_a_secret_is_hidden() {
    let percent = "p%40ss%2Fw0rd%2Bwith%3D%22odd%22%20signs~";
    for form in [
        SECRET.to_owned(),
        percent.to_owned(),
        percent.to_lowercase(),
        percent.replace("%20", "+"),
        percent.replace('~', "%7E"),
        percent.replace("%2F", "/"),
        "p@ss/w0rd+with=\\\"odd\\\" signs~".to_owned(),
        "p@ss\\/w0rd+with=\\\"odd\\\" signs~".to_owned(),
        SECRET.to_uppercase(),
    ] {
        assert_eq!(masked(&format!("a{form}b")), "a[masked]b");
        assert_eq!(
            Mask::new([SECRET]).unwrap().bytes(format!("a{form}b").into_bytes()),
            b"a[masked]b"
        );
    }
}

#[test]
fn base64_is_hidden_at_every_alignment_in_both_alphabets() {
    let mask = Mask::new([SECRET]).unwrap();
    let masked = |text: &str| mask.text(text.to_owned());
    for before in ["", "u", "us", "ada", "ada:", "Basic"] {
        for after in ["", "x", "xy", "xyz"] {
            for engine in [&STANDARD, &URL_SAFE, &STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
                let encoded = engine.encode(format!("{before}{SECRET}{after}"));
                let left = masked(&encoded).replace(MASKED, "");
                // What is left belongs to the neighbours, but for a few bits at the seams.
                let neighbours = (before.len() + after.len()).div_ceil(3) * 4 + 8;
                assert!(left.len() <= neighbours, "{encoded} became {left}");
                assert!(masked(&encoded).contains(MASKED), "{encoded}");
            }
        }
    }
}

#[test]
fn what_holds_no_secret_is_left_alone() {
    for text in ["", "p@ss", "p@ss/w0rd", "nothing here", "p@ss/w0rd+with=\"odd\" sign"] {
        assert_eq!(masked(text), text);
    }
    assert_eq!(Mask::none().text(SECRET.into()), SECRET);
    assert_eq!(Mask::none().bytes(vec![0xff]), [0xff]);
    assert!(!Mask::none().finds(SECRET));
}

#[test]
fn several_secrets_are_hidden_in_one_pass() {
    let mask = Mask::new(["first-secret", "second-secret", "first-secret-longer"]).unwrap();
    assert_eq!(
        mask.text("second-secret, first-secret-longer, first-secret".into()),
        "[masked], [masked], [masked]"
    );
}

#[test]
fn a_secret_under_8_bytes_is_refused() {
    assert_eq!(Mask::new(["12345678", "1234567"]).unwrap_err(), SecretTooShort(7));
    assert_eq!(Mask::new([""]).unwrap_err(), SecretTooShort(0));
    assert!(Mask::new(["12345678"]).is_ok());
    assert!(Mask::new(["grün-ß"]).is_ok(), "bytes, not characters");
    assert!(Mask::new([]).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_survives_however_it_stands_in_an_answer(
        secret in "[ -~]{8,40}",
        before in "[ -~]{0,9}",
        after in "[ -~]{0,9}",
    ) {
        let mask = Mask::new([secret.as_str()]).unwrap();
        let plain = format!("{before}{secret}{after}");
        let escaped = percent_encode(secret.as_bytes(), NON_ALPHANUMERIC).to_string();
        let quoted = serde_json::Value::from(plain.as_str()).to_string();
        for shown in [
            mask.text(plain.clone()),
            mask.text(format!("{before}{escaped}{after}")),
            mask.text(quoted),
        ] {
            prop_assert!(!shown.contains(&secret) || MASKED.contains(&secret), "{shown}");
            prop_assert!(!shown.contains(&escaped) || escaped.len() < 8, "{shown}");
            prop_assert!(shown.contains(MASKED));
        }
        prop_assert!(mask.text(STANDARD.encode(&plain)).contains(MASKED));
        prop_assert!(mask.text(URL_SAFE_NO_PAD.encode(&plain)).contains(MASKED));
    }
}
