//! Floor order (DESIGN section 8): a room of the host names only rooms below its own floor.

use super::source::{Source, Violation};

const FLOORS: [(&str, u8); 13] = [
    ("flow", 1),
    ("clock", 1),
    ("share", 1),
    ("ledger", 2),
    ("credentials", 2),
    ("runtime", 3),
    ("egress", 3),
    ("catalog", 4),
    ("executor", 5),
    // How errors look on the wire: for the doors above, and for nobody below.
    ("problem", 5),
    ("api", 6),
    ("console", 6),
    ("triggers", 6),
];

/// They may go anywhere, and no room may lead into them.
const STAIRS: [&str; 12] = [
    "main",
    "lib",
    "cli",
    "serve",
    "config",
    "telemetry",
    "demo",
    "drill",
    "bench",
    "host_process",
    "build",
    "call",
];

/// The destination stands for the world outside: it names no room at all. Any test may ask it, and the stairs may.
const OUTSIDE: &str = "destination";

enum Place {
    Floor(u8),
    Stairs,
    Outside,
}

fn place(room: &str) -> Option<Place> {
    if room == OUTSIDE {
        return Some(Place::Outside);
    }
    if STAIRS.contains(&room) {
        return Some(Place::Stairs);
    }
    FLOORS
        .iter()
        .find(|(name, _)| *name == room)
        .map(|(_, floor)| Place::Floor(*floor))
}

pub fn check(source: &Source, violations: &mut Vec<Violation>) {
    let Some(room) = source.room() else { return };
    let Some(from) = place(room) else {
        let what = format!("the room `{room}` is on no floor");
        violations.push(source.violation(
            1,
            what,
            "give it a floor in DESIGN section 8 and in tests/tests/tidy/floors.rs",
        ));
        return;
    };
    for (offset, named) in named_rooms(source) {
        let line = source.line_of(offset);
        let Some(to) = place(&named).filter(|_| named != room) else {
            continue;
        };
        let allowed = match (&from, &to) {
            (Place::Stairs, _) => true,
            (Place::Floor(_), Place::Outside) => source.is_test(line),
            (Place::Floor(from), Place::Floor(to)) => to < from,
            (Place::Floor(_), Place::Stairs) | (Place::Outside, _) => false,
        };
        if !allowed {
            let what = format!("the room `{room}` names `{named}`, which is not below it");
            let mend = "let the room above hand in what is needed, or move what both need down";
            violations.push(source.violation(line, what, mend));
        }
    }
}

/// The first name of every path that begins at the crate: `crate::a`, `crate::{a, b::c}`, `super::super::a`.
fn named_rooms(source: &Source) -> Vec<(usize, String)> {
    let mut named = Vec::new();
    for at in source.words("crate::") {
        named.extend(first_names(&source.code, at + "crate::".len()));
    }
    let depth = depth(&source.path);
    for (at, _) in source.code.match_indices("super::") {
        if source.code[..at].ends_with("super::") {
            continue;
        }
        let steps = source.code[at..]
            .split("super::")
            .take_while(|part| part.is_empty())
            .count();
        let inline = usize::from(source.is_test(source.line_of(at)) && !source.is_test_file());
        if steps == depth + inline {
            named.extend(first_names(&source.code, at + steps * "super::".len()));
        }
    }
    named
}

/// How many `super::` lead from the module of a file to the crate.
fn depth(path: &str) -> usize {
    path.strip_prefix("host/src/")
        .map_or(usize::MAX / 2, |below| below.split('/').count())
}

fn first_names(code: &str, at: usize) -> Vec<(usize, String)> {
    let name = |at: usize| {
        code[at..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect::<String>()
    };
    if !code[at..].starts_with('{') {
        return vec![(at, name(at))];
    }
    let (mut names, mut depth) = (Vec::new(), 0_usize);
    let mut expects_name = false;
    for (offset, c) in code[at..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if expects_name && !c.is_whitespace() {
            names.push((at + offset, name(at + offset)));
            expects_name = false;
        }
        expects_name |= depth == 1 && matches!(c, '{' | ',');
    }
    names
}
