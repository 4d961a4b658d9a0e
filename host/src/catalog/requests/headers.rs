//! Headers of a request: those that are listed, and `Content-Type` and `Accept`.

use super::super::approved::{Approved, Auth, KeyPlace};
use super::super::manifest::{forbidden_header, is_header_name};
use super::{Denied, denied, rules_of, shown};
use crate::runtime::Request;
use std::collections::BTreeSet;

/// Most headers of one request.
const HEADERS_MAX: usize = 64;
/// Most bytes of names and values together.
const HEADER_BYTES_MAX: usize = 16 * 1024;

pub(super) fn check(approved: &Approved, request: &Request) -> Result<(), Denied> {
    let bytes: usize = request
        .headers
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if request.headers.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
        return denied(format!(
            "more than {HEADERS_MAX} headers or {HEADER_BYTES_MAX} bytes of them"
        ));
    }
    let mut seen = BTreeSet::new();
    for (name, value) in &request.headers {
        check_one(approved, request, name, value)?;
        if !seen.insert(name.to_ascii_lowercase()) {
            return denied(format!("the header {:?} is there twice", shown(name)));
        }
    }
    Ok(())
}

fn check_one(approved: &Approved, request: &Request, name: &str, value: &str) -> Result<(), Denied> {
    if !is_header_name(name) {
        return denied(format!("{:?} is no header name", shown(name)));
    }
    if !value.chars().all(|c| c == '\t' || c == ' ' || c.is_ascii_graphic()) {
        return denied(format!("the header {name:?} has other than printable ASCII in it"));
    }
    if let Some(why) = forbidden_header(name) {
        return denied(format!("the header {name:?} may not be set: {why}"));
    }
    if let KeyPlace::Header { name: own, .. } = &approved.key
        && own.eq_ignore_ascii_case(name)
    {
        return denied(format!("the header {name:?} carries the key; the host puts it in"));
    }
    if let Auth::Header { name: own, .. } = &approved.auth
        && own.eq_ignore_ascii_case(name)
    {
        return denied(format!(
            "the header {name:?} carries the credential; the host puts it in"
        ));
    }
    let lower = name.to_ascii_lowercase();
    let always = lower == "content-type" || lower == "accept";
    if !always && !rules_of(approved, request).any(|rule| rule.headers.contains(&lower)) {
        let place = format!("{} {}", request.method, shown(&request.path));
        return denied(format!("the header {name:?} is not listed for {place}"));
    }
    Ok(())
}

/// `application/json` or `…+json`.
pub(super) fn is_json(request: &Request) -> bool {
    let content_type = request
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    content_type.is_some_and(|(_, value)| {
        let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
    })
}
