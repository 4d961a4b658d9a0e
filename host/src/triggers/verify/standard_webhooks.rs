//! Standard Webhooks 1.0.0, symmetric signatures. The rules are those of its specification,
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>, "Signature scheme" and
//! "Webhook headers"; where that leaves room, the stricter reading is taken.

use super::Evidence;
use axum::http::HeaderMap;
use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

const SECRET_PREFIX: &str = "whsec_";
const KEY_BYTES_MIN: usize = 24;
const KEY_BYTES_MAX: usize = 64;
/// An HMAC-SHA256; `v1a` (ed25519) and whatever comes later is somebody else's.
const SIGNATURE_PREFIX: &str = "v1,";
/// Seconds of more digits than this are no time of ours.
const TIMESTAMP_DIGITS_MAX: usize = 12;

/// Secrets are copied by people, who may lose the `=` at the end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A secret, ready to check with.
pub struct Key(Hmac<Sha256>);

/// Why a secret is none of this scheme. Holds nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    /// Not written as the scheme says.
    #[error(
        "is not written as Standard Webhooks writes secrets; it must be {SECRET_PREFIX} and base64, as the sender shows it"
    )]
    Form,
    /// Too short to be safe, or absurdly long.
    #[error(
        "has {0} bytes behind its base64, and Standard Webhooks has {KEY_BYTES_MIN} to {KEY_BYTES_MAX}; get a new one from the sender"
    )]
    Length(usize),
}

impl Key {
    /// Reads `whsec_…`.
    pub fn of(secret: &str) -> Result<Key, BadSecret> {
        let encoded = secret.strip_prefix(SECRET_PREFIX).ok_or(BadSecret::Form)?;
        let mut bytes = LENIENT.decode(encoded).map_err(|_| BadSecret::Form)?;
        if !(KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&bytes.len()) {
            return Err(BadSecret::Length(bytes.len()));
        }
        let key = Hmac::new_from_slice(&bytes).expect("HMAC takes a key of any length");
        bytes.fill(0);
        Ok(Key(key))
    }
}

/// Why a signature is not accepted. For our own log, never for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A header is not there.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// A header is there more than once: which one counts, nobody can say.
    #[error("it has more than one {0}")]
    Several(&'static str),
    /// A header that is no text.
    #[error("its {0} is not readable")]
    Unreadable(&'static str),
    /// See [`event_id`].
    #[error("its webhook-id is empty or has a full stop in it")]
    Id,
    /// Not a time.
    #[error("its webhook-timestamp is not a Unix time in seconds")]
    Timestamp,
    /// Signed too long ago.
    #[error("it was signed {0} s ago, longer than the hook's tolerance; the sender's clock or ours may be wrong")]
    Old(u64),
    /// Signed in the future.
    #[error(
        "it was signed {0} s in the future, more than the hook's tolerance; the sender's clock or ours may be wrong"
    )]
    Ahead(u64),
    /// No signature of it is by a secret of ours.
    #[error("no signature of it fits: another secret, or other bytes than the sender signed")]
    NoMatch,
}

/// What the headers of the scheme say.
pub struct Head<'h> {
    id: &'h str,
    timestamp: &'h str,
    signatures: &'h str,
}

/// Reads the head of a delivery: all is there, once, and the time is a moment ago. Proves nothing yet.
pub fn head(headers: &HeaderMap, now_ms: i64, tolerance_s: u64) -> Result<Head<'_>, Fault> {
    let head = Head {
        id: event_id(one(headers, "webhook-id")?)?,
        timestamp: one(headers, "webhook-timestamp")?,
        signatures: one(headers, "webhook-signature")?,
    };
    check_time(head.timestamp, now_ms.div_euclid(1_000), tolerance_s)?;
    Ok(head)
}

/// Checks that a delivery was signed by the holder of one of the keys, lately; the digest of what was signed.
pub fn check(evidence: Evidence<'_>, keys: &[Key], tolerance_s: u64) -> Result<[u8; 32], Fault> {
    let Head {
        id,
        timestamp,
        signatures,
    } = head(evidence.headers, evidence.now_ms, tolerance_s)?;
    let signed: [&[u8]; 5] = [id.as_bytes(), b".", timestamp.as_bytes(), b".", evidence.raw];
    let macs: Vec<Hmac<Sha256>> = keys
        .iter()
        .map(|key| signed.iter().fold(key.0.clone(), |mac, part| mac.chain_update(part)))
        .collect();
    let given = signatures
        .split(' ')
        .filter_map(|part| part.strip_prefix(SIGNATURE_PREFIX));
    let mut given = given.filter_map(|encoded| STANDARD.decode(encoded).ok());
    // `verify_slice` compares in constant time, and takes a whole signature only.
    if given.any(|signature| macs.iter().any(|mac| mac.clone().verify_slice(&signature).is_ok())) {
        let digest = signed
            .iter()
            .fold(Sha256::new(), |digest, part| digest.chain_update(part));
        Ok(digest.finalize().into())
    } else {
        Err(Fault::NoMatch)
    }
}

/// A header that is there exactly once. Were a second one let through, the signature could cover one and the event key
/// be made of the other, and the same delivery would run again under any id.
fn one<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<&'h str, Fault> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or(Fault::Missing(name))?;
    if values.next().is_some() {
        return Err(Fault::Several(name));
    }
    value.to_str().map_err(|_| Fault::Unreadable(name))
}

/// The parts of what is signed are joined with full stops. An id with one in it could take in the time and the beginning
/// of the body, so that what somebody wrote into a body becomes a delivery of its own; the specification warns of it.
fn event_id(id: &str) -> Result<&str, Fault> {
    if id.trim().is_empty() || id.contains('.') {
        Err(Fault::Id)
    } else {
        Ok(id)
    }
}

fn check_time(timestamp: &str, now_s: i64, tolerance_s: u64) -> Result<(), Fault> {
    if timestamp.len() > TIMESTAMP_DIGITS_MAX || !timestamp.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Fault::Timestamp);
    }
    let at_s: i64 = timestamp.parse().map_err(|_| Fault::Timestamp)?;
    let off_s = now_s.abs_diff(at_s);
    match (off_s > tolerance_s, at_s < now_s) {
        (false, _) => Ok(()),
        (true, true) => Err(Fault::Old(off_s)),
        (true, false) => Err(Fault::Ahead(off_s)),
    }
}
