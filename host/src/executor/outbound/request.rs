//! A request as it is recorded and as it goes over the wire. Pure.

use crate::egress::Outgoing;
use crate::ledger::StoredRequest;
use crate::runtime::Request;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub(super) fn stored(out: &Outgoing) -> StoredRequest {
    StoredRequest {
        method: out.method.clone(),
        path_and_query: out.path_and_query.clone(),
        headers: out.headers.clone(),
        body: out.body.clone(),
    }
}

/// Whether a request holds the key anywhere: path, query, headers or body.
pub(in crate::executor) fn carries(request: &StoredRequest, key: &str) -> bool {
    let holds = |text: &str| text.contains(key);
    holds(&request.path_and_query)
        || request.headers.iter().any(|(_, value)| holds(value))
        || request
            .body
            .windows(key.len().max(1))
            .any(|part| part == key.as_bytes())
}

/// The query's characters that need no encoding.
const QUERY_KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn path_and_query(request: &Request) -> String {
    let encode = |text: &str| utf8_percent_encode(text, QUERY_KEPT).to_string();
    let query: Vec<String> = request
        .query
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect();
    if query.is_empty() {
        request.path.clone()
    } else {
        format!("{}?{}", request.path, query.join("&"))
    }
}
