//! How large a file and a function may be, and how a module begins.

use super::source::{Source, Violation, item_end};

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;

pub fn check(source: &Source, violations: &mut Vec<Violation>) {
    if !source.is_unit_test_file() && !source.text.starts_with("//!") {
        let mend = "say in a `//!` header what the module is for and what it must not know";
        violations.push(source.violation(1, "the module does not say what it is for".to_owned(), mend));
    }
    if source.is_test_file() {
        return;
    }
    let lines = source.text.lines().count();
    if lines > FILE_LINES_MAX {
        let what = format!("{lines} lines, {FILE_LINES_MAX} are the limit");
        violations.push(source.violation(FILE_LINES_MAX + 1, what, "split the file by what its parts are for"));
    }
    for at in source.words("fn") {
        let (line, rest) = (source.line_of(at), &source.code[at + 2..]);
        // `fn(…)` is a type.
        if source.is_test(line) || !rest.starts_with(' ') {
            continue;
        }
        let name: String = rest
            .trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        let Some(end) = item_end(&source.code, at) else {
            continue;
        };
        let lines = source.line_of(end) - line + 1;
        if lines > FUNCTION_LINES_MAX {
            let what = format!("`{name}` has {lines} lines, {FUNCTION_LINES_MAX} are the limit");
            violations.push(source.violation(line, what, "give its parts names of their own"));
        }
    }
}
