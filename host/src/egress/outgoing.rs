//! The one request of an exchange: what of it is recorded, what may stand in it, and what is added in the last moment.
//!
//! `Outgoing` is what an intent stores and what a resend must equal. Credentials, `Host` and the framing are added on the
//! way out and are never part of it. The catalog checks requests against what was approved; the checks here are the same
//! for everybody and are made again whatever was checked before, because nothing after this place can.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http_body_util::Full;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::place::Origin;

/// A request as it is recorded: with the idempotency key, without credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE` or `OPTIONS`.
    pub method: String,
    /// The origin in its normal form (`Origin`'s `Display`).
    pub origin: String,
    /// Path and query, percent-encoded, beginning with `/`.
    pub path_and_query: String,
    /// Headers in the order in which they are sent.
    pub headers: Vec<(String, String)>,
    /// The body; empty where there is none.
    #[serde(with = "body_text")]
    pub body: Vec<u8>,
}

/// How the host signs a request. Shows nothing of a secret when printed.
#[derive(Clone, Copy)]
pub enum Credential<'a> {
    /// Not at all.
    None,
    /// `Authorization: Bearer …`
    Bearer(&'a str),
    /// `Authorization: Basic …`
    Basic {
        /// The user name; may not hold a colon.
        user: &'a str,
        /// The password.
        password: &'a str,
    },
    /// A header of the destination's own.
    Header {
        /// The header's name.
        name: &'a str,
        /// Its value.
        secret: &'a str,
    },
    /// A parameter added to the query.
    Query {
        /// The parameter's name.
        name: &'a str,
        /// Its value, unencoded.
        secret: &'a str,
    },
}

impl Credential<'_> {
    /// Whether this can be sent where it belongs, whatever the request.
    ///
    /// # Errors
    /// [`BadRequest::Credential`]: it holds what cannot stand there.
    pub fn check(self) -> Result<(), BadRequest> {
        sign(&mut HeaderMap::new(), self)
    }
}

impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Bearer(_) => "Bearer(…)",
            Self::Basic { .. } => "Basic(…)",
            Self::Header { .. } => "Header(…)",
            Self::Query { .. } => "Query(…)",
        })
    }
}

/// A request that cannot be sent as it is. Nothing left.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// A method that is not one of the seven.
    #[error("the method `{}` is not sent; use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS", .0.escape_debug())]
    Method(String),
    /// A path or query that a server may read differently than we do.
    #[error("the path `{}` is not sent: it holds {why}", .path.escape_debug())]
    Path {
        /// Path and query as given.
        path: String,
        /// What it must not hold.
        why: &'static str,
    },
    /// A header that only the host sets, or nobody.
    #[error("the header `{}` is not sent: only the host may set it", .0.escape_debug())]
    Forbidden(String),
    /// A header whose name or value would break the request apart.
    #[error("the header `{}` is not sent: its name or value holds what a header must not hold", .0.escape_debug())]
    Header(String),
    /// A credential that does not fit where it belongs.
    #[error("the credentials cannot be sent as {0}: they hold characters that do not fit there; check the secret")]
    Credential(&'static str),
    /// The request names another origin than the place that it is sent to.
    #[error("the request is for {asked}, but the connection goes to {place}; nothing was sent")]
    Origin {
        /// The origin in the request.
        asked: String,
        /// The origin of the channel.
        place: String,
    },
}

impl Outgoing {
    /// Whether this could be sent at all: method, path, headers. The executor asks before an intent is recorded; `send`
    /// asks again.
    pub fn check(&self) -> Result<(), BadRequest> {
        check_method(&self.method)?;
        check_path(&self.path_and_query).map_err(|why| BadRequest::Path {
            path: self.path_and_query.clone(),
            why,
        })?;
        self.headers
            .iter()
            .try_for_each(|(name, value)| check_header(name, value))
    }

    /// The request as it goes out: checked, with credentials, host and framing.
    pub(super) fn assemble(
        &self,
        origin: &Origin,
        credential: Credential<'_>,
    ) -> Result<http::Request<Full<Bytes>>, BadRequest> {
        self.check()?;
        if self.origin != origin.to_string() {
            return Err(BadRequest::Origin {
                asked: self.origin.clone(),
                place: origin.to_string(),
            });
        }
        let target = with_query(&self.path_and_query, credential);
        let mut headers = HeaderMap::with_capacity(self.headers.len() + 5);
        headers.insert(header::HOST, value("Host", &origin.authority())?);
        for (name, text) in &self.headers {
            headers.append(self::name(name)?, value(name, text)?);
        }
        sign(&mut headers, credential)?;
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        headers
            .entry(header::USER_AGENT)
            .or_insert(HeaderValue::from_static(USER_AGENT));
        if self.body.is_empty() && matches!(&*self.method, "POST" | "PUT" | "PATCH") {
            // Without it some servers answer 411.
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let bad_path = || BadRequest::Path {
            path: self.path_and_query.clone(),
            why: "what is no path",
        };
        let mut request = http::Request::new(Full::new(Bytes::from(self.body.clone())));
        *request.method_mut() = self
            .method
            .parse()
            .map_err(|_| BadRequest::Method(self.method.clone()))?;
        *request.uri_mut() = target.parse().map_err(|_| bad_path())?;
        if request.uri().to_string() != target {
            return Err(bad_path());
        }
        *request.headers_mut() = headers;
        Ok(request)
    }
}

const USER_AGENT: &str = concat!("oncegate/", env!("CARGO_PKG_VERSION"));

fn check_method(method: &str) -> Result<(), BadRequest> {
    match method {
        "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => Ok(()),
        other => Err(BadRequest::Method(other.to_owned())),
    }
}

/// What is refused here is read in two ways by servers and the proxies before them, and would let a value in a path reach
/// another path than the approved one.
fn check_path(path_and_query: &str) -> Result<(), &'static str> {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    if !path.starts_with('/') {
        return Err("no leading `/`");
    }
    for byte in path_and_query.bytes() {
        match byte {
            b'#' => return Err("`#`"),
            b'\\' => return Err("a backslash"),
            0..=0x20 | 0x7f => return Err("a blank or control character"),
            0x80.. => return Err("a character that is not percent-encoded"),
            _ => {}
        }
    }
    check_escapes(path, true)?;
    check_escapes(query, false)?;
    if path.contains("//") {
        return Err("an empty segment (`//`)");
    }
    if path.split('/').any(is_dots) {
        Err("a `.` or `..` segment")
    } else {
        Ok(())
    }
}

fn check_escapes(text: &str, in_path: bool) -> Result<(), &'static str> {
    for escape in text.split('%').skip(1) {
        // Digits only: the number parser would take a sign as well.
        let hex = escape
            .get(..2)
            .filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            None => return Err("a `%` that encodes nothing"),
            Some(b'/' | b'\\') if in_path => return Err("an encoded slash or backslash"),
            Some(0..0x20 | 0x7f) if in_path => return Err("an encoded control character"),
            Some(_) => {}
        }
    }
    Ok(())
}

/// `.` and `..`, encoded ones and those with parameters (`..;x`, which some servers strip) too.
fn is_dots(segment: &str) -> bool {
    let segment = segment.to_ascii_lowercase().replace("%2e", ".").replace("%3b", ";");
    matches!(segment.split(';').next(), Some("." | ".."))
}

/// Set by the host, about the connection and not the request, or read by servers as something else than it says.
const FORBIDDEN: [&str; 25] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-method",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
    "early-data",
];

/// Whether a header of this name is never taken from a request, whatever was approved.
pub fn is_forbidden_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // Some servers read `_` as `-`.
    let name = name.replace('_', "-");
    FORBIDDEN.contains(&name.as_str()) || name.starts_with("x-forwarded") || name.starts_with("proxy-")
}

fn check_header(name: &str, value: &str) -> Result<(), BadRequest> {
    if is_forbidden_header(name) {
        return Err(BadRequest::Forbidden(name.to_owned()));
    }
    self::name(name)?;
    self::value(name, value).map(drop)
}

fn name(text: &str) -> Result<HeaderName, BadRequest> {
    text.parse().map_err(|_| BadRequest::Header(text.to_owned()))
}

/// Visible ASCII, blanks and tabs; what lies beyond ASCII is sent as UTF-8. No CR, LF, NUL or other control.
fn value(name: &str, text: &str) -> Result<HeaderValue, BadRequest> {
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| BadRequest::Header(name.to_owned()))
}

fn sign(headers: &mut HeaderMap, credential: Credential<'_>) -> Result<(), BadRequest> {
    let (name, text, kind) = match credential {
        Credential::None | Credential::Query { .. } => return Ok(()),
        Credential::Bearer(secret) => (header::AUTHORIZATION, format!("Bearer {secret}"), "a bearer token"),
        Credential::Basic { user, .. } if user.contains(':') => return Err(BadRequest::Credential("a user name")),
        Credential::Basic { user, password } => {
            let pair = STANDARD.encode(format!("{user}:{password}"));
            (header::AUTHORIZATION, format!("Basic {pair}"), "user name and password")
        }
        Credential::Header { name, secret } => (self::name(name)?, secret.to_owned(), "a header"),
    };
    // A second value beside the credential would let a server choose between the two.
    if headers.contains_key(&name) || is_framing(&name) {
        return Err(BadRequest::Forbidden(name.as_str().to_owned()));
    }
    let mut value = HeaderValue::from_str(&text).map_err(|_| BadRequest::Credential(kind))?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

/// A credential may use names that requests may not (`Authorization`, `Cookie`), but never those that frame the message.
fn is_framing(name: &HeaderName) -> bool {
    [
        header::HOST,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
        header::EXPECT,
        header::UPGRADE,
    ]
    .contains(name)
}

fn with_query(path_and_query: &str, credential: Credential<'_>) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    let Credential::Query { name, secret } = credential else {
        return path_and_query.to_owned();
    };
    let joint = if path_and_query.contains('?') { '&' } else { '?' };
    format!(
        "{path_and_query}{joint}{}={}",
        utf8_percent_encode(name, KEPT),
        utf8_percent_encode(secret, KEPT)
    )
}

/// Bodies are stored readable where they are text: people look at them when they settle a doubt.
mod body_text {
    use super::{Deserialize, Engine, STANDARD, Serialize};
    use serde::{Deserializer, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Stored<'a> {
        Text(std::borrow::Cow<'a, str>),
        Base64(String),
    }

    pub fn serialize<S: Serializer>(body: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let stored = match std::str::from_utf8(body) {
            Ok(text) => Stored::Text(text.into()),
            Err(_) => Stored::Base64(STANDARD.encode(body)),
        };
        stored.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        match Stored::deserialize(deserializer)? {
            Stored::Text(text) => Ok(text.into_owned().into_bytes()),
            Stored::Base64(text) => STANDARD.decode(text).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests;
