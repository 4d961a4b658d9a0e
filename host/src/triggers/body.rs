//! The raw body of a delivery, read within bounds and inflated where it came packed.

use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::io::Read;
use std::time::Duration;

/// Bounds of one body.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes as sent, and bytes after inflating.
    pub bytes_max: usize,
    /// Until all of it must be there.
    pub ms_max: u64,
}

/// What kind of body a hook takes.
pub fn media_type(headers: &HeaderMap) -> Result<String, Problem> {
    let given = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let json = media == "application/json" || media.ends_with("+json");
    if json || media == "application/x-www-form-urlencoded" {
        return Ok(media);
    }
    let detail = "send `Content-Type: application/json` (or application/x-www-form-urlencoded)";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// Reads the raw body: what signatures are checked against, and what is kept.
pub async fn read(body: Body, bounds: Bounds) -> Result<Vec<u8>, Problem> {
    let reading = Limited::new(body, bounds.bytes_max).collect();
    match tokio::time::timeout(Duration::from_millis(bounds.ms_max), reading).await {
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive in time; send it again",
        )),
        Ok(Ok(collected)) => Ok(collected.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(bounds.bytes_max)),
        Ok(Err(_)) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "the body ended before it was whole; send it again",
        )),
    }
}

/// The body as it is parsed: inflated, if it came packed.
pub fn inflate(headers: &HeaderMap, raw: &[u8], bounds: Bounds) -> Result<Vec<u8>, Problem> {
    let encoding = headers
        .get(header::CONTENT_ENCODING)
        .map(|value| value.as_bytes())
        .unwrap_or_default();
    if encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity") {
        return Ok(raw.to_vec());
    }
    if !encoding.eq_ignore_ascii_case(b"gzip") {
        let detail = "this Content-Encoding is not taken; send the body plain or as gzip";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let mut plain = Vec::new();
    // One byte more than allowed tells "too large" from "just fits" without inflating a bomb.
    let mut bounded = MultiGzDecoder::new(raw).take(bounds.bytes_max as u64 + 1);
    if bounded.read_to_end(&mut plain).is_err() {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "the body says gzip and is not; send it again",
        ));
    }
    if plain.len() > bounds.bytes_max {
        Err(too_large(bounds.bytes_max))
    } else {
        Ok(plain)
    }
}

fn too_large(bytes_max: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the body is larger than {bytes_max} bytes"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    const BOUNDS: Bounds = Bounds {
        bytes_max: 100,
        ms_max: 50,
    };

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn check(bytes: &[u8]) -> Result<Vec<u8>, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_ENCODING, "gzip".parse().unwrap());
        inflate(&headers, bytes, BOUNDS).map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn a_packed_body_is_bounded_by_what_it_expands_to() {
        assert_eq!(check(&gzip(&[b'x'; 100])), Ok(vec![b'x'; 100]));
        assert_eq!(check(&gzip(&[b'x'; 101])), Err(413));
        assert_eq!(check(&gzip(&vec![b'x'; 1 << 24])), Err(413));
        assert_eq!(check(b"not gzip"), Err(400));
    }

    #[tokio::test]
    async fn a_body_is_bounded_in_bytes_and_in_time() {
        assert_eq!(read(Body::from(vec![0; 100]), BOUNDS).await.unwrap().len(), 100);
        assert_eq!(
            read(Body::from(vec![0; 101]), BOUNDS)
                .await
                .unwrap_err()
                .status
                .as_u16(),
            413
        );
        let never = Body::from_stream(futures::stream::pending::<Result<bytes::Bytes, std::io::Error>>());
        assert_eq!(read(never, BOUNDS).await.unwrap_err().status.as_u16(), 408);
    }
}
