//! May this request leave? The request list, and what no list can allow.
//!
//! What a guest asks for is compared with what was approved, as written on the wire, without decoding and without
//! guessing: what does not match exactly is denied. A denial carries one readable reason, for the connector's author.

use super::approved::{Approved, Auth, KeyPlace};
use super::manifest::{RequestKind, RequestRule, Segment};
use crate::runtime::Request;
use oncegate_domain::doubt::Effect;
use serde_json::Value;

mod headers;
mod path;

pub(crate) use path::check_path;

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// `perform`.
    Perform,
    /// `lookup`: it only reads, also in a write action.
    Lookup,
}

/// Why a request may not leave. Nothing of it was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Denied(pub String);

fn denied<T>(why: impl Into<String>) -> Result<T, Denied> {
    Err(Denied(why.into()))
}

/// Checks one request of a call. `key` is the step's key; where it belongs in the body it must be there.
pub(super) fn check(
    approved: &Approved,
    request: &Request,
    purpose: Purpose,
    key: &str,
) -> Result<RequestKind, Denied> {
    if !approved.places.contains_key(&request.endpoint) {
        let known: Vec<_> = approved.places.keys().map(String::as_str).collect();
        return denied(format!(
            "no endpoint {:?}; there is: {}",
            shown(&request.endpoint),
            known.join(", ")
        ));
    }
    check_path(&request.path).map_err(Denied)?;
    let kind = matching(approved, request)?;
    check_query(approved, request)?;
    headers::check(approved, request)?;
    if request.has_body && matches!(request.method.as_str(), "GET" | "HEAD") {
        return denied(format!("{} {} carries a body", request.method, shown(&request.path)));
    }
    if kind == RequestKind::Write {
        if purpose == Purpose::Lookup {
            return denied(format!(
                "a lookup only reads, and {} {} is a write",
                request.method,
                shown(&request.path)
            ));
        }
        if approved.terms.effect == Effect::Read {
            return denied(format!(
                "the action {} only reads, and this is a write",
                approved.action
            ));
        }
        check_key(approved, request, key)?;
    }
    Ok(kind)
}

/// The kind of the request by the list; where several entries match, a write wins over a read.
fn matching(approved: &Approved, request: &Request) -> Result<RequestKind, Denied> {
    let here = |rule: &&RequestRule| {
        rule.endpoint == request.endpoint && rule.method == request.method && matches_path(&rule.path, &request.path)
    };
    let mut fitting = approved.requests.iter().filter(here).peekable();
    if fitting.peek().is_none() {
        let listed: Vec<_> = approved.requests.iter().map(ToString::to_string).collect();
        let (method, path) = (shown(&request.method), shown(&request.path));
        return denied(format!(
            "{method} {path} is not in the request list of {} ({})",
            approved.action,
            listed.join("; ")
        ));
    }
    let kinds: Vec<RequestKind> = fitting.map(|rule| rule.kind).collect();
    Ok(if kinds.contains(&RequestKind::Write) {
        RequestKind::Write
    } else {
        RequestKind::Read
    })
}

fn matches_path(pattern: &[Segment], path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    let fits = pattern.iter().all(|segment| match (segment, parts.next()) {
        (Segment::Exact(exact), Some(part)) => exact == part,
        (Segment::Any(_), Some(part)) => !part.is_empty(),
        (_, None) => false,
    });
    fits && parts.next().is_none()
}

/// The entries that match this request as far as method and path go.
fn rules_of<'a>(approved: &'a Approved, request: &'a Request) -> impl Iterator<Item = &'a RequestRule> {
    approved.requests.iter().filter(|rule| {
        rule.endpoint == request.endpoint && rule.method == request.method && matches_path(&rule.path, &request.path)
    })
}

fn check_query(approved: &Approved, request: &Request) -> Result<(), Denied> {
    for (name, value) in &request.query {
        if let Auth::Query { name: own, .. } = &approved.auth
            && own == name
        {
            return denied(format!(
                "the query parameter {:?} is the credential's; the host puts it in",
                shown(name)
            ));
        }
        if !rules_of(approved, request).any(|rule| rule.query.contains(name)) {
            let place = format!("{} {}", request.method, shown(&request.path));
            return denied(format!(
                "the query parameter {:?} is not listed for {place}",
                shown(name)
            ));
        }
        if name.chars().chain(value.chars()).any(char::is_control) {
            return denied(format!("the query parameter {:?} has control characters", shown(name)));
        }
    }
    Ok(())
}

/// Where the key belongs in the body the connector puts it there, so the host looks before anything is sent.
fn check_key(approved: &Approved, request: &Request, key: &str) -> Result<(), Denied> {
    let KeyPlace::Field { pointer, .. } = &approved.key else {
        return Ok(());
    };
    if !headers::is_json(request) {
        return denied(format!(
            "the key belongs at {pointer} of a JSON body, and the Content-Type is not JSON"
        ));
    }
    // Duplicate names are refused: the destination might read the other one.
    let body = match crate::catalog::json::parse(&request.body) {
        Ok(body) => body,
        Err(error) => {
            return denied(format!(
                "the key belongs at {pointer} of a JSON body, and the body is none: {error}"
            ));
        }
    };
    match body.pointer(pointer) {
        Some(Value::String(found)) if found == key => Ok(()),
        Some(_) => denied(format!("the body has something else than the step's key at {pointer}")),
        None => denied(format!("the body has no step's key at {pointer}")),
    }
}

/// Text of a guest as it may stand in a sentence: bounded, without control characters.
fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(200)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(200).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
