//! Who may ask: a token always; a `Host` that is ours; no change from a foreign page.
//!
//! The token protects from strangers. `Host` and `Origin` protect the person whose browser, on this very machine, is
//! talked into calling us by a page from somewhere else (DNS rebinding, cross-site requests).

use super::Api;
use crate::problem::Problem;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The names under which this host may be called.
#[derive(Clone, Debug)]
pub struct Names {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The host of the public URL, lower case, with its port where it has one.
    pub public: Option<String>,
}

impl Names {
    /// Whether `authority` (`host[:port]`) is one of ours: the public one, the address we listen on, or a loopback
    /// literal. Names that merely resolve to us are not, for anybody can make one.
    pub fn are(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        if self.public.as_deref() == Some(authority.as_str()) {
            return true;
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse::<u16>().ok()),
            Some(_) | None => (authority.as_str(), Some(80)),
        };
        let literal = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>()
            .ok();
        // Whoever comes through a forwarded port (ssh, a container) calls a loopback literal with the port of the other end.
        let loopback = host == "localhost" || literal.is_some_and(|ip| ip.is_loopback());
        let ours = literal.is_some_and(|ip| ip == self.listen.ip()) && port == Some(self.listen.port());
        port.is_some() && (loopback || ours)
    }
}

/// A token of 256 random bits, as people copy it.
///
/// # Errors
/// The system gives no randomness.
pub fn new_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!(
        "ogt_{}",
        data_encoding::BASE32_NOPAD.encode(&bytes).to_ascii_lowercase()
    ))
}

/// What is stored of a token, and what it is looked up by. The token has 256 random bits: a plain digest cannot be
/// reversed, and looking it up by the digest leaks nothing of it through time.
pub fn token_hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Who is asking, for the record.
#[derive(Clone, Debug)]
pub struct Caller(pub String);

/// What they may do.
#[derive(Clone, Debug)]
pub struct Role(pub String);

impl Role {
    /// # Errors
    /// They are no admin.
    pub fn must_be_admin(&self) -> Result<(), Problem> {
        match self.0.as_str() {
            "admin" => Ok(()),
            other => {
                let detail = format!("this needs a token of the role admin; yours has the role {other}");
                Err(Problem::new(StatusCode::FORBIDDEN, detail))
            }
        }
    }
}

pub async fn admit(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match check(&api, &parts).await {
        Ok((caller, role)) => {
            parts.extensions.insert(caller);
            parts.extensions.insert(role);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => {
            let unauthorized = problem.status == StatusCode::UNAUTHORIZED;
            let mut response = problem.into_response();
            if unauthorized {
                response
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

async fn check(api: &Api, request: &Parts) -> Result<(Caller, Role), Problem> {
    let headers = &request.headers;
    let host = text(headers, header::HOST)?.or_else(|| request.uri.authority().map(|host| host.as_str()));
    let Some(host) = host.filter(|host| api.names.are(host)) else {
        let detail = "this host is not called that; use its address, or set `public_url` in oncegate.toml";
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail));
    };
    let reads = matches!(request.method, Method::GET | Method::HEAD);
    if !reads && text(headers, header::ORIGIN)?.is_some_and(|origin| !is_same(origin, host)) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "changes from another origin are refused",
        ));
    }
    let unauthorized = || {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "send `Authorization: Bearer …` with a token; see DATA/token",
        )
    };
    let given = text(headers, header::AUTHORIZATION)?.and_then(|value| value.split_once(' '));
    let Some((scheme, token)) = given else {
        return Err(unauthorized());
    };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(unauthorized());
    }
    let stored = api
        .ledger
        .token(token_hash(token.trim()))
        .await
        .map_err(super::ledger_problem)?;
    match stored {
        Some(token)
            if token
                .expires_ms
                .is_none_or(|expires_ms| expires_ms > api.clock.now_ms()) =>
        {
            Ok((Caller(token.name), Role(token.role)))
        }
        Some(_) | None => Err(unauthorized()),
    }
}

/// Whether a page of this origin came from where it now sends to. A page of another port of this machine did not.
fn is_same(origin: &str, host: &str) -> bool {
    origin
        .split_once("://")
        .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
}

/// A header that is there once, or not at all. Of two lines a proxy before us may have looked at one, and we at the other.
fn text(headers: &HeaderMap, name: header::HeaderName) -> Result<Option<&str>, Problem> {
    let mut lines = headers.get_all(&name).iter();
    let text = match (lines.next(), lines.next()) {
        (None, _) => return Ok(None),
        (Some(line), None) => line.to_str().ok(),
        (Some(_), Some(_)) => None,
    };
    let wrong = || format!("the header `{name}` is there more than once, or is no text; send it once");
    text.map(Some)
        .ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, wrong()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_lines_of_a_header_none_is_believed() {
        let mut headers = HeaderMap::new();
        let found = |headers: &HeaderMap| text(headers, header::ORIGIN).map(|text| text.map(str::to_owned));
        assert_eq!(found(&headers), Ok(None));
        headers.append(header::ORIGIN, HeaderValue::from_static("http://localhost"));
        assert_eq!(found(&headers), Ok(Some("http://localhost".to_owned())));
        headers.append(header::ORIGIN, HeaderValue::from_static("http://elsewhere"));
        assert_eq!(found(&headers).unwrap_err().status, StatusCode::BAD_REQUEST);
    }
}
