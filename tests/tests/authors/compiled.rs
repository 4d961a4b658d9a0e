//! What the guide and `connector new` promise, compiled, tested, built and drilled.

use super::page::{block, blocks};
use super::workshop::{Workshop, can_compile, drill};

#[test]
fn the_guides_connector_passes_and_the_broken_one_fails_as_shown() {
    if !can_compile() {
        return;
    }
    let workshop = Workshop::begin("write");
    assert_eq!(
        without_comments(&block("Cargo.toml")),
        without_comments(&workshop.read("Cargo.toml"))
    );
    let source = block("src/lib.rs");
    workshop.write("connector.toml", &block("connector.toml"));
    workshop.write("src/lib.rs", &format!("{source}{}", fragments()));
    workshop.test();
    workshop.write("src/lib.rs", &source);
    let (whole, said) = workshop.build("whole");
    assert!(said.ends_with(&block("build")), "{said}");
    workshop.write("src/lib.rs", &taken_out(&source, "broken"));
    let (broken, _) = workshop.build("broken");
    drop(workshop);

    let (passed, said) = drill(&whole);
    assert!(passed, "{said}");
    assert_eq!(said, block_of("text", "drill"));
    let (passed, said) = drill(&broken);
    let shown = block_of("text", "broken");
    assert!(!passed && said.contains(&shown), "{said}\ninstead of\n{shown}");
    assert_eq!(said.matches("FAIL ").count(), 1, "{said}");
}

#[test]
fn a_new_connector_that_writes_passes_at_once() {
    passes_at_once("write", 14);
}

#[test]
fn a_new_connector_that_reads_passes_at_once() {
    passes_at_once("read", 12);
}

fn passes_at_once(template: &str, cases: usize) {
    if !can_compile() {
        return;
    }
    let workshop = Workshop::begin(template);
    workshop.test();
    let (file, _) = workshop.build(template);
    drop(workshop);
    let (passed, said) = drill(&file);
    assert!(passed, "{said}");
    assert_eq!(said.matches("    pass  ").count(), cases, "{said}");
}

/// The guide's expressions, as functions that must compile beside its connector.
fn fragments() -> String {
    let all = blocks().into_iter().filter(|block| block.note == "fragment");
    let functions = all.enumerate().map(|(at, block)| {
        format!(
            "#[test]\nfn fragment_{at}() {{\n    let _: Failure = {};\n}}\n",
            block.text.trim()
        )
    });
    format!(
        "\n#[cfg(test)]\nmod fragments {{\nuse super::*;\n{}}}\n",
        functions.collect::<String>()
    )
}

fn block_of(language: &str, note: &str) -> String {
    let found = blocks()
        .into_iter()
        .find(|block| block.language == language && block.note == note);
    found
        .unwrap_or_else(|| panic!("the guide has no block {language} {note}"))
        .text
}

/// The source without the lines that the guide says to take out.
fn taken_out(source: &str, note: &str) -> String {
    let lines = block_of("rust", note);
    assert_eq!(source.matches(&lines).count(), 1, "{lines}");
    source.replace(&lines, "")
}

fn without_comments(text: &str) -> Vec<String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}
