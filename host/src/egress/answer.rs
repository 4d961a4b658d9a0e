//! From an answer as it came to one that a guest, a log or the ledger may see: decoded within the limit, secrets masked,
//! `Set-Cookie` dropped.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;

use super::Answer;
use super::exchange::{Fault, Raw};
use super::mask::Mask;

/// The answer to show.
pub(super) fn presentable(raw: Raw, body_bytes_max: usize, mask: &Mask) -> Result<Answer, Fault> {
    let coding = content_coding(&raw.headers);
    let (body, decoded) = match coding.as_deref() {
        None => (raw.body, false),
        Some(_) if raw.body.is_empty() => (raw.body, true),
        Some(coding) => (expand(coding, &raw.body, body_bytes_max)?, true),
    };
    let body_bytes = body.len();
    let body = mask.bytes(body);
    let changed = decoded || body.len() != body_bytes;
    let headers = raw
        .headers
        .iter()
        .filter(|(name, _)| shown(name.as_str(), changed) && !mask.finds(name.as_str()))
        .map(|(name, value)| {
            (
                name.as_str().to_owned(),
                mask.text(String::from_utf8_lossy(value.as_bytes()).into_owned()),
            )
        })
        .collect();
    Ok(Answer {
        status: raw.status.as_u16(),
        headers,
        body,
    })
}

/// Sessions are not the connector's affair; length and coding no longer speak of the body that is shown.
fn shown(name: &str, body_changed: bool) -> bool {
    match name {
        "set-cookie" | "set-cookie2" => false,
        "content-length" | "content-encoding" => !body_changed,
        _ => true,
    }
}

/// The codings of the body, `None` for identity. We ask for identity; some servers do not care.
fn content_coding(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(http::header::CONTENT_ENCODING).iter();
    let codings: Vec<String> = all
        .flat_map(|value| {
            String::from_utf8_lossy(value.as_bytes())
                .to_ascii_lowercase()
                .split(',')
                .map(|part| part.trim().to_owned())
                .collect::<Vec<_>>()
        })
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect();
    if codings.is_empty() {
        None
    } else {
        Some(codings.join(", "))
    }
}

/// The limit is on the expanded size: a few kilobytes can stand for gigabytes.
fn expand(coding: &str, body: &[u8], bytes_max: usize) -> Result<Vec<u8>, Fault> {
    let reader: Box<dyn Read> = match coding {
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(body)),
        // The name means zlib; some servers send the bare stream.
        "deflate" if is_zlib(body) => Box::new(ZlibDecoder::new(body)),
        "deflate" => Box::new(DeflateDecoder::new(body)),
        other => return Err(Fault::Encoding(format!("`{other}` was not asked for and is not known"))),
    };
    let mut expanded = Vec::new();
    let read = reader.take(bytes_max as u64 + 1).read_to_end(&mut expanded);
    read.map_err(|error| Fault::Encoding(format!("{coding}: {error}")))?;
    if expanded.len() > bytes_max {
        Err(Fault::BodyTooLarge(bytes_max))
    } else {
        Ok(expanded)
    }
}

/// RFC 1950: method 8, and the first two bytes are a multiple of 31.
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [first, second, ..] if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0)
}
