//! The raw body of a delivery, read within bounds. What is kept is what was sent; how it is unpacked is in `flow`.

use super::arriving::{Held, NoRoom, Stranger};
use crate::flow::{BodyError, BodyLimits, ContentEncoding, RawBody};
use crate::problem::Problem;
use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use std::time::Duration;

/// A body that is whole within this time, in milliseconds, was quick: its sender needs no slow place.
const QUICK_MS: u64 = 500;
/// A body of which nothing comes for so long, in milliseconds, has stopped coming.
const STALL_MS: u64 = 3_000;

/// Bounds of one body.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes as sent, and bytes after inflating.
    pub bytes_max: usize,
    /// Until all of it must be there.
    pub ms_max: u64,
}

/// What the head says of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// What kind it is of, without parameters.
    pub media_type: String,
    /// How it comes packed.
    pub encoding: ContentEncoding,
}

/// Refuses by the head alone what cannot be taken in.
pub fn announced(headers: &HeaderMap, incoming: &Body, bounds: Bounds) -> Result<Announced, Problem> {
    let announced = Announced {
        media_type: media_type(headers)?,
        encoding: encoding(headers)?,
    };
    match usize::try_from(incoming.size_hint().lower()) {
        Ok(bytes) if bytes <= bounds.bytes_max => Ok(announced),
        Ok(_) | Err(_) => Err(too_large(bounds.bytes_max)),
    }
}

/// Of several types nobody could say which one counts.
fn media_type(headers: &HeaderMap) -> Result<String, Problem> {
    let mut given = headers.get_all(header::CONTENT_TYPE).iter();
    let (first, second) = (given.next(), given.next());
    let text = first.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let json = media == "application/json" || media.ends_with("+json");
    if second.is_none() && (json || media == "application/x-www-form-urlencoded") {
        return Ok(media);
    }
    let detail = "send one `Content-Type: application/json` (or application/x-www-form-urlencoded)";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// Several lines are one list (RFC 9110 section 5.3), and a body that was packed more than once is not taken.
fn encoding(headers: &HeaderMap) -> Result<ContentEncoding, Problem> {
    let given = headers.get_all(header::CONTENT_ENCODING).iter();
    let given: Result<Vec<&str>, _> = given.map(|value| value.to_str()).collect();
    let coding = given
        .ok()
        .and_then(|lines| ContentEncoding::of_header(&lines.join(",")));
    coding.ok_or_else(|| {
        let detail = "this Content-Encoding is not taken; send the body plain or as gzip";
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
    })
}

/// Reads the raw body: what signatures are checked against, and what is kept. `stranger`: nothing has proven its sender.
pub async fn read(
    mut incoming: Body,
    bounds: Bounds,
    held: &mut Held,
    stranger: Option<&Stranger>,
) -> Result<Vec<u8>, Problem> {
    let announced = usize::try_from(incoming.size_hint().lower()).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let in_all = tokio::time::sleep(Duration::from_millis(bounds.ms_max));
    let at_first = tokio::time::sleep(Duration::from_millis(QUICK_MS));
    tokio::pin!(in_all, at_first);
    let mut is_quick = true;
    loop {
        let frame = tokio::time::timeout(Duration::from_millis(STALL_MS), incoming.frame());
        tokio::pin!(frame);
        let frame = loop {
            tokio::select! {
                // What is there already is taken whatever the time, so that a busy host makes nobody slow.
                biased;
                frame = &mut frame => break frame,
                () = &mut in_all => return Err(too_slow()),
                () = &mut at_first, if is_quick => {
                    is_quick = false;
                    if let Some(stranger) = stranger {
                        held.slow_down(stranger).map_err(|NoRoom| busy())?;
                    }
                }
            }
        };
        match frame {
            Err(_) => return Err(too_slow()),
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                let detail = "the body ended before it was whole; send it again";
                return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
            }
            Ok(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    append(&mut bytes, data, announced, bounds, held)?;
                }
            }
        }
    }
    held.whole();
    Ok(bytes)
}

/// Room is taken before there is memory for it, and never more than the head announced: a stranger who announces much and
/// sends nothing has nothing.
fn append(bytes: &mut Vec<u8>, data: &[u8], announced: usize, bounds: Bounds, held: &mut Held) -> Result<(), Problem> {
    let needed = bytes.len() + data.len();
    if needed > bounds.bytes_max {
        return Err(too_large(bounds.bytes_max));
    }
    if needed > bytes.capacity() {
        let doubled = (bytes.capacity() * 2).min(announced.max(needed));
        let capacity = needed.max(doubled);
        held.grow(capacity - bytes.capacity()).map_err(|NoRoom| busy())?;
        bytes.reserve_exact(capacity - bytes.len());
    }
    bytes.extend_from_slice(data);
    Ok(())
}

fn too_slow() -> Problem {
    let detail = "the body did not arrive in time; send it again";
    Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
}

/// There is no room for it now.
pub fn busy() -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy; send it again").retry_after(1)
}

/// The body as flows see it. Unpacked it may have as many bytes as it may as sent.
pub fn parse(raw: &RawBody, bounds: Bounds) -> Result<Value, Problem> {
    let limits = BodyLimits::default();
    let limits = BodyLimits {
        bytes_max: bounds.bytes_max.min(limits.bytes_max),
        ..limits
    };
    raw.parse(&limits).map_err(|error| match &error {
        BodyError::TooLarge { bytes_max } => too_large(*bytes_max),
        BodyError::NotPacked => Problem::new(StatusCode::BAD_REQUEST, format!("{error}; send it again")),
        BodyError::Content(_) => Problem::new(StatusCode::BAD_REQUEST, error.to_string()),
    })
}

fn too_large(bytes_max: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the body is larger than {bytes_max} bytes"),
    )
}

#[cfg(test)]
mod tests;
