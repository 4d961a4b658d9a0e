//! The request list: everything an action may send. Read from a manifest or from a connection by the same rules.

use super::super::document::{Fields, Node, Problems, nearest};
use super::REQUESTS_MAX;
use super::headers::{forbidden_header, is_header_name};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Whether a request changes the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// It only reads.
    Read,
    /// It may change something.
    Write,
}

/// One entry of a request list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRule {
    /// Name of the endpoint.
    pub endpoint: String,
    /// Method, upper case.
    pub method: String,
    /// The path, segment by segment.
    pub path: Vec<Segment>,
    /// Query parameters that may be there.
    pub query: BTreeSet<String>,
    /// Headers that may be there beside `Content-Type` and `Accept`, lower case.
    pub headers: BTreeSet<String>,
    /// Whether it changes the destination.
    pub kind: RequestKind,
}

/// One segment of a path pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Exactly this, as it is written on the wire.
    Exact(String),
    /// Any one segment that is not empty; the name is for people.
    Any(String),
}

impl RequestRule {
    /// The path as it was written.
    pub fn path_text(&self) -> String {
        path_text(&self.path)
    }

    /// Whether a path may match both.
    pub(crate) fn meets(&self, other: &RequestRule) -> bool {
        self.endpoint == other.endpoint
            && self.path.len() == other.path.len()
            && self.path.iter().zip(&other.path).all(|pair| match pair {
                (Segment::Exact(a), Segment::Exact(b)) => a == b,
                (Segment::Any(_), _) | (_, Segment::Any(_)) => true,
            })
    }

    /// A read by another method than GET or HEAD: only what the path is tells it from a write.
    pub(crate) fn is_reading_post(&self) -> bool {
        self.kind == RequestKind::Read && self.method != "GET" && self.method != "HEAD"
    }
}

impl fmt::Display for RequestRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path_text())
    }
}

fn path_text(path: &[Segment]) -> String {
    path.iter().fold(String::new(), |mut text, segment| {
        text.push('/');
        match segment {
            Segment::Exact(exact) => text.push_str(exact),
            Segment::Any(name) => text.extend(["{", name, "}"]),
        }
        text
    })
}

const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// Reads a list of requests. `endpoints` are the connector's.
pub(crate) fn read_rules<T>(
    node: &Node,
    endpoints: &BTreeMap<String, T>,
    problems: &mut Problems<'_>,
) -> Vec<RequestRule> {
    let Some(items) = node.list("requests", problems) else {
        return Vec::new();
    };
    if items.is_empty() || items.len() > REQUESTS_MAX {
        let what = format!("`requests` lists {} requests", items.len());
        problems.add(
            node.at,
            what,
            format!("list 1 to {REQUESTS_MAX}, everything the action may send"),
        );
    }
    let mut rules = Vec::new();
    for item in items {
        let Some(rule) = read_rule(item, endpoints, problems) else {
            continue;
        };
        check_against(item, &rule, &rules, problems);
        rules.push(rule);
    }
    rules
}

fn read_rule<T>(node: &Node, endpoints: &BTreeMap<String, T>, problems: &mut Problems<'_>) -> Option<RequestRule> {
    let mut fields = Fields::open(node, "the request", problems)?;
    let endpoint = read_endpoint(&mut fields, "the request", endpoints, problems);
    let method = read_method(&mut fields, problems);
    let path_node = fields.need("path", "add path = \"/…\", as it goes over the wire", problems);
    let path = path_node.and_then(|node| read_path(node, problems));
    let query = fields
        .take("query")
        .map(|node| read_query(node, problems))
        .unwrap_or_default();
    let headers = fields
        .take("headers")
        .map(|node| read_headers(node, problems))
        .unwrap_or_default();
    let kind = read_kind(&mut fields, problems);
    fields.done(problems);
    let rule = RequestRule {
        endpoint: endpoint?,
        method: method?,
        path: path?,
        query,
        headers,
        kind: kind?,
    };
    if rule.is_reading_post() {
        if rule.method != "POST" {
            let what = format!("{rule} is listed as a read");
            problems.add(
                node.at,
                what,
                "list it as kind = \"write\": of the methods only GET, HEAD and POST can read",
            );
        } else if !is_exact(&rule.path) {
            let what = format!("the reading POST {rule} has {{…}} in its path");
            problems.add(
                node.at,
                what,
                "write the exact path: a POST is known to read by its path alone",
            );
        }
    }
    Some(rule)
}

/// Two entries that one request could match must agree on whether it changes something.
fn check_against(node: &Node, rule: &RequestRule, before: &[RequestRule], problems: &mut Problems<'_>) {
    for other in before
        .iter()
        .filter(|other| other.method == rule.method && other.meets(rule))
    {
        if other.path_text() == rule.path_text() && other.kind == rule.kind {
            problems.add(
                node.at,
                format!("{rule} is listed twice"),
                "list it once, with all its query and headers",
            );
        } else if other.kind != rule.kind {
            let what = format!("{rule} and {other} can be the same request, one a read and one a write");
            problems.add(node.at, what, "make the paths differ, or list both as writes");
        }
    }
}

/// Reads `endpoint`, which may be left out where there is only one.
pub(super) fn read_endpoint<T>(
    fields: &mut Fields<'_>,
    of: &str,
    endpoints: &BTreeMap<String, T>,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let known = || endpoints.keys().map(String::as_str);
    let Some(node) = fields.take("endpoint") else {
        let mut names = known();
        if let (Some(only), None) = (names.next(), names.next()) {
            return Some(only.to_owned());
        }
        if !endpoints.is_empty() {
            let names: Vec<_> = known().collect();
            problems.add(
                fields.at,
                format!("{of} names no endpoint"),
                format!("add endpoint = one of {}", names.join(", ")),
            );
        }
        return None;
    };
    let text = node.text("endpoint", problems)?;
    if !endpoints.contains_key(text) {
        let mend = nearest(text, known()).map_or_else(
            || format!("the endpoints are: {}", known().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean {near:?}?"),
        );
        problems.add(node.at, format!("there is no endpoint {text:?}"), mend);
        return None;
    }
    Some(text.to_owned())
}

fn read_method(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let node = fields.need("method", "add method = \"GET\"", problems)?;
    let text = node.text("method", problems)?;
    if !METHODS.contains(&text) {
        let what = format!("the method {text:?} cannot be listed");
        problems.add(
            node.at,
            what,
            format!("write one of {}, in capitals", METHODS.join(", ")),
        );
        return None;
    }
    Some(text.to_owned())
}

fn read_kind(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<RequestKind> {
    let mend = "write kind = \"read\" or \"write\"; what is not certain to only read is a write";
    let node = fields.need("kind", mend, problems)?;
    match node.text("kind", problems)? {
        "read" => Some(RequestKind::Read),
        "write" => Some(RequestKind::Write),
        other => {
            problems.add(node.at, format!("no kind {other:?}"), mend);
            None
        }
    }
}

/// Reads a path pattern: hygiene of `requests::check_path`, and `{name}` as whole segments.
pub(super) fn read_path(node: &Node, problems: &mut Problems<'_>) -> Option<Vec<Segment>> {
    let text = node.text("path", problems)?;
    // What stands in braces is replaced by something harmless, so that the rest meets the rule that requests meet.
    let plain: String = text
        .split('/')
        .map(|part| if is_any(part) { "x" } else { part })
        .collect::<Vec<_>>()
        .join("/");
    if let Err(why) = super::super::requests::check_path(&plain) {
        let mend = "write the path as it goes over the wire, with {name} for a whole segment that varies";
        problems.add(node.at, format!("the path {text:?} cannot be listed: {why}"), mend);
        return None;
    }
    let mut names = BTreeSet::new();
    let mut segments = Vec::new();
    for part in text.split('/').skip(1) {
        let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else {
            segments.push(Segment::Exact(part.to_owned()));
            continue;
        };
        if !names.insert(name) {
            problems.add(
                node.at,
                format!("the path {text:?} has {{{name}}} twice"),
                "give each its own name",
            );
        }
        segments.push(Segment::Any(name.to_owned()));
    }
    Some(segments)
}

fn is_any(part: &str) -> bool {
    let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.len() <= 40 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    })
}

/// No part of it varies.
pub(crate) fn is_exact(path: &[Segment]) -> bool {
    path.iter().all(|segment| matches!(segment, Segment::Exact(_)))
}

fn read_query(node: &Node, problems: &mut Problems<'_>) -> BTreeSet<String> {
    let Some(items) = node.list("query", problems) else {
        return BTreeSet::new();
    };
    items
        .iter()
        .filter_map(|item| read_query_name(item, problems))
        .collect()
}

/// Reads the name of a query parameter.
pub(super) fn read_query_name(node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    let text = node.text("query", problems)?;
    let lower = text.to_ascii_lowercase();
    if [
        "_method",
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
    ]
    .contains(&lower.as_str())
    {
        let what = format!("the query parameter {text:?} would make another method of the listed one");
        problems.add(node.at, what, "leave it out");
        return None;
    }
    if text.is_empty() || text.len() > 200 || text.chars().any(char::is_control) {
        let what = format!("the query parameter {text:?} is no name");
        problems.add(node.at, what, "write 1 to 200 characters without control characters");
        return None;
    }
    Some(text.to_owned())
}

fn read_headers(node: &Node, problems: &mut Problems<'_>) -> BTreeSet<String> {
    let mut headers = BTreeSet::new();
    for (at, text) in node.texts("headers", problems).unwrap_or_default() {
        if !is_header_name(text) {
            problems.add(at, format!("{text:?} is no header name"), "write letters, digits and -");
        } else if let Some(why) = forbidden_header(text) {
            problems.add(
                at,
                format!("the header {text:?} can never be listed: {why}"),
                "leave it out",
            );
        } else {
            headers.insert(text.to_ascii_lowercase());
        }
    }
    headers
}

/// What a list of statuses is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statuses {
    /// `confirms`, `absent_on`: 4xx that say something about the thing asked for, and not about the asking.
    Telling,
    /// `refused_before_effect`: any that is no success.
    Refusing,
}

/// Reads a list of statuses.
pub(crate) fn read_statuses(node: &Node, name: &str, which: Statuses, problems: &mut Problems<'_>) -> Option<Vec<u16>> {
    let items = node.list(name, problems)?;
    let mut statuses = BTreeSet::new();
    for item in items {
        let Some(status) = item
            .whole(name, 100, 599, problems)
            .and_then(|status| u16::try_from(status).ok())
        else {
            continue;
        };
        let (fits, mend) = match which {
            Statuses::Telling => (
                (400..500).contains(&status) && ![401, 403, 408, 425, 429].contains(&status),
                "write 4xx statuses that are about the thing itself, as 404, 409 or 410; not 401, 403, 408, 425, 429",
            ),
            Statuses::Refusing => ((300..600).contains(&status), "write statuses from 300 to 599"),
        };
        if fits {
            statuses.insert(status);
        } else {
            problems.add(item.at, format!("`{name}` cannot list {status}"), mend);
        }
    }
    Some(statuses.into_iter().collect())
}
