//! The raw body of a delivery, read within bounds. What is kept is what was sent; how it is unpacked is in `flow`.

use crate::flow::{BodyError, BodyLimits, ContentEncoding, RawBody};
use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;
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

/// How the body came packed.
pub fn encoding(headers: &HeaderMap) -> Result<ContentEncoding, Problem> {
    let given = headers
        .get(header::CONTENT_ENCODING)
        .map_or(Ok(""), |value| value.to_str());
    given.ok().and_then(ContentEncoding::of_header).ok_or_else(|| {
        let detail = "this Content-Encoding is not taken; send the body plain or as gzip";
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
    })
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
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const BOUNDS: Bounds = Bounds {
        bytes_max: 100,
        ms_max: 50,
    };

    fn check(encoding: &str, bytes: &[u8]) -> Result<Value, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_str(encoding).unwrap());
        let parsed = super::encoding(&headers).and_then(|encoding| {
            let raw = RawBody {
                bytes: bytes.to_vec(),
                encoding,
                content_type: "application/json".to_owned(),
            };
            parse(&raw, BOUNDS)
        });
        parsed.map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn a_body_that_cannot_be_read_is_refused_with_the_status_that_says_why() {
        let of_length = |length: usize| format!("\"{}\"", "x".repeat(length - 2)).into_bytes();
        assert_eq!(check("identity", &of_length(100)), Ok("x".repeat(98).into()));
        assert_eq!(check("identity", &of_length(101)), Err(413));
        assert_eq!(check("gzip", b"not gzip"), Err(400));
        assert_eq!(check("", b"{"), Err(400));
        assert_eq!(check("br", b"{}"), Err(415));
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
