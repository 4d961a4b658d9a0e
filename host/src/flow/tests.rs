//! Data in, text out: a definition goes in, what the check says comes out.
#![allow(clippy::unwrap_used)]

mod body;
mod bounds;
mod check;
mod docs;
mod key;
mod order;
mod packed;
mod presets;
mod properties;
mod rendering;
mod retry;
mod trigger;

use super::*;
use serde_json::json;
use std::collections::BTreeMap;

/// The flow of FLOWS.md, to the letter.
const WEBSITE_LEAD: &str = include_str!("tests/website-lead.toml");
const LEAD: &str = r#"{"submission_id": "S-1", "email": "ada@example.com", "name": "Ada", "phone": "+49151"}"#;

fn examples(name: &str) -> Option<String> {
    (name == "lead.example.json").then(|| LEAD.to_owned())
}

/// What the check says: `ok`, or a line per problem; warnings are marked.
fn check(source: &str) -> String {
    check_with(source, &examples)
}

fn check_with(source: &str, examples: &dyn Fn(&str) -> Option<String>) -> String {
    match Flow::parse(source, examples) {
        Ok((_, warnings)) if warnings.is_empty() => "ok".to_owned(),
        Ok((_, warnings)) => warnings
            .iter()
            .map(|w| format!("warning {w}"))
            .collect::<Vec<_>>()
            .join("\n"),
        Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

/// A definition around these lines of `[trigger.webhook]`, the key included.
fn with_trigger(lines: &str) -> String {
    format!("name = \"test\"\n[trigger.webhook]\n{lines}\n[[steps]]\nid = \"a\"\nuse = \"crm.make\"\n")
}

/// A definition around these steps (and whatever else follows).
fn with_steps(steps: &str) -> String {
    format!(
        "name = \"test\"\n[trigger.webhook]\npath = \"t\"\nverify = \"none\"\nkey = \"{{{{ body.id }}}}\"\n{steps}\n"
    )
}

/// A definition of one step with this `with`.
fn with_input(with: &str) -> String {
    with_steps(&format!(
        "[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwith = {{ {with} }}"
    ))
}

/// A flow that must be right.
fn flow(source: &str) -> Flow {
    match Flow::parse(source, &examples) {
        Ok((flow, _)) => flow,
        Err(problems) => panic!("{}", report("flow", "error", &problems)),
    }
}

/// An event with everything that a template may ask for.
struct Delivery {
    body: Value,
    headers: BTreeMap<String, String>,
    query: BTreeMap<String, String>,
}

impl Delivery {
    fn new(body: &str) -> Delivery {
        let body = parse_json(body.as_bytes(), &BodyLimits::default()).unwrap();
        let headers = BTreeMap::from([("idempotency-key".to_owned(), "K-1".to_owned())]);
        Delivery {
            body,
            headers,
            query: BTreeMap::from([("shop".to_owned(), "eu".to_owned())]),
        }
    }

    fn event(&self) -> EventView<'_> {
        EventView {
            id: "E1",
            received_ms: 1_790_000_000_000,
            source: "webhook",
            body: &self.body,
            headers: &self.headers,
            query: &self.query,
        }
    }
}

fn scope<'a>(event: &'a EventView<'a>, outputs: &'a [Option<&'a Value>]) -> Scope<'a> {
    Scope {
        event,
        outputs,
        run: RunView {
            id: "R1",
            key: "K",
            started_ms: 1_790_000_001_000,
        },
        review: None,
    }
}

/// The key of this body, or why there is none.
fn key_of(flow: &Flow, body: &str) -> String {
    match flow.event_key(&Delivery::new(body).event()) {
        Ok(key) => key.as_str().to_owned(),
        Err(error) => format!("refused: {error}"),
    }
}

/// What the only field `x` of the input becomes for this body, as JSON; or why nothing is sent.
fn rendered(template: &str, body: &str) -> String {
    let flow = flow(&with_input(&format!("x = {template}")));
    let delivery = Delivery::new(body);
    match flow.input(0, &scope(&delivery.event(), &[None])) {
        Ok(input) => input["x"].to_string(),
        Err(error) => format!("nothing sent: {error}"),
    }
}

/// Whether a step with this `when` runs for this body; or why nobody knows.
fn runs(when: &str, body: &str) -> String {
    let when = when.replace('\'', "\\u0027");
    let flow = flow(&with_steps(&format!(
        "[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwhen = \"{when}\""
    )));
    let delivery = Delivery::new(body);
    match flow.when(0, &scope(&delivery.event(), &[None])) {
        Ok(runs) => runs.to_string(),
        Err(error) => format!("unknown: {error}"),
    }
}
