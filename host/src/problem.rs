//! How errors look on the wire: `application/problem+json` (RFC 9457). What went wrong, and how to mend it.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// What went wrong, and how to mend it.
    pub detail: String,
    /// When to try again, in seconds.
    pub retry_after_s: Option<u64>,
}

#[derive(Serialize)]
struct Body<'a> {
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl Problem {
    /// An error with its explanation.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            retry_after_s: None,
        }
    }

    /// With the time after which to try again.
    pub fn retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after_s: Some(seconds),
            ..self
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let body = Body {
            title,
            status: self.status.as_u16(),
            detail: &self.detail,
        };
        let mut response = (self.status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
