//! Where files lie and how they are named.

use super::source::{Source, Violation};

/// Names that say nothing about what is inside, so that everything ends up there.
const NAMELESS: [&str; 8] = [
    "util",
    "utils",
    "common",
    "helper",
    "helpers",
    "misc",
    "shared_utils",
    "stuff",
];

pub fn check(source: &Source, violations: &mut Vec<Violation>) {
    let parts: Vec<&str> = source.path.split('/').collect();
    if parts.last() == Some(&"mod.rs") {
        let mend = "name it after its folder: `foo.rs` beside `foo/`";
        violations.push(source.violation(1, "a `mod.rs`".to_owned(), mend));
    }
    let stems = parts.iter().map(|part| part.split('.').next().unwrap_or(part));
    for stem in stems.filter(|stem| NAMELESS.contains(stem)) {
        let what = format!("`{stem}` is a name for anything");
        violations.push(source.violation(1, what, "name it after what it is for"));
    }
}
