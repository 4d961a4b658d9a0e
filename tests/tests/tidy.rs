//! The repository keeps its own rules: this test reads its text and says where one is broken and what to do about it.
//!
//! It knows paths and characters and compiles nothing. Every rule is shown a bad sample in `samples`, so that none of them
//! passes because it looks at nothing.

mod tidy {
    pub mod banned;
    pub mod floors;
    pub mod layout;
    pub mod limits;
    mod samples;
    pub mod shape;
    pub mod source;
}

use std::fs;
use std::path::Path;
use tidy::source::{Source, Violation};
use tidy::{banned, floors, layout, limits, shape};

/// What a walk over the repository skips: what is built, fetched or made by running.
const SKIPPED: [&str; 3] = ["target", "oncegate-data", "node_modules"];

#[test]
fn the_repository_keeps_its_own_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this crate lies in a folder of the repository");
    let files = walk(root, root);
    assert!(
        files.iter().any(|(path, _)| path == "host/src/lib.rs"),
        "the walk over {} found no host",
        root.display()
    );
    let violations = check(files);
    let lines: Vec<String> = violations.iter().map(Violation::to_string).collect();
    assert!(
        lines.is_empty(),
        "{} rules broken:\n{}\n",
        lines.len(),
        lines.join("\n")
    );
}

/// All rules over all files, given as path (from the top, with `/`) and text.
fn check(files: Vec<(String, String)>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let sources: Vec<Source> = files.into_iter().map(|(path, text)| Source::new(path, text)).collect();
    for source in &sources {
        layout::check(source, &mut violations);
        banned::check(source, &mut violations);
        if source.path.ends_with(".rs") {
            floors::check(source, &mut violations);
            shape::check(source, &mut violations);
        }
    }
    limits::check(&sources, &mut violations);
    violations
}

fn walk(root: &Path, folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{} cannot be read: {error}", folder.display()));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry can be read").path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && name != ".ci";
        if hidden || SKIPPED.contains(&name.as_str()) || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files.extend(walk(root, &path));
        } else if let Ok(text) = fs::read_to_string(&path) {
            let relative = path.strip_prefix(root).expect("the walk stays below its root");
            files.push((relative.to_string_lossy().replace('\\', "/"), text));
        }
    }
    files
}
