//! `[actions.example]`: what the drill plays. An input, and what the destination answers to each listed request.

use super::super::document::{At, Content, Fields, Node, Problems};
use super::rules::RequestRule;
use serde_json::Value;

/// What stands for the step key in an answer; whoever answers puts it in.
pub const KEY_MARK: &str = "{{key}}";

/// One action, played once.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The action's input; an object.
    pub input: Value,
    /// Settings of the connection that the example needs; an object.
    pub settings: Option<Value>,
    /// What the destination answers.
    pub answers: Vec<ExampleAnswer>,
}

/// What a well-behaved destination answers to one of the listed requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleAnswer {
    /// `METHOD PATH`, as the request list says it.
    pub request: String,
    /// What it says.
    pub says: Says,
}

/// One answer for all, or one for each thing that a lookup can find out.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// Whatever happened before.
    Always(Reply),
    /// To the read of a lookup.
    Lookup {
        /// When the effect exists.
        found: Reply,
        /// When it does not.
        absent: Reply,
    },
}

/// A status and a JSON body; `null` is no body. Texts in it may hold `{{key}}` and `{{input./pointer}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl Reply {
    /// The body as text for this input; `{{key}}` stays. A text that is exactly one `{{input./pointer}}` becomes the
    /// value, with its type and its digits.
    pub fn body_for(&self, input: &Value) -> String {
        match &self.body {
            Value::Null => String::new(),
            body => filled(body, input).to_string(),
        }
    }
}

fn filled(body: &Value, input: &Value) -> Value {
    match body {
        Value::String(text) => filled_text(text, input),
        Value::Array(items) => items.iter().map(|item| filled(item, input)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), filled(value, input)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => body.clone(),
    }
}

fn filled_text(text: &str, input: &Value) -> Value {
    let at = |mark: &str| pointer_of(mark).and_then(|pointer| input.pointer(pointer));
    let pieces = pieces(text);
    if let [Piece::Mark(mark)] = pieces.as_slice()
        && let Some(value) = at(mark)
    {
        return value.clone();
    }
    let written = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Mark(mark) => match at(mark) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => format!("{{{{{mark}}}}}"),
        },
    });
    Value::String(written.collect())
}

enum Piece<'t> {
    Text(&'t str),
    /// What stands between `{{` and `}}`.
    Mark(&'t str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, (mark, after))) = rest
        .split_once("{{")
        .and_then(|(before, after)| Some((before, after.split_once("}}")?)))
    {
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        pieces.push(Piece::Mark(mark));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

fn pointer_of(mark: &str) -> Option<&str> {
    mark.trim().strip_prefix("input.")
}

/// Reads an example. `rules`: the list that it must answer, where it is known.
pub(crate) fn read_example(node: &Node, rules: Option<&[RequestRule]>, problems: &mut Problems<'_>) -> Option<Example> {
    let before = problems.count();
    let mut fields = Fields::open(node, "the example", problems)?;
    let mend = "add input = { … }, what a flow would give the action";
    let input = fields
        .need("input", mend, problems)
        .and_then(|node| table(node, "input", problems));
    let settings = fields.take("settings").map(|node| table(node, "settings", problems));
    let mut answers = Vec::new();
    let list = fields.take("answers").and_then(|node| node.list("answers", problems));
    for node in list.unwrap_or_default() {
        answers.extend(read_answer(node, input.as_ref(), rules, problems));
    }
    fields.done(problems);
    // Without any answer it is a sketch, which the drill will refuse; with some it is meant to be played.
    // And what could not be read would only be missed a second time.
    let played = !answers.is_empty() && problems.count() == before;
    for rule in rules.filter(|_| played).unwrap_or_default() {
        let request = rule.to_string();
        if !answers.iter().any(|answer| answer.request == request) {
            problems.add(
                node.at,
                format!("the example has no answer to {request}"),
                format!(
                    "add to `answers` one with request = {request:?} and a status, or with what is `found` and `absent`"
                ),
            );
        }
    }
    Some(Example {
        input: input?,
        settings: settings.flatten(),
        answers,
    })
}

fn table(node: &Node, name: &str, problems: &mut Problems<'_>) -> Option<Value> {
    match &node.content {
        Content::Table(_) => Some(node.to_json()),
        other => {
            problems.add(
                node.at,
                format!("`{name}` is {}", other.kind()),
                format!("write {name} = {{ … }}"),
            );
            None
        }
    }
}

fn read_answer(
    node: &Node,
    input: Option<&Value>,
    rules: Option<&[RequestRule]>,
    problems: &mut Problems<'_>,
) -> Option<ExampleAnswer> {
    let mut fields = Fields::open(node, "the answer", problems)?;
    let mend = "add request = \"POST /contacts\", method and path as the request list says them";
    let request = fields.need("request", mend, problems).and_then(|node| {
        let text = node.text("request", problems)?;
        if let Some(rules) = rules.filter(|rules| !rules.iter().any(|rule| rule.to_string() == text)) {
            let listed: Vec<String> = rules.iter().map(ToString::to_string).collect();
            problems.add(
                node.at,
                format!("{text:?} is not in the action's request list"),
                format!("write one of: {}", listed.join(", ")),
            );
        }
        Some(text.to_owned())
    });
    let (found, absent) = (fields.take("found"), fields.take("absent"));
    let says = match (found, absent) {
        (None, None) => read_reply(&mut fields, node.at, input, problems).map(Says::Always),
        (Some(found), Some(absent)) => {
            let found = open_reply(found, "found", input, problems);
            let absent = open_reply(absent, "absent", input, problems);
            found.zip(absent).map(|(found, absent)| Says::Lookup { found, absent })
        }
        (Some(_), None) | (None, Some(_)) => {
            let mend = "say both: what is answered when the effect is found, and when it is absent";
            problems.add(node.at, "the answer has one of `found` and `absent`", mend);
            None
        }
    };
    fields.done(problems);
    Some(ExampleAnswer {
        request: request?,
        says: says?,
    })
}

fn open_reply(node: &Node, name: &str, input: Option<&Value>, problems: &mut Problems<'_>) -> Option<Reply> {
    let mut fields = Fields::open(node, &format!("`{name}`"), problems)?;
    let reply = read_reply(&mut fields, node.at, input, problems);
    fields.done(problems);
    reply
}

fn read_reply(fields: &mut Fields<'_>, at: At, input: Option<&Value>, problems: &mut Problems<'_>) -> Option<Reply> {
    let status = fields
        .need("status", "add status = 200", problems)
        .and_then(|node| node.whole("status", 200, 599, problems));
    let body = fields.take("body").map_or(Value::Null, Node::to_json);
    if let Some(input) = input {
        check_marks(&body, input, at, problems);
    }
    Some(Reply {
        status: u16::try_from(status?).ok()?,
        body,
    })
}

/// A mark that names nothing would be answered as it stands, and the connector would fail for a strange reason.
fn check_marks(body: &Value, input: &Value, at: At, problems: &mut Problems<'_>) {
    match body {
        Value::String(text) => {
            for piece in pieces(text) {
                let Piece::Mark(mark) = piece else { continue };
                let known = mark == "key" || pointer_of(mark).is_some_and(|pointer| input.pointer(pointer).is_some());
                if !known {
                    problems.add(
                        at,
                        format!("`{{{{{mark}}}}}` is nothing of the example's input"),
                        "write {{key}}, or {{input./name}} with a JSON pointer into `input`",
                    );
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check_marks(item, input, at, problems)),
        Value::Object(fields) => fields
            .values()
            .for_each(|value| check_marks(value, input, at, problems)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GOOD, Manifest};
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_speaks_of_the_input_with_its_types_and_digits() {
        let input: Value = serde_json::from_str(r#"{"id":9007199254740993,"who":{"name":"Ada"}}"#).expect("JSON");
        let reply = Reply {
            status: 200,
            body: json!({ "id": "{{input./id}}", "text": "{{input./who/name}} is {{input./id}}", "key": "{{key}}" }),
        };
        let said = reply.body_for(&input);
        assert_eq!(
            said,
            r#"{"id":9007199254740993,"key":"{{key}}","text":"Ada is 9007199254740993"}"#
        );
        let empty = Reply {
            status: 204,
            body: Value::Null,
        };
        assert_eq!(empty.body_for(&input), "");
    }

    const ANSWERS: &str = r#"
[[actions.example.answers]]
request = "POST /crm/v3/objects/contacts/batch/upsert"
status = 200
body = { results = [{ id = "1", email = "{{input./email}}" }] }
[[actions.example.answers]]
request = "GET /crm/v3/objects/contacts/{email}"
found = { status = 200, body = { id = "1" } }
absent = { status = 404 }
"#;

    /// What is said about a good example with `from` replaced by `to`.
    #[track_caller]
    fn check(from: &str, to: &str, expected: &[&str]) {
        assert!(ANSWERS.contains(from), "{from:?}");
        let answers = ANSWERS.replacen(from, to, 1);
        let source = GOOD.replace("exact = 12.30 }\n", &format!("exact = 12.30 }}{answers}"));
        let said: Vec<String> = match Manifest::parse(&source) {
            Ok(manifest) => {
                assert_eq!(
                    manifest.actions["upsert-contact"]
                        .example
                        .as_ref()
                        .map(|it| it.answers.len()),
                    Some(2)
                );
                Vec::new()
            }
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn an_example_that_the_drill_could_not_play_is_said_where_it_stands() {
        check("{{input./email}}", "{{key}} {{ input./exact }}", &[]);
        check(
            "{{input./email}}",
            "{{input./mail}}",
            &[
                "24:1: `{{input./mail}}` is nothing of the example's input; write {{key}}, or {{input./name}} with a JSON \
                 pointer into `input`",
            ],
        );
        check(
            "request = \"POST /crm/v3/objects/contacts/batch/upsert\"",
            "request = \"POST /crm\"",
            &[
                "25:11: \"POST /crm\" is not in the action's request list; write one of: POST \
                 /crm/v3/objects/contacts/batch/upsert, GET /crm/v3/objects/contacts/{email}",
            ],
        );
        let lookup = ANSWERS
            .find("[[actions.example.answers]]\nrequest = \"GET")
            .expect("there is one");
        check(
            &ANSWERS[lookup..],
            "",
            &[
                "22:1: the example has no answer to GET /crm/v3/objects/contacts/{email}; add to `answers` one with request \
                 = \"GET /crm/v3/objects/contacts/{email}\" and a status, or with what is `found` and `absent`",
            ],
        );
        check(
            "absent = { status = 404 }\n",
            "",
            &[
                "28:1: the answer has one of `found` and `absent`; say both: what is answered when the effect is found, \
                 and when it is absent",
            ],
        );
    }
}
