//! Every rule is shown something bad and must object, and something close to it that is good and must not.

use crate::check;

/// What the rules say about several files.
fn said(files: &[(&str, &str)]) -> Vec<String> {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    check(files.collect()).iter().map(ToString::to_string).collect()
}

/// The lines that the rules object to in one file, with the part of the complaint that names the rule.
fn complaints(path: &str, text: &str) -> Vec<(usize, String)> {
    let violations = check(vec![(path.to_owned(), text.to_owned())]);
    violations
        .into_iter()
        .map(|violation| (violation.line, violation.what))
        .collect()
}

/// One complaint, on this line, that says this.
#[track_caller]
fn bad(path: &str, text: &str, line: usize, says: &str) {
    let complaints = complaints(path, text);
    assert!(
        complaints.len() == 1 && complaints[0].0 == line && complaints[0].1.contains(says),
        "{complaints:?}"
    );
}

#[track_caller]
fn good(path: &str, text: &str) {
    assert_eq!(complaints(path, text), []);
}

#[test]
fn a_room_names_only_rooms_below_it() {
    bad(
        "host/src/flow/plan.rs",
        "//! x\nuse crate::ledger::Ledger;\n",
        2,
        "names `ledger`",
    );
    bad(
        "host/src/flow.rs",
        "//! x\nuse crate::clock::SharedClock;\n",
        2,
        "names `clock`",
    );
    bad(
        "host/src/ledger.rs",
        "//! x\nfn f() { crate::executor::go() }\n",
        2,
        "names `executor`",
    );
    bad(
        "host/src/egress.rs",
        "//! x\nuse crate::{\n    clock::{A, B},\n    runtime::C,\n};\n",
        4,
        "names `runtime`",
    );
    bad(
        "host/src/egress/a.rs",
        "//! x\nuse super::super::catalog::C;\n",
        2,
        "names `catalog`",
    );
    bad(
        "host/src/ledger.rs",
        "//! x\nuse super::catalog::C;\n",
        2,
        "names `catalog`",
    );
    bad(
        "host/src/api/runs.rs",
        "//! x\nuse crate::triggers::hooks;\n",
        2,
        "names `triggers`",
    );
    bad(
        "host/src/ledger.rs",
        "//! x\nuse crate::config::Config;\n",
        2,
        "names `config`",
    );
    bad(
        "host/src/destination/a.rs",
        "//! x\nuse crate::clock::Clock;\n",
        2,
        "names `clock`",
    );
    bad("host/src/attic.rs", "//! x\n", 1, "on no floor");
    bad(
        "host/src/egress.rs",
        "//! x\nuse crate::destination::D;\n",
        2,
        "names `destination`",
    );
}

#[test]
fn a_room_may_go_down_and_the_stairs_anywhere() {
    good(
        "host/src/ledger/a.rs",
        "//! x\nuse crate::{clock::C, flow::{D, executor}};\nuse crate::ledger::E;\nuse super::b;\n",
    );
    good(
        "host/src/cli/a.rs",
        "//! x\nuse crate::demo::D;\nuse crate::executor::E;\n",
    );
    good(
        "host/src/flow.rs",
        "//! x\n// crate::ledger\nconst A: &str = \"crate::ledger\";\n",
    );
    good("host/src/egress/tests.rs", "//! x\nuse crate::destination::D;\n");
    good(
        "host/src/egress.rs",
        "//! x\n#[cfg(test)]\nmod tests {\n    use super::a;\n    use crate::destination::D;\n}\n",
    );
}

#[test]
fn some_words_belong_to_one_room() {
    bad("host/src/api.rs", "//! x\nuse sqlx::Row;\n", 2, "only the ledger");
    bad(
        "host/src/executor/tests.rs",
        "//! x\nuse sqlx::Row;\n",
        2,
        "only the ledger",
    );
    bad(
        "host/src/catalog.rs",
        "//! x\nuse wasmtime::Engine;\n",
        2,
        "only the runtime",
    );
    bad(
        "host/src/triggers.rs",
        "//! x\nasync fn f() { TcpStream::connect(a).await }\n",
        2,
        "only the egress",
    );
    bad(
        "host/src/catalog.rs",
        "//! x\nuse hyper::client::conn::http1;\n",
        2,
        "only the egress",
    );
    bad(
        "host/src/executor.rs",
        "//! x\nfn f() { let t = SystemTime::now(); }\n",
        2,
        "only the clock",
    );
    bad("host/src/ledger_of.rs", "//! x\n", 1, "on no floor");
    bad(
        "host/src/ledger.rs",
        "//! x\n#[allow(clippy::disallowed_methods)]\nfn f() {}\n",
        2,
        "only the clock",
    );
    bad(
        "host/src/demo.rs",
        "//! x\nuse std::time::{\n    Duration,\n    Instant,\n};\n",
        4,
        "only the clock",
    );
    good(
        "host/src/demo.rs",
        "//! x\nuse std::time::{Duration};\nuse tokio::time::Instant;\n",
    );
    good("host/src/ledger.rs", "//! x\nuse sqlx::Row;\n");
    good("host/src/ledger/sqlite.rs", "//! x\nuse sqlx::Row;\n");
    good("host/src/runtime/a.rs", "//! x\nuse wasmtime::Engine;\n");
    good("host/src/egress/a.rs", "//! x\nuse hyper::client::conn::http1;\n");
    good(
        "host/src/api.rs",
        "//! x\n#[cfg(test)]\nmod tests {\n    fn f() { TcpStream::connect(a); }\n}\n",
    );
    good("host/src/clock.rs", "//! x\nfn f() { SystemTime::now(); }\n");
    good(
        "host/src/api.rs",
        "//! Not sqlx.\n// sqlx\nconst A: &str = \"sqlx\";\nconst B: &str = r#\"a\"sqlx\"#;\nfn my_sqlx() {}\n",
    );
}

#[test]
fn the_domain_is_pure() {
    bad(
        "host/domain/src/retry.rs",
        "//! x\nuse std::fs::File;\n",
        2,
        "`std::fs`",
    );
    bad(
        "host/domain/src/retry.rs",
        "//! x\nfn f() { SystemTime::now(); }\n",
        2,
        "`SystemTime::now`",
    );
    bad("host/domain/src/a/b.rs", "//! x\nasync fn f() {}\n", 2, "`async`");
    bad(
        "host/domain/Cargo.toml",
        "[dependencies]\nserde = \"1\"\ntokio.workspace = true\n",
        3,
        "`tokio`",
    );
    good(
        "host/domain/Cargo.toml",
        "[dependencies]\nserde = \"1\"\n[dev-dependencies]\ntokio = \"1\"\n",
    );
}

#[test]
fn nothing_is_left_unfinished_or_unchecked() {
    bad("host/src/cli.rs", "//! x\nfn f() { todo!() }\n", 2, "todo!");
    bad("tests/src/lib.rs", "//! x\n#[ignore]\nfn f() {}\n", 2, "#[ignore");
    bad(
        "tests/src/lib.rs",
        "//! x\n#[ignore = \"slow\"]\nfn f() {}\n",
        2,
        "#[ignore",
    );
    bad(
        "sdk/rust/src/lib.rs",
        "//! x\nfn f() { a.unwrap() }\n",
        2,
        "`.unwrap()`",
    );
    bad(
        "tests/guests/puppet/src/lib.rs",
        "//! x\nfn f() { a.unwrap() }\n",
        2,
        "`.unwrap()`",
    );
    bad(
        "host/src/cli.rs",
        "//! x\n#[cfg(test)]\nmod tests;\nfn f() { a.unwrap() }\n",
        4,
        "`.unwrap()`",
    );
    good(
        "host/src/cli.rs",
        "//! x\nfn f<'a>(c: &'a str) { a.unwrap_or('\"'); b(\"x.unwrap()\") }\n",
    );
    good(
        "host/src/cli.rs",
        "//! x\n#[cfg(test)]\nmod tests {\n    fn f() { a.unwrap() }\n}\n",
    );
    good("host/src/cli/tests.rs", "//! x\nfn f() { a.unwrap() }\n");
    good("host/src/cli/tests/a.rs", "//! x\nfn f() { a.unwrap() }\n");
}

#[test]
fn no_place_of_one_machine_is_named() {
    for place in [["/wor", "k/"], ["/tm", "p/"], ["/roo", "t/"], ["/hom", "e/"]].map(|parts| parts.concat()) {
        bad("docs/guide.md", &format!("Hello\n\nsee {place}x\n"), 3, &place);
        bad("host/src/cli.rs", &format!("//! x\n// {place}x\n"), 2, &place);
    }
    good(
        "docs/guide.md",
        "see target/connectors and /work and https://example.com/\n",
    );
}

#[test]
fn files_and_functions_stay_small_and_say_what_they_are_for() {
    bad("host/src/cli.rs", "use std::fmt;\n", 1, "what it is for");
    bad("tests/tests/leads.rs", "use std::fmt;\n", 1, "what it is for");
    good("host/src/cli/tests.rs", "use super::*;\n");
    let lines = |count: usize| "// x\n".repeat(count);
    bad("host/src/cli.rs", &format!("//! x\n{}", lines(400)), 401, "401 lines");
    good("host/src/cli.rs", &format!("//! x\n{}", lines(399)));
    good("tests/tests/leads.rs", &format!("//! x\n{}", lines(400)));

    let function = |count: usize| {
        format!(
            "//! x\nfn f(a: fn(u8)) -> u8 {{\n{}}}\n",
            "    g(\"}\");\n".repeat(count)
        )
    };
    bad("host/src/cli.rs", &function(69), 2, "`f` has 71 lines");
    good("host/src/cli.rs", &function(68));
    good("host/src/cli/tests.rs", &function(69));
}

#[test]
fn files_are_named_after_what_they_are_for() {
    bad("host/src/cli/mod.rs", "//! x\n", 1, "mod.rs");
    bad("host/src/cli/utils.rs", "//! x\n", 1, "`utils`");
    bad("tests/src/common/a.rs", "//! x\n", 1, "`common`");
    good("host/src/cli.rs", "//! x\n");
}

#[test]
fn a_shared_limit_is_kept_by_somebody_and_has_no_double() {
    let home = (
        "host/domain/src/limits.rs",
        "//! x\npub const KEY_BYTES_MAX: usize = 2 * KIB;\nconst KIB: usize = 1;\n",
    );
    let user = ("host/src/flow.rs", "//! x\nfn f() { g(limits::KEY_BYTES_MAX) }\n");
    assert_eq!(said(&[home, user]), Vec::<String>::new());
    let unused = said(&[home, ("host/src/flow/tests.rs", "fn f() { g(KEY_BYTES_MAX) }\n")]);
    assert!(unused.len() == 1 && unused[0].contains("nobody keeps"), "{unused:?}");
    let double = (
        "host/src/egress.rs",
        "//! x\nconst KEY_BYTES_MAX: usize = 3;\nconst KIB: usize = 1;\n",
    );
    let twice = said(&[home, user, double]);
    assert!(
        twice.len() == 1 && twice[0].starts_with("host/src/egress.rs:2: another"),
        "{twice:?}"
    );
}
