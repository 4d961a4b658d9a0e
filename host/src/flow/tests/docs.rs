//! The designer's reference tells the truth.

use super::*;

const REFERENCE: &str = include_str!("../../../../docs/flows.md");

/// The blocks of this kind, with what follows the kind on its line.
fn blocks<'d>(kind: &str) -> Vec<(&'d str, String)> {
    let mut found = Vec::new();
    let mut lines = REFERENCE.lines();
    while let Some(line) = lines.next() {
        if let Some(note) = line.strip_prefix("```").and_then(|rest| rest.strip_prefix(kind)) {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((note.trim(), body.join("\n") + "\n"));
        }
    }
    found
}

fn example_of_reference(name: &str) -> Option<String> {
    blocks("json")
        .into_iter()
        .find(|(note, _)| *note == name)
        .map(|(_, text)| text)
}

#[test]
fn every_example_of_the_reference_is_right() {
    let examples = blocks("toml");
    assert!(examples.len() >= 8);
    for (note, text) in examples {
        // A whole flow has a name; what is shown of one is put into a flow that is otherwise right.
        let source = match note {
            "" => text,
            "steps" => with_steps(&text),
            "trigger" => with_trigger(&text),
            other => panic!("what is {other}?"),
        };
        assert_eq!(check_with(&source, &example_of_reference), "ok", "{source}");
    }
}

#[test]
fn the_reference_lists_every_filter_and_test() {
    for name in engine::FILTERS.iter().chain(&engine::TESTS) {
        assert!(REFERENCE.contains(&format!("`{name}`")), "{name}");
    }
}
