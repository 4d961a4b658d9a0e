//! Hides a connection's secrets in what comes back, before a guest, a log or the ledger sees it. A destination that echoes
//! the request, on purpose or in an error page, must not become the way by which a connector learns the token.
//!
//! Must not know where secrets come from.

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use oncegate_domain::limits::SECRET_BYTES_MIN;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode, percent_encode_byte};

/// What stands where a secret stood. Fits in JSON strings, headers and URLs alike.
pub const MASKED: &str = "[masked]";

/// Finds a connection's secrets in any of the forms in which they come back: plain, percent-encoded, escaped as in JSON,
/// base64 (both alphabets) at each of its three alignments; upper and lower case alike.
#[derive(Clone)]
pub struct Mask(Option<AhoCorasick>);

/// A secret that cannot be masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a secret of {0} bytes is refused: under {SECRET_BYTES_MIN} bytes it could not be masked in answers and could be guessed; use a longer one"
)]
pub struct SecretTooShort(usize);

impl Mask {
    /// Hides nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// A mask for these secrets. Made once per connection: building it costs more than using it.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Result<Self, SecretTooShort> {
        let mut forms = Vec::new();
        for secret in secrets {
            if secret.len() < SECRET_BYTES_MIN {
                return Err(SecretTooShort(secret.len()));
            }
            forms.extend(forms_of(secret.as_bytes()));
        }
        if forms.is_empty() {
            return Ok(Self::none());
        }
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(true)
            .build(&forms)
            .expect("a handful of short patterns fits into an automaton");
        Ok(Self(Some(finder)))
    }

    /// `bytes` with every secret replaced.
    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let Some(finder) = self.0.as_ref().filter(|finder| finder.is_match(&bytes)) else {
            return bytes;
        };
        let mut masked = Vec::with_capacity(bytes.len());
        finder.replace_all_with_bytes(&bytes, &mut masked, |_, _, out| {
            out.extend_from_slice(MASKED.as_bytes());
            true
        });
        masked
    }

    /// `text` with every secret replaced.
    pub fn text(&self, text: String) -> String {
        match &self.0 {
            Some(finder) if finder.is_match(&text) => finder.replace_all(&text, &vec![MASKED; finder.patterns_len()]),
            _ => text,
        }
    }

    /// Whether a secret stands in `text`.
    pub fn finds(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|finder| finder.is_match(text))
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask(…)")
    }
}

/// All forms of one secret. Case is left to the search, so that `%2F` finds `%2f` as well.
fn forms_of(secret: &[u8]) -> Vec<Vec<u8>> {
    // encodeURIComponent, form encoding, RFC 3986 and what leaves slashes alone differ in what they keep.
    const RFC3986: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    const COMPONENT: &AsciiSet = &RFC3986
        .remove(b'!')
        .remove(b'*')
        .remove(b'\'')
        .remove(b'(')
        .remove(b')');
    const PATH: &AsciiSet = &RFC3986.remove(b'/');
    const FORM: &AsciiSet = &RFC3986.remove(b'~').remove(b'*').add(b'~');
    let mut forms = vec![secret.to_vec()];
    for kept in [NON_ALPHANUMERIC, RFC3986, COMPONENT, PATH, FORM] {
        let encoded = percent_encode(secret, kept).to_string();
        forms.push(encoded.replace("%20", "+").into_bytes());
        forms.push(encoded.into_bytes());
    }
    // Some encoders spare no byte at all.
    let spelled_out: String = secret.iter().map(|&byte| percent_encode_byte(byte)).collect();
    forms.push(spelled_out.into_bytes());
    forms.extend(json_forms(secret));
    for alignment in 0..3 {
        forms.push(aligned(&STANDARD_NO_PAD, secret, alignment));
        forms.push(aligned(&URL_SAFE_NO_PAD, secret, alignment));
    }
    forms.sort();
    forms.dedup();
    forms
}

/// As a JSON string holds it, with and without the escaped slashes that some encoders write.
fn json_forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(secret) else {
        return Vec::new();
    };
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted
        .trim_start_matches('"')
        .strip_suffix('"')
        .unwrap_or(&quoted)
        .to_owned();
    vec![inner.replace('/', "\\/").into_bytes(), inner.into_bytes()]
}

/// The characters that base64 yields for `secret` when `alignment` (0 to 2) bytes of something else stand before it in
/// their group of three: only those that depend on the secret alone.
fn aligned(engine: &impl Engine, secret: &[u8], alignment: usize) -> Vec<u8> {
    let padded = [&[0; 2][..alignment], secret].concat();
    let first = (alignment * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    engine.encode(padded).as_bytes()[first..end].to_vec()
}

#[cfg(test)]
mod tests;
