//! A limit has one home: what stands in two places says two things sooner or later.

use super::source::{Source, Violation};

const HOME: &str = "host/domain/src/limits.rs";

/// The shared limits are all used, and nobody has another one of the same name.
pub fn check(sources: &[Source], violations: &mut Vec<Violation>) {
    let Some(home) = sources.iter().find(|source| source.path == HOME) else {
        return;
    };
    let others: Vec<&Source> = sources.iter().filter(is_other).collect();
    for (line, name) in constants(home).filter(|(_, name)| !is_unit(name)) {
        if !others.iter().any(|source| is_named(source, name)) {
            let what = format!("nobody keeps the limit {name}");
            violations.push(home.violation(line, what, "use it where it holds, or take it out"));
        }
        for other in &others {
            for (line, _) in constants(other).filter(|(_, again)| *again == name) {
                let what = format!("another {name} beside that of the domain");
                violations.push(other.violation(line, what, "use that one, or call this one what it is"));
            }
        }
    }
}

fn is_other(source: &&Source) -> bool {
    source.path.starts_with("host/") && source.path.ends_with(".rs") && source.path != HOME && !source.is_test_file()
}

fn is_named(source: &Source, name: &str) -> bool {
    let places = source.words(name);
    places.into_iter().any(|at| !source.is_test(source.line_of(at)))
}

/// What the limits are written in.
fn is_unit(name: &str) -> bool {
    ["SECOND_MS", "MINUTE_MS", "HOUR_MS", "KIB", "MIB"].contains(&name)
}

/// Each constant with its line.
fn constants(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let declared = source.words("const").into_iter().filter_map(|at| {
        let rest = &source.code[at + "const ".len()..];
        let (name, _) = rest.split_once(':')?;
        Some((source.line_of(at), name))
    });
    declared.filter(|(_, name)| {
        name.bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    })
}
