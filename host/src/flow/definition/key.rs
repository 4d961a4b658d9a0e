//! What makes a good event key (DESIGN section 6): a value that stays the same when the sender repeats itself, and
//! differs when something else happened.

mod fallback;

use super::super::expression::Use;
use super::super::path::{EventField, Path, Root, Segment, walk};
use super::super::problem::Problems;
use super::super::template::{Piece, Template};
use super::Given;
use serde_json::Value;

/// Fields that tell one stage of the same thing from another.
const STAGES: [&str; 10] = [
    "status",
    "state",
    "type",
    "event",
    "event_type",
    "eventType",
    "action",
    "kind",
    "phase",
    "topic",
];

/// Checks the key and says what is doubtful about it.
pub(super) fn check(key: &[Template], at: usize, given: &Given<'_>, problems: &mut Problems<'_>) {
    let example = given.example;
    let uses: Vec<&Use> = key.iter().flat_map(Template::uses).collect();
    let from_sender = |path: &&&Use| matches!(path.path.root, Root::Body | Root::Headers | Root::Query);
    let received = |path: &&&Use| path.path.root == Root::Event(EventField::ReceivedAt);
    match (uses.iter().any(|path| from_sender(&path)), uses.iter().find(received)) {
        (false, Some(path)) => {
            let what = "the key is made only of the time of receipt, so the same event sent twice would run twice";
            problems.error(
                path.at,
                what,
                "use a value that stays the same when the sender repeats itself, such as an order number in `body`",
            );
        }
        (false, None) => {
            let what = "the key is the same for every event, so only the first would ever run";
            problems.error(
                at,
                what,
                "use a value that tells events apart, such as `{{ body.order.id }}`",
            );
        }
        (true, Some(path)) => {
            let what = "`event.received_at` in a key makes every delivery another event, also the same one sent twice";
            problems.warning(path.at, what, "take it out");
        }
        (true, None) => {}
    }
    for path in uses.iter().filter(|path| from_sender(path)) {
        doubtful_name(path, example, problems);
    }
    for template in key {
        joined(template, at, problems);
    }
    fallback::check(key, given.vars, problems);
    if let Some(example) = example {
        stage(key, &uses, at, example, problems);
    }
}

fn doubtful_name(path: &Use, example: Option<&Value>, problems: &mut Problems<'_>) {
    let Some(Segment::Field(name)) = path.path.rest.iter().rev().find(|s| matches!(s, Segment::Field(_))) else {
        return;
    };
    let value = example
        .filter(|_| path.path.root == Root::Body)
        .and_then(|example| walk(example, &path.path.rest));
    let words = words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let what = if has(&["attempt", "attempts", "retry", "retries", "try", "tries", "redelivery"]) {
        "looks like a counter of attempts, which differs when the sender repeats itself"
    } else if has(&[
        "time",
        "timestamp",
        "date",
        "datetime",
        "ts",
        "created",
        "updated",
        "modified",
        "received",
    ]) || words.len() > 1 && words.last().is_some_and(|word| word == "at" || word == "on")
    {
        "looks like a time: two events in the same moment would be one, and a repeated one may be another"
    } else if value.is_some_and(looks_like_time) {
        "looks like a time in the example: two events in the same moment would be one"
    } else {
        return;
    };
    problems.warning(
        path.at,
        format!("`{}` in the key {what}", path.text),
        "use a number or id that the sender gives to the event itself",
    );
}

/// The words of `createdAt`, `created_at`, `Created-At`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && previous_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A date in ISO form, or a Unix time in seconds or milliseconds of our days (2001 to 2096).
fn looks_like_time(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let date: Vec<u8> = text.bytes().take(11).collect();
            let digits =
                |range: std::ops::Range<usize>| date.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
            digits(0..4)
                && date.get(4) == Some(&b'-')
                && digits(5..7)
                && date.get(7) == Some(&b'-')
                && digits(8..10)
                && matches!(date.get(10), None | Some(b'T' | b't' | b' '))
        }
        Value::Number(number) => number.as_u64().is_some_and(|n| {
            (1_000_000_000..4_000_000_000).contains(&n) || (1_000_000_000_000..4_000_000_000_000).contains(&n)
        }),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// `{{ a }}{{ b }}` cannot tell ("1", "23") from ("12", "3").
fn joined(template: &Template, at: usize, problems: &mut Problems<'_>) {
    let touching = match template {
        Template::Value(_) => None,
        Template::Text(pieces) => pieces.windows(2).find_map(|two| match two {
            [Piece::Expression(_), Piece::Expression(second)] => Some(second.uses.first().map_or(at, |path| path.at)),
            _ => None,
        }),
    };
    if let Some(at) = touching.or_else(|| template.expressions().find_map(|expression| expression.joined)) {
        let what =
            "two values are joined with nothing between, so \"1\" and \"23\" make the same key as \"12\" and \"3\"";
        problems.warning(
            at,
            what,
            "write a list, which is joined without ambiguity: `key = [\"{{ body.a }}\", \"{{ body.b }}\"]`",
        );
    }
}

/// Where the thing that the key names goes through stages, each is an event of its own, and the key should say so.
fn stage(key: &[Template], uses: &[&Use], at: usize, example: &Value, problems: &mut Problems<'_>) {
    let is_stage = |name: &String| STAGES.contains(&name.as_str());
    let names_one = |used: &&Use| matches!(used.path.rest.last(), Some(Segment::Field(name)) if is_stage(name));
    if uses.iter().any(names_one) {
        return;
    }
    let Some((id, path, name)) = uses.iter().find_map(|used| stage_beside(used, example)) else {
        return;
    };
    let stage = written(&path);
    let what = format!(
        "the body also has `{stage}`: a later event of the same `{id}` with another `{name}` would be a conflict, \
         not a new event"
    );
    let mend = match key {
        [Template::Value(_)] => format!("write `key = [\"{{{{ {id} }}}}\", \"{{{{ {stage} }}}}\"]`"),
        _ => format!("make `{{{{ {stage} }}}}` a part of the key"),
    };
    problems.warning(at, what, format!("if each is an event of its own, {mend}"));
}

/// A stage beside the value that the key names, or at the top of the body.
fn stage_beside<'u>(id: &'u Use, example: &Value) -> Option<(&'u str, Path, &'static str)> {
    if id.path.root != Root::Body {
        return None;
    }
    let levels = [id.path.rest.len().saturating_sub(1), 0];
    let candidates = levels
        .into_iter()
        .flat_map(|level| STAGES.into_iter().map(move |name| (level, name)));
    candidates.into_iter().find_map(|(level, name)| {
        let mut rest = id.path.rest[..level].to_vec();
        rest.push(Segment::Field(name.to_owned()));
        let found = walk(example, &rest).is_some_and(Value::is_string);
        found.then_some((id.text.as_str(), Path { root: Root::Body, rest }, name))
    })
}

fn written(path: &Path) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Field(name) if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => format!(".{name}"),
        Segment::Field(name) => format!("[\"{name}\"]"),
        Segment::Index(index) => format!("[{index}]"),
    };
    format!("body{}", path.rest.iter().map(segment).collect::<String>())
}
