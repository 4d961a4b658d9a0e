//! One action of a manifest, and the rules that hold between its parts.

use super::super::document::{At, Fields, Node, Problems, is_name};
use super::dedup::{read_dedup, read_pointer};
use super::example::read_example;
use super::head::{NAME_MEND, read_title};
use super::rules::{RequestKind, RequestRule, read_rules};
use super::{Action, Auth, Dedup, Requests};
use crate::catalog::document::Content;
use crate::egress::Origin;
use oncegate_domain::doubt::Effect;
use std::collections::BTreeMap;

const SAYS_CHARS_MAX: usize = 300;
/// A lookup that may only be asked after a day is no way to settle a doubt.
pub(crate) const LOOKUP_AFTER_MS_MAX: u64 = 86_400_000;

/// Reads one `[[actions]]`.
pub(super) fn read_action(
    node: &Node,
    endpoints: &BTreeMap<String, Option<Origin>>,
    auth: Option<&Auth>,
    problems: &mut Problems<'_>,
) -> Option<Action> {
    let before = problems.count();
    let mut fields = Fields::open(node, "the action", problems)?;
    let name = fields.need("name", "add name = \"send\"", problems).and_then(|node| {
        let text = node.text("name", problems)?;
        if !is_name(text) {
            problems.add(node.at, format!("the action's name {text:?} is no name"), NAME_MEND);
        }
        Some(text.to_owned())
    });
    let effect = read_effect(&mut fields, problems);
    let says = fields.need("says", "add says = \"…\", what it does, in a sentence", problems);
    let says = says.and_then(|node| read_title(node, "says", SAYS_CHARS_MAX, problems));
    let dedup = fields
        .take("dedup")
        .map_or(Some(Dedup::None), |node| read_dedup(node, problems));
    let lookup_after_ms = fields
        .take("lookup_after")
        .and_then(|node| node.duration_ms("lookup_after", 100, LOOKUP_AFTER_MS_MAX, problems));
    let reference = fields
        .take("reference")
        .and_then(|node| read_pointer(node, "reference", problems));
    let requests = read_requests(&mut fields, endpoints, problems);
    let listed = match &requests {
        Some(Requests::Listed(rules)) => Some(rules.as_slice()),
        Some(Requests::Connection) | None => None,
    };
    let example = fields
        .take("example")
        .and_then(|node| read_example(node, listed, problems));
    fields.done(problems);
    let action = Action {
        name: name?,
        effect: effect?,
        says: says.unwrap_or_default(),
        dedup: dedup.unwrap_or(Dedup::None),
        lookup_after_ms,
        reference,
        requests: requests?,
        example,
    };
    // What could not be read would only give errors that follow from the first.
    if problems.count() == before {
        check_action(node.at, &action, auth, problems);
    }
    Some(action)
}

fn read_effect(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Effect> {
    let mend = "write effect = \"read\" or \"write\"";
    let node = fields.need("effect", mend, problems)?;
    match node.text("effect", problems)? {
        "read" => Some(Effect::Read),
        "write" => Some(Effect::Write),
        other => {
            problems.add(node.at, format!("no effect {other:?}"), mend);
            None
        }
    }
}

fn read_requests(
    fields: &mut Fields<'_>,
    endpoints: &BTreeMap<String, Option<Origin>>,
    problems: &mut Problems<'_>,
) -> Option<Requests> {
    let mend = "add [[actions.requests]], everything the action may send";
    let node = fields.need("requests", mend, problems)?;
    match &node.content {
        Content::Text(text) if text == "connection" => Some(Requests::Connection),
        _ => Some(Requests::Listed(read_rules(node, endpoints, problems))),
    }
}

fn check_action(at: At, action: &Action, auth: Option<&Auth>, problems: &mut Problems<'_>) {
    let name = &action.name;
    if action.effect == Effect::Read && action.dedup != Dedup::None {
        problems.add(
            at,
            format!("the action {name:?} only reads and has `dedup`"),
            "leave `dedup` out",
        );
    }
    if action.effect == Effect::Read && action.lookup_after_ms.is_some() {
        problems.add(
            at,
            format!("the action {name:?} only reads and has `lookup_after`"),
            "leave `lookup_after` out",
        );
    }
    let Requests::Listed(rules) = &action.requests else {
        return;
    };
    for (what, mend) in broken_rules(name, action.effect, &action.dedup, auth, rules) {
        problems.add(at, what, mend);
    }
    if action.lookup_after_ms.is_some() {
        check_lookup(at, name, rules, problems);
    }
}

/// What an action and its request list break of the rules between them, wherever the list was written: what, and how to
/// mend it.
pub(crate) fn broken_rules(
    name: &str,
    effect: Effect,
    dedup: &Dedup,
    auth: Option<&Auth>,
    rules: &[RequestRule],
) -> Vec<(String, &'static str)> {
    let mut broken = Vec::new();
    let writes = rules.iter().any(|rule| rule.kind == RequestKind::Write);
    match effect {
        Effect::Read if writes => broken.push((
            format!("the action {name:?} only reads and lists a write"),
            "make it effect = \"write\", or list only reads",
        )),
        Effect::Write if !writes && !rules.is_empty() => broken.push((
            format!("the action {name:?} writes and lists no write"),
            "list the request that changes the destination with kind = \"write\"",
        )),
        Effect::Read | Effect::Write => {}
    }
    for (header, whose) in reserved_headers(dedup, auth) {
        if rules
            .iter()
            .any(|rule| rule.headers.contains(&header.to_ascii_lowercase()))
        {
            let what = format!("the action {name:?} lists the header {header:?}, which is {whose}");
            broken.push((what, "leave it out of `headers`: the host puts it in"));
        }
    }
    if let Some(Auth::Query { name: parameter, .. }) = auth
        && rules.iter().any(|rule| rule.query.contains(parameter))
    {
        let what = format!("the action {name:?} lists the query parameter {parameter:?}, which is the credential's");
        broken.push((what, "leave it out of `query`: the host puts it in"));
    }
    broken
}

/// Headers that the host sets itself, and what for.
fn reserved_headers<'a>(dedup: &'a Dedup, auth: Option<&'a Auth>) -> Vec<(&'a str, &'static str)> {
    let mut reserved = Vec::new();
    if let Dedup::Header { name, .. } = dedup {
        reserved.push((name.as_str(), "the key's"));
    }
    if let Some(Auth::Header { name, .. }) = auth {
        reserved.push((name.as_str(), "the credential's"));
    }
    reserved
}

/// A lookup asks by reading.
fn check_lookup(at: At, name: &str, rules: &[RequestRule], problems: &mut Problems<'_>) {
    if !rules.iter().any(|rule| rule.kind == RequestKind::Read) {
        let what = format!("the action {name:?} has `lookup_after` and lists no read to ask with");
        problems.add(
            at,
            what,
            "list the request of the lookup with kind = \"read\", or leave `lookup_after` out",
        );
    }
}

/// A reading POST on a path that writes use too could be either (GraphQL, JSON-RPC).
pub(super) fn check_shared_paths(at: At, actions: &BTreeMap<String, Action>, problems: &mut Problems<'_>) {
    let rules = || {
        actions.values().flat_map(|action| match &action.requests {
            Requests::Listed(rules) => rules.iter(),
            Requests::Connection => [].iter(),
        })
    };
    shared_path(rules(), rules()).into_iter().for_each(|(read, write)| {
        let what = format!("the read {read} and the write {write} share a path");
        problems.add(
            at,
            what,
            "list the read as a write: on a shared path only the content would tell one from the other",
        );
    });
}

/// Pairs of a reading POST and a write that one path could be.
pub(crate) fn shared_path<'r>(
    reads: impl Iterator<Item = &'r RequestRule>,
    writes: impl Iterator<Item = &'r RequestRule> + Clone,
) -> Vec<(&'r RequestRule, &'r RequestRule)> {
    reads
        .filter(|rule| rule.is_reading_post())
        .flat_map(|read| {
            let writes = writes
                .clone()
                .filter(|rule| rule.kind == RequestKind::Write && rule.meets(read));
            writes.map(move |write| (read, write))
        })
        .collect()
}
