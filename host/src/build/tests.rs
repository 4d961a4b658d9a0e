#![allow(clippy::unwrap_used)]

use super::*;

fn error_of(files: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let error = run(BuildOptions {
        path: dir.path().to_owned(),
        out: None,
    })
    .unwrap_err();
    error.to_string().replace(&dir.path().display().to_string(), "DIR")
}

/// A right manifest, and the shortest.
pub(super) const MANIFEST: &str = r#"name = "mini"
version = "0.1.0"
title = "Mini"
[endpoints.api]
[[actions]]
name = "send"
effect = "write"
says = "sends"
requests = "connection"
"#;

#[test]
fn a_folder_without_a_manifest_says_which_file_is_missing() {
    let text = error_of(&[]);
    assert!(text.starts_with("DIR/connector.toml cannot be read"), "{text}");
    assert!(text.contains("to mend: name the folder of a connector"), "{text}");
}

#[test]
fn a_wrong_manifest_is_reported_before_anything_is_compiled() {
    let text = error_of(&[("connector.toml", &MANIFEST.replace("write", "wriet"))]);
    assert_eq!(
        text,
        "DIR/connector.toml:7:10: no effect \"wriet\"\n  to mend: write effect = \"read\" or \"write\""
    );
}

#[test]
fn a_library_that_is_no_cdylib_says_what_to_add() {
    let cargo =
        "[package]\nname = \"mini\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n";
    let text = error_of(&[("connector.toml", MANIFEST), ("Cargo.toml", cargo), ("lib.rs", "")]);
    assert!(text.contains("its library is no `cdylib`"), "{text}");
    assert!(text.contains("crate-type = [\"cdylib\", \"rlib\"]"), "{text}");
}

#[test]
fn actions_of_manifest_and_code_are_the_same_or_an_error_names_the_odd_one() {
    let manifest = Manifest::parse(MANIFEST).unwrap();
    let schemas = |names: &[&str]| section::Schemas {
        actions: names
            .iter()
            .map(|name| {
                (
                    (*name).to_owned(),
                    section::ActionSchemas {
                        input: true.into(),
                        output: true.into(),
                    },
                )
            })
            .collect(),
        settings: None,
    };
    let file = Path::new("connector.toml");
    assert!(same_actions(file, &manifest, &schemas(&["send"])).is_ok());
    let missing = same_actions(file, &manifest, &schemas(&[])).unwrap_err().to_string();
    assert!(
        missing.contains("the action \"send\" is in the manifest and not in the code"),
        "{missing}"
    );
    let extra = same_actions(file, &manifest, &schemas(&["look", "send"]))
        .unwrap_err()
        .to_string();
    assert!(
        extra.contains("the action \"look\" is in the code and not in the manifest"),
        "{extra}"
    );
}

#[test]
fn a_forbidden_import_is_told_as_the_authors_guide_shows_it() {
    let guide = include_str!("../../../docs/connectors.md");
    let shown = guide.split("```text forbidden\noncegate: ").nth(1).unwrap();
    let shown = shown.split("\n```").next().unwrap();
    let (module, function) = shown.split('`').nth(1).unwrap().split_once("::").unwrap();
    let core = wat::parse_str(format!("(module (import {module:?} {function:?} (func)))")).unwrap();
    let error = BuildError::Interface {
        file: "./Cargo.toml".to_owned(),
        why: check_core_imports(&core).unwrap_err(),
    };
    assert_eq!(error.to_string(), shown);
}

#[test]
fn what_the_code_tells_may_leave_the_settings_open() {
    let text = r#"{"actions": {"send": {"input": true, "output": {"type": "object"}}}, "settings": null}"#;
    assert_eq!(read_schemas(text).unwrap().settings, None);
    assert!(read_schemas("{}").is_err());
}

#[test]
fn a_file_that_is_no_component_is_refused_by_check() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.wasm");
    assert!(check(&file).unwrap_err().to_string().contains("cannot be read"));
    std::fs::write(&file, b"\0asm\x01\0\0\0").unwrap();
    assert!(check(&file).is_err());
}
