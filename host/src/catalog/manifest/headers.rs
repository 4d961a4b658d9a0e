//! Header names that a request list may hold.

use crate::egress::is_forbidden_header;

/// A token of RFC 9110, section 5.6.2, of bounded length.
pub(crate) fn is_header_name(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Why a connector may never set this header, whatever a manifest or a connection lists; `None`: it may be listed.
pub(crate) fn forbidden_header(name: &str) -> Option<&'static str> {
    // Some servers read `_` as `-`.
    let name = name.to_ascii_lowercase().replace('_', "-");
    match name.as_str() {
        "authorization" | "proxy-authorization" | "cookie" | "cookie2" => Some("credentials are put in by the host"),
        "forwarded" | "via" | "x-real-ip" | "true-client-ip" | "x-client-ip" | "x-original-host" | "x-host" => {
            Some("it would speak for another sender or place")
        }
        "x-http-method-override" | "x-method-override" | "x-http-method" | "x-http-method-overide" => {
            Some("it would make another method of the listed one")
        }
        other if other.starts_with("x-forwarded") => Some("it would speak for another sender or place"),
        "content-encoding" => Some("it belongs to the transport, which is the host's"),
        other if is_forbidden_header(other) => Some("it belongs to the transport, which is the host's"),
        _ => None,
    }
}
