#![allow(clippy::unwrap_used)]

use super::BUILTIN;
use crate::catalog::approved::approve;
use crate::catalog::connection::ConnectionSpec;
use crate::catalog::manifest::{RequestKind, Requests, Says};
use crate::catalog::{rights, section};
use crate::flow::{EventView, Flow, RunView, Scope};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins")
}

/// The examples of a connector's README.
fn examples(name: &str) -> Vec<String> {
    let page = std::fs::read_to_string(plugins().join(name).join("README.md")).unwrap();
    let blocks = page.split("```toml\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_connector_of_the_repository_is_built_in() {
    let mut folders: Vec<String> = std::fs::read_dir(plugins())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(BUILTIN.map(|connector| connector.name).to_vec(), folders);
}

#[test]
fn each_describes_itself_and_says_its_rights() {
    for connector in BUILTIN {
        let description = section::read(connector.bytes).unwrap();
        assert_eq!(description.manifest.name, connector.name);
        assert!(!rights::of(&description.manifest).is_empty());
        assert!(
            connector.bytes.len() < 400_000,
            "{}: {} bytes",
            connector.name,
            connector.bytes.len()
        );
    }
}

/// What an operator copies works: the connection of each README is approved with the connector as it is.
#[test]
fn the_connection_in_each_readme_is_approved() {
    for connector in BUILTIN {
        let description = section::read(connector.bytes).unwrap();
        let all = examples(connector.name);
        let whole = all.iter().find(|example| example.contains("connector = ")).unwrap();
        let parts = all.iter().filter(|example| example.starts_with("[[trust."));
        for text in std::iter::once(whole.clone()).chain(parts.map(|part| format!("{whole}\n{part}"))) {
            let spec = ConnectionSpec::parse(&text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
            let approved =
                approve(&description, "sha256:00", &spec, 1).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
            assert!(!approved.is_empty());
        }
    }
}

/// And so does what a designer copies: the steps of each README are right, and give inputs that the connector takes.
#[test]
fn the_steps_in_each_readme_fit_their_connector() {
    const TRIGGER: &str =
        "name = \"test\"\n[trigger.webhook]\npath = \"t\"\nverify = \"none\"\nkey = \"{{ body.id }}\"\n";
    let body = json!({ "id": "1", "email": "ada@example.com", "name": "Ada" });
    for connector in BUILTIN {
        let description = section::read(connector.bytes).unwrap();
        for example in examples(connector.name)
            .iter()
            .filter(|example| example.starts_with("[[steps]]"))
        {
            let (flow, _) = Flow::parse(&format!("{TRIGGER}{example}"), &|_| None)
                .unwrap_or_else(|problems| panic!("{problems:?}"));
            for (index, step) in flow.steps().iter().enumerate() {
                let input = rendered(&flow, index, &body);
                description.actions[&step.action]
                    .input
                    .check(&input)
                    .unwrap_or_else(|why| panic!("{why}: {input}\n{example}"));
            }
        }
    }
}

/// The input of a step, where the steps before it gave out an id.
fn rendered(flow: &Flow, index: usize, body: &Value) -> Value {
    let none = BTreeMap::new();
    let event = EventView {
        id: "e",
        received_ms: 1_769_851_800_000,
        source: "test",
        body,
        headers: &none,
        query: &none,
    };
    let run = RunView {
        id: "r",
        key: "1",
        started_ms: 1_769_851_800_000,
    };
    let made = json!({ "id": "512" });
    let outputs = vec![Some(&made); flow.steps().len()];
    let scope = Scope {
        event: &event,
        outputs: &outputs,
        run,
        review: None,
    };
    flow.input(index, &scope).unwrap()
}

/// The drill plays these: an action without an example, or with one that does not fit, could not be drilled.
#[test]
fn every_action_has_an_example_that_fits_its_schemas_and_its_request_list() {
    for connector in BUILTIN.iter().filter(|connector| connector.name != "http") {
        let description = section::read(connector.bytes).unwrap();
        for (name, action) in &description.manifest.actions {
            let example = action.example.as_ref().unwrap();
            description.actions[name].input.check(&example.input).unwrap();
            if let Some(settings) = &description.settings {
                settings.check(example.settings.as_ref().unwrap_or(&json!({}))).unwrap();
            }
            let Requests::Listed(rules) = &action.requests else {
                panic!("{name} lists its requests")
            };
            for rule in rules {
                let answer = example.answers.iter().find(|answer| answer.request == rule.to_string());
                let asks = matches!(answer.unwrap().says, Says::Lookup { .. });
                assert_eq!(asks, rule.kind == RequestKind::Read, "{rule}");
            }
        }
    }
}
