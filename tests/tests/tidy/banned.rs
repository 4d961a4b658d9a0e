//! What only one place may name, and what no place may.

use super::source::{Source, Violation};

/// Words that belong to some rooms of the host alone.
struct Reserved {
    words: &'static [&'static str],
    /// Rooms, or files where that is said more narrowly.
    only: &'static [&'static str],
    in_tests_too: bool,
    why: &'static str,
    mend: &'static str,
}

const RESERVED: [Reserved; 4] = [
    Reserved {
        words: &["sqlx", "rusqlite", "libsqlite3_sys"],
        only: &["host/src/ledger"],
        in_tests_too: true,
        why: "only the ledger talks to a database",
        mend: "give the ledger a command or a query for it",
    },
    Reserved {
        words: &["wasmtime", "wasmtime_wasi"],
        only: &["host/src/runtime", "host/src/build"],
        in_tests_too: true,
        why: "only the runtime knows how a connector is run",
        mend: "give the runtime a method for it",
    },
    Reserved {
        words: &[
            "TcpStream::connect",
            "TcpSocket",
            "UdpSocket",
            "UnixStream",
            "lookup_host",
            "to_socket_addrs",
            "ToSocketAddrs",
            "client::conn",
            "hyper_util::client",
            "reqwest",
            "ureq",
        ],
        only: &[
            "host/src/egress",
            // Keeps a port that refuses; it connects to nothing.
            "host/src/destination",
            // Talk to the host's own API and hooks on its own address, never to a destination.
            "host/src/cli",
            "host/src/demo",
            "host/src/bench",
            "host/src/host_process.rs",
        ],
        in_tests_too: false,
        why: "only the egress connects: addresses are checked and bytes are counted there",
        mend: "send it through `egress`",
    },
    Reserved {
        words: &[
            "SystemTime::now",
            "UNIX_EPOCH.elapsed",
            "std::time::Instant",
            "Timestamp::now",
            "Zoned::now",
            "Utc::now",
            "Local::now",
            "clock_gettime",
            "disallowed_methods",
        ],
        only: &["host/src/clock"],
        // A test that measures how long something took needs the real one.
        in_tests_too: false,
        why: "only the clock reads the time, so that tests can hold it",
        mend: "take the time as a parameter, or from a `SharedClock`",
    },
];

/// What the domain would have to name to stop being pure.
const IMPURE: [&str; 11] = [
    "SystemTime::now",
    "Instant",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "async",
    "tokio",
    "sqlx",
    "wasmtime",
];
const IMPURE_CRATES: [&str; 10] = [
    "tokio",
    "sqlx",
    "wasmtime",
    "hyper",
    "rustix",
    "getrandom",
    "rand",
    "jiff",
    "libsqlite3-sys",
    "oncegate",
];

pub fn check(source: &Source, violations: &mut Vec<Violation>) {
    if source.path.ends_with(".rs") {
        reserved(source, violations);
        nowhere(source, violations);
    }
    domain(source, violations);
    places_of_one_machine(source, violations);
}

fn reserved(source: &Source, violations: &mut Vec<Violation>) {
    if source.room().is_none() {
        return;
    }
    for rule in &RESERVED {
        let allowed = |place: &&str| {
            let rest = source.path.strip_prefix(*place);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == ".rs")
        };
        if rule.only.iter().any(allowed) {
            continue;
        }
        for word in rule.words {
            for line in source.paths(word).into_iter().map(|at| source.line_of(at)) {
                if rule.in_tests_too || !source.is_test(line) {
                    violations.push(source.violation(
                        line,
                        format!("`{word}` stands here, and {}", rule.why),
                        rule.mend,
                    ));
                }
            }
        }
    }
}

fn nowhere(source: &Source, violations: &mut Vec<Violation>) {
    for (word, mend) in [
        ("todo!", "finish it, or leave it out and write an issue"),
        ("unimplemented!", "finish it, or leave it out and write an issue"),
        ("dbg!", "take it out"),
        (
            "#[ignore",
            "mend the test or delete it: a test that does not run promises nothing",
        ),
    ] {
        for at in source.words(word) {
            violations.push(source.violation(source.line_of(at), format!("`{word}` stands here"), mend));
        }
    }
    for at in source.words(".unwrap()") {
        let line = source.line_of(at);
        if !source.is_test(line) {
            let mend = "return an error, or use `expect` and state the invariant";
            violations.push(source.violation(line, "`.unwrap()` outside of tests".to_owned(), mend));
        }
    }
}

fn domain(source: &Source, violations: &mut Vec<Violation>) {
    let mend = "let the caller hand in the time, the random bits or the stored value";
    if source.path.starts_with("host/domain/src/") {
        for word in IMPURE {
            for at in source.words(word) {
                let what = format!("the domain names `{word}`, and it is pure");
                violations.push(source.violation(source.line_of(at), what, mend));
            }
        }
    }
    if source.path == "host/domain/Cargo.toml" {
        let lines = source.text.lines().enumerate();
        for (index, line) in lines.take_while(|(_, line)| *line != "[dev-dependencies]") {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if IMPURE_CRATES.contains(&name) {
                violations.push(source.violation(
                    index + 1,
                    format!("the domain depends on `{name}`, and it is pure"),
                    mend,
                ));
            }
        }
    }
}

/// Folders of the machine on which something was written: put together here, so that this file does not hold them.
fn places_of_one_machine(source: &Source, violations: &mut Vec<Violation>) {
    for place in [
        ["/wor", "k/"].concat(),
        ["/tm", "p/"].concat(),
        ["/roo", "t/"].concat(),
        ["/hom", "e/"].concat(),
    ] {
        for (at, _) in source.text.match_indices(&place) {
            let line = source.text[..at].matches('\n').count() + 1;
            let mend = "use a path relative to the repository, or a temporary folder asked for";
            violations.push(source.violation(line, format!("`{place}` is a place of one machine"), mend));
        }
    }
}
