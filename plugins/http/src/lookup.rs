//! Whether a `send` took effect. Absent can lead to a second request, so only an answer that shows that nothing is there
//! says absent; a pointer that leads nowhere in an answer with content is more likely a wrong pointer, and unsure.

use std::collections::BTreeMap;

use oncegate_sdk::prelude::*;

use crate::exchange::{self, ENDPOINT, Output};
use crate::settings::Lookup;

pub(crate) fn run(lookup: &Lookup, input: &Json, key: &str) -> Result<Finding<Output>, Failure> {
    let answer = request(lookup, input, key)?.send()?;
    let status = answer.status;
    let Some(answer) = answer.unless_missing()? else {
        return Ok(Finding::Absent);
    };
    let body = exchange::body_of(&answer);
    Ok(match search(lookup, &body, key) {
        Search::Found(item) => {
            let reference = lookup.reference.as_ref().and_then(|at| item.pointer(at)?.scalar());
            let output = Output {
                status,
                body: item,
                headers: BTreeMap::new(),
            };
            Finding::by_key(output, reference.unwrap_or_default())
        }
        Search::Nothing => Finding::Absent,
        Search::Unclear(why) => Finding::Unsure(why),
    })
}

fn request(lookup: &Lookup, input: &Json, key: &str) -> Result<Request, Failure> {
    let value_of = |name: &str| match name.strip_prefix("input.") {
        Some(pointer) => input.pointer(pointer)?.scalar(),
        None => (name == "key").then(|| key.to_owned()),
    };
    let mut request = Request::get(ENDPOINT, &lookup.path).header("accept", "application/json");
    for name in names(&lookup.path) {
        if let Some(value) = value_of(name) {
            request = request.value(name, value);
        }
    }
    for (name, template) in &lookup.query {
        request = request.query(name, filled(template, value_of)?);
    }
    for (name, template) in &lookup.headers {
        request = request.header(name, filled(template, value_of)?);
    }
    Ok(request)
}

/// What stands in braces.
fn names(template: &str) -> impl Iterator<Item = &str> {
    template
        .split('{')
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// In one pass: what was put in is data, and braces in it mean nothing.
fn filled(template: &str, value_of: impl Fn(&str) -> Option<String>) -> Result<String, Failure> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, behind)) = after.split_once('}') else {
            break;
        };
        let value = value_of(name)
            .ok_or_else(|| Failure::rejected("lookup", format!("no value for `{{{name}}}` in the lookup")))?;
        text.extend([before, &value]);
        rest = behind;
    }
    text.push_str(rest);
    Ok(text)
}

enum Search {
    Found(Json),
    Nothing,
    Unclear(String),
}

fn search(lookup: &Lookup, body: &Json, key: &str) -> Search {
    let Some(list) = &lookup.items else {
        return in_one(&lookup.pointer, body, key);
    };
    let items = match body.pointer(list) {
        Some(items) => items,
        None => return Search::Unclear(format!("the answer has nothing at `{list}`, where its items should be")),
    };
    let Some(items) = items.elements() else {
        return Search::Unclear(format!("what the answer has at `{list}` is no list"));
    };
    if items.is_empty() {
        return Search::Nothing;
    }
    let ours = |item: &Json| {
        item.pointer(&lookup.pointer)
            .and_then(|value| value.scalar())
            .as_deref()
            == Some(key)
    };
    match items.into_iter().find(ours) {
        Some(item) => Search::Found(item),
        // The filter may not have worked, and ours may be on a later page.
        None => Search::Unclear("the answer lists other things and none with our key".to_owned()),
    }
}

fn in_one(pointer: &str, body: &Json, key: &str) -> Search {
    match body.pointer(pointer).and_then(|value| value.scalar()) {
        Some(value) if value == key => Search::Found(body.clone()),
        Some(_) => Search::Unclear(format!("what the answer has at `{pointer}` is not our key")),
        None if ends_in_nothing(pointer, body) => Search::Nothing,
        None => Search::Unclear(format!("the answer has no key at `{pointer}`")),
    }
}

/// Whether the way of a pointer stops at an empty list, an empty object or `null`: the destination's way to say *nothing*.
fn ends_in_nothing(pointer: &str, body: &Json) -> bool {
    let ends = pointer
        .match_indices('/')
        .map(|(at, _)| &pointer[..at])
        .chain([pointer]);
    ends.filter_map(|way| body.pointer(way))
        .any(|value| value.is_empty() && value.scalar().is_none())
}
