//! What the guide says and no compiler is needed for.

use super::page::{block, blocks, text};
use oncegate::catalog::{ConnectionSpec, Manifest};
use oncegate::egress::ExchangeLimits;
use oncegate::runtime::RuntimeLimits;
use oncegate_domain::limits::READS_PER_ATTEMPT_MAX;

/// Some fields of an action, in a manifest that is otherwise right.
fn with_action(fields: &str) -> String {
    let requests = "[[actions.requests]]\nmethod = \"POST\"\npath = \"/things\"\nkind = \"write\"\n";
    let requests = if fields.contains("[[actions.requests]]") {
        ""
    } else {
        requests
    };
    format!(
        "name = \"guide\"\nversion = \"0.1.0\"\ntitle = \"Guide\"\n[endpoints.api]\n[[actions]]\nname = \"do\"\n\
         effect = \"write\"\nsays = \"does it\"\n{fields}\n{requests}"
    )
}

#[test]
fn every_block_of_the_guide_is_of_a_known_kind_and_what_is_toml_is_right() {
    let mut manifests = 0;
    for block in blocks() {
        match (block.language, block.note) {
            ("toml", "connector.toml") => {
                Manifest::parse(&block.text).unwrap_or_else(|problems| panic!("{problems:?}"));
            }
            ("toml", "action") => {
                manifests += 1;
                Manifest::parse(&with_action(&block.text)).unwrap_or_else(|problems| panic!("{problems:?}"));
            }
            ("toml", file) if file.starts_with("connections/") => {
                let spec = ConnectionSpec::parse(&block.text).unwrap_or_else(|problems| panic!("{problems:?}"));
                assert_eq!(file, format!("connections/{}.toml", spec.name));
            }
            // What `compiled` builds, compares and runs; and what a reader types.
            ("toml", "Cargo.toml") | ("rust", "src/lib.rs" | "broken" | "fragment") => {}
            ("text", "build" | "drill" | "broken" | "forbidden") | ("sh", "") => {}
            (language, note) => panic!("nothing checks a block `{language} {note}`"),
        }
    }
    assert!(manifests >= 4);
}

#[test]
fn the_guide_explains_every_case_that_the_drill_shows() {
    let shown = block("drill");
    let cases: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pass")?.split_whitespace().next())
        .collect();
    assert_eq!(cases.len(), 14);
    for case in cases {
        assert!(text().contains(&format!("\n| `{case}` | ")), "{case}");
    }
}

#[test]
fn the_guide_tells_the_limits_that_hold() {
    let runtime = RuntimeLimits::default();
    let exchange = ExchangeLimits::default();
    let (mib, kib) = (|bytes: usize| bytes >> 20, |bytes: usize| bytes >> 10);
    let (small, large) = (&runtime.small, &runtime.large);
    let seconds = |ms: u64| format!("{} s", ms / 1_000);
    let answer = format!(
        "{} KiB, {} MiB",
        kib(exchange.header_bytes_max),
        mib(exchange.body_bytes_max)
    );
    let log = format!("{}, {} KiB", runtime.log_lines_max, kib(runtime.log_bytes_max));
    let in_mib = |bytes: usize| format!("{} MiB", mib(bytes));
    let both = |limit: String| (limit.clone(), limit);
    for (row, (small, large)) in [
        ("computing", (seconds(small.cpu_ms_max), seconds(large.cpu_ms_max))),
        (
            "computing and waiting, together",
            both(seconds(runtime.wall_clock_ms_max)),
        ),
        (
            "memory",
            (in_mib(small.memory_bytes_max), in_mib(large.memory_bytes_max)),
        ),
        ("stack", both(format!("{} KiB", kib(runtime.stack_bytes_max)))),
        ("one request, with its body", both(in_mib(runtime.hostcall_bytes_max))),
        ("an answer: headers, body", both(answer)),
        (
            "requests that read, in one attempt",
            both(READS_PER_ATTEMPT_MAX.to_string()),
        ),
        ("the output", both(in_mib(runtime.output_bytes_max))),
        ("log lines, and their bytes together", both(log)),
        ("the `.wasm` file", both(in_mib(runtime.component_bytes_max))),
    ] {
        let row = format!("\n| {row} | {small} | {large} |\n");
        assert!(text().contains(&row), "{row}");
    }
}
