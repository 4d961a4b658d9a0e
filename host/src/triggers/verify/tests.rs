//! Every rule on both sides of its limit. Deliveries are signed by the scheme's reference library.

use super::*;
use axum::http::HeaderValue;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use standardwebhooks::Webhook;

const NOW_S: i64 = 1_800_000_000;
const TOLERANCE_S: u64 = 300;
const ID: &str = "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk";
const BODY: &[u8] = br#"{"email":"test@example.com","username":"test_user"}"#;

fn secret(bytes: usize, fill: u8) -> String {
    format!("whsec_{}", STANDARD.encode(vec![fill; bytes]))
}

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(future)
}

/// A delivery that is right, until a test changes it.
struct Case {
    headers: HeaderMap,
    raw: Vec<u8>,
    tolerance_s: u64,
    secrets: Vec<(&'static str, String)>,
}

impl Case {
    fn signed_at(at_s: i64, body: &[u8]) -> Case {
        let own = secret(32, 7);
        let signature = Webhook::new(&own).unwrap().sign(ID, at_s, body).unwrap();
        let mut case = Case {
            headers: HeaderMap::new(),
            raw: body.to_vec(),
            tolerance_s: TOLERANCE_S,
            secrets: vec![("NEW", own)],
        };
        case.set("webhook-id", ID);
        case.set("webhook-timestamp", &at_s.to_string());
        case.set("webhook-signature", &signature);
        case
    }

    fn set(&mut self, name: &'static str, value: &str) {
        self.headers
            .insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }

    fn signature(&self) -> String {
        self.headers["webhook-signature"].to_str().unwrap().to_owned()
    }

    /// What comes of it: the scheme, or why not (in our own words, not those for the caller).
    fn check(&self) -> Result<Verified, String> {
        let dir = tempfile::tempdir().unwrap();
        for (name, secret) in self.secrets.iter().filter(|(_, secret)| !secret.is_empty()) {
            std::fs::write(dir.path().join(name), secret).unwrap();
        }
        let verify = Verify::StandardWebhooks {
            secrets: self.secrets.iter().map(|(name, _)| (*name).to_owned()).collect(),
            tolerance_s: self.tolerance_s,
        };
        let evidence = Evidence {
            headers: &self.headers,
            raw: &self.raw,
            now_ms: NOW_S * 1_000 + 999,
        };
        let secrets = Secrets::new(dir.path().to_owned());
        wait_for(check(&verify, evidence, &secrets)).map_err(|error| match error {
            NotVerified::Signature(fault) => fault.to_string(),
            other => other.to_string(),
        })
    }

    #[track_caller]
    fn refused(&self, why: &str) {
        let said = self.check().unwrap_err();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn what_the_reference_library_signs_is_accepted() {
    let bodies: [&[u8]; 8] = [
        BODY,
        b"{\"price\":\"12 \\u20ac\"}",
        b"{\"b\":  1,  \"a\":2}",
        b"{\r\n\"a\": 1\r\n}",
        b"a=1&a=2&b=%E2%82%AC",
        b"\xef\xbb\xbf{\"a\":1}",
        "{\"a\":\"€\"}".as_bytes(),
        b"",
    ];
    for body in bodies {
        let case = Case::signed_at(NOW_S, body);
        let verified = case.check().unwrap();
        assert_eq!(verified.by, "standard-webhooks");
        let again = Case::signed_at(NOW_S, body).check().unwrap();
        assert_eq!(verified.signed_digest, again.signed_digest);
        let later = Case::signed_at(NOW_S + 1, body).check().unwrap();
        assert_ne!(
            verified.signed_digest, later.signed_digest,
            "the time is signed as well"
        );
    }
}

/// The example of the reference library's own test.
#[test]
fn the_published_signature_is_accepted() {
    let mut case = Case::signed_at(1_649_367_553, BODY);
    case.secrets = vec![("NEW", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD".to_owned())];
    case.set("webhook-signature", "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    case.tolerance_s = NOW_S.abs_diff(1_649_367_553);
    assert!(case.check().is_ok());
    case.tolerance_s -= 1;
    case.refused("longer than the hook's tolerance");
}

#[test]
fn one_changed_byte_anywhere_is_refused() {
    let good = || Case::signed_at(NOW_S, BODY);
    for place in 0..BODY.len() {
        let mut case = good();
        case.raw[place] ^= 1;
        case.refused("no signature of it fits");
    }
    let mut case = good();
    case.set("webhook-id", &ID.replace("msg", "msh"));
    case.refused("no signature of it fits");
    let mut case = good();
    case.set("webhook-timestamp", &(NOW_S + 1).to_string());
    case.refused("no signature of it fits");
    // The same time, written otherwise: signed is what was sent.
    let mut case = good();
    case.set("webhook-timestamp", &format!("0{NOW_S}"));
    case.refused("no signature of it fits");
}

#[test]
fn a_signature_counts_within_the_tolerance_either_way_and_not_a_second_beyond() {
    for (off_s, says) in [
        (0, ""),
        (-300, ""),
        (-301, "signed 301 s ago"),
        (300, ""),
        (301, "signed 301 s in the future"),
    ] {
        let case = Case::signed_at(NOW_S + off_s, BODY);
        match case.check() {
            Ok(_) => assert_eq!(says, "", "{off_s}"),
            Err(why) => assert!(!says.is_empty() && why.contains(says), "{off_s}: {why}"),
        }
    }
    for timestamp in [
        "",
        "now",
        "-1800000000",
        "+1800000000",
        "1800000000.0",
        "1e9",
        "1800000000000",
    ] {
        let mut case = Case::signed_at(NOW_S, BODY);
        case.set("webhook-timestamp", timestamp);
        case.refused("not a Unix time in seconds");
    }
}

#[test]
fn every_header_is_there_exactly_once() {
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let mut case = Case::signed_at(NOW_S, BODY);
        let value = case.headers[name].clone();
        case.headers.append(name, value);
        case.refused(&format!("more than one {name}"));
        case.headers.remove(name);
        case.refused(&format!("no {name}"));
        case.headers.insert(name, HeaderValue::from_bytes(b"\xff").unwrap());
        case.refused(&format!("its {name} is not readable"));
    }
}

/// `msg.1800000000.name=x.1800000000.paid=1` is one text: with a full stop in the id it would be two deliveries.
#[test]
fn an_id_cannot_take_in_what_follows_it() {
    let mut case = Case::signed_at(NOW_S, format!("name=x.{NOW_S}.paid=1").as_bytes());
    assert!(case.check().is_ok());
    case.set("webhook-id", &format!("{ID}.{NOW_S}.name=x"));
    case.raw = b"paid=1".to_vec();
    case.refused("a full stop in it");
    for id in ["", " "] {
        case.set("webhook-id", id);
        case.refused("empty");
    }
}

#[test]
fn of_several_signatures_one_must_fit() {
    let mut case = Case::signed_at(NOW_S, BODY);
    let good = case.signature();
    let other = format!("v1,{}", STANDARD.encode([0; 32]));
    for signatures in [
        format!("{good} {other}"),
        format!("{other} {good}"),
        format!("v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNV {good}"),
        format!("nonsense  {good} "),
    ] {
        case.set("webhook-signature", &signatures);
        assert!(case.check().is_ok(), "{signatures}");
    }
    let bare = good.strip_prefix("v1,").unwrap();
    for signatures in [
        other.clone(),
        format!("{other} {other}"),
        bare.to_owned(),
        format!("v1a,{bare}"),
        format!("v2,{bare}"),
        format!("V1,{bare}"),
        "v1,".to_owned(),
        format!("v1,{}", &bare[..8]),
        format!("v1,{}", bare.trim_end_matches('=')),
        format!("v1,{bare}AAAA"),
        format!("{other},{bare}"),
    ] {
        case.set("webhook-signature", &signatures);
        case.refused("no signature of it fits");
    }
}

#[test]
fn while_two_secrets_are_rotated_either_counts() {
    let mut case = Case::signed_at(NOW_S, BODY);
    let (own, other) = (secret(32, 7), secret(32, 8));
    for secrets in [[&own, &other], [&other, &own]] {
        case.secrets = vec![("NEW", secrets[0].clone()), ("OLD", secrets[1].clone())];
        assert!(case.check().is_ok());
    }
    // One of them is not there yet, or not any more.
    for secrets in [[own.as_str(), ""], ["", own.as_str()], [own.as_str(), "not-one"]] {
        case.secrets = vec![("NEW", secrets[0].to_owned()), ("OLD", secrets[1].to_owned())];
        assert!(case.check().is_ok());
    }
    // What the other one does not prove might be proved by the missing one: the sender must come again.
    case.secrets = vec![("NEW", other.clone()), ("OLD", String::new())];
    case.refused("the variable ONCEGATE_SECRET_OLD is not set");
    case.secrets = vec![("NEW", other.clone()), ("OLD", other)];
    case.refused("no signature of it fits");
    // But what no secret could prove is refused as such.
    case.secrets = vec![("OLD", String::new())];
    case.headers.remove("webhook-id");
    case.refused("no webhook-id");
}

#[test]
fn a_secret_is_written_as_the_scheme_writes_it() {
    let says = |secret: &str| Key::of(secret).err().map(|why| why.to_string()).unwrap_or_default();
    for (bytes, good) in [(23, false), (24, true), (64, true), (65, false)] {
        let said = says(&secret(bytes, 1));
        assert_eq!(said.is_empty(), good, "{bytes}: {said}");
        assert!(good || said.contains(&format!("{bytes} bytes")), "{said}");
    }
    let without_padding = format!("whsec_{}", STANDARD_NO_PAD.encode([1; 32]));
    assert_eq!(says(&without_padding), "");
    let encoded = STANDARD.encode([1; 32]);
    for wrong in [
        encoded.clone(),
        format!("whsk_{encoded}"),
        format!("whsec_{encoded}!"),
        "whsec_".to_owned() + "-_" + &encoded,
    ] {
        let said = says(&wrong);
        assert!(
            said.contains("must be whsec_ and base64") && !said.contains(&encoded),
            "{said}"
        );
    }
}

#[test]
fn a_caller_is_never_told_what_was_wrong() {
    let mut told = Vec::new();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("NEW"), secret(32, 7)).unwrap();
    let mut cases: Vec<Case> = (0..4).map(|_| Case::signed_at(NOW_S, BODY)).collect();
    cases[0].raw[0] ^= 1;
    cases[1].headers.remove("webhook-id");
    cases[2].set("webhook-timestamp", "1");
    cases[3].set("webhook-signature", "v1,");
    for case in &cases {
        let verify = Verify::StandardWebhooks {
            secrets: vec!["NEW".to_owned()],
            tolerance_s: TOLERANCE_S,
        };
        let evidence = Evidence {
            headers: &case.headers,
            raw: &case.raw,
            now_ms: NOW_S * 1_000,
        };
        let secrets = Secrets::new(dir.path().to_owned());
        let checked = wait_for(check(&verify, evidence, &secrets));
        told.push(checked.unwrap_err().to_string());
    }
    assert!(told.iter().all(|text| text == &told[0]), "{told:#?}");
    assert!(told[0].contains("webhook-signature"), "{}", told[0]);
}

#[test]
fn what_cannot_be_checked_is_known_before_the_first_delivery() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("NEW"), "not-a-secret-of-the-scheme").unwrap();
    let names = ["NEW", "OLD"].map(str::to_owned);
    let verify = Verify::StandardWebhooks {
        secrets: names.to_vec(),
        tolerance_s: TOLERANCE_S,
    };
    let secrets = Secrets::new(dir.path().to_owned());
    let said: Vec<String> = wait_for(secret_errors(&verify, &secrets))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains("\"NEW\"") && said[1].contains("ONCEGATE_SECRET_OLD"),
        "{said:?}"
    );
    assert!(wait_for(secret_errors(&Verify::None, &secrets)).is_empty());
    let bearer = Verify::Bearer { secret: "NEW".into() };
    assert!(wait_for(secret_errors(&bearer, &secrets)).is_empty());
    std::fs::write(dir.path().join("NEW"), "first-line\nsecond-line").unwrap();
    let said = wait_for(secret_errors(&bearer, &secrets));
    assert!(said.len() == 1 && said[0].to_string().contains("no header"), "{said:?}");
}

#[test]
fn a_token_that_comes_twice_is_none() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("SHOP"), "the-token-of-the-shop").unwrap();
    let secrets = Secrets::new(dir.path().to_owned());
    let verify = Verify::Bearer { secret: "SHOP".into() };
    let mut headers = HeaderMap::new();
    let mut known = Vec::new();
    for _ in 0..2 {
        headers.append(
            "authorization",
            HeaderValue::from_static("Bearer the-token-of-the-shop"),
        );
        known.push(wait_for(by_head(&verify, &headers, 0, &secrets)).is_ok());
    }
    assert_eq!(known, [true, false]);
}

/// All of this is known before a byte of the body has come.
#[test]
fn the_head_alone_refuses_what_no_body_could_make_good() {
    let secrets = Secrets::new("/nowhere".into());
    let verify = Verify::StandardWebhooks {
        secrets: vec!["NEW".to_owned()],
        tolerance_s: TOLERANCE_S,
    };
    let head = |case: &Case| wait_for(by_head(&verify, &case.headers, NOW_S * 1_000, &secrets));
    assert!(matches!(head(&Case::signed_at(NOW_S, BODY)), Ok(None)));
    assert!(head(&Case::signed_at(NOW_S - 301, BODY)).is_err());
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let mut case = Case::signed_at(NOW_S, BODY);
        case.headers.remove(name);
        assert!(head(&case).is_err(), "{name}");
    }
}
