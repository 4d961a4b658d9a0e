//! The bench counts what it measures: every event of it has its effects, each exactly once. How fast is not asked here.

use serde_json::Value;
use std::process::Command;

#[test]
fn the_bench_tells_what_a_machine_gives_and_counts_the_effects() {
    let mut command = Command::new(super::HOST);
    command.args([
        "bench",
        "--events",
        "200",
        "--seconds",
        "60",
        "--steps",
        "1",
        "--concurrency",
        "4",
        "--json",
    ]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let [row, idle] = lines.as_slice() else {
        panic!("one row and the idle host, and not {lines:?}");
    };
    for (name, count) in [
        ("steps", 1),
        ("concurrency", 4),
        ("events", 200),
        ("duplicates", 0),
        ("lost", 0),
        ("refused", 0),
    ] {
        assert_eq!(row[name], count, "{name}: {row}");
    }
    let figures = [
        "accepted_per_s",
        "completed_per_s",
        "accept_p50_ms",
        "accept_p99_ms",
        "cpu_ms_per_event",
        "rss_mb",
        "flushes_per_event",
        "fdatasync_p50_ms",
    ];
    for name in figures {
        assert!(row[name].as_f64().unwrap() > 0.0, "{name}: {row}");
    }
    assert!(row["accept_p50_ms"].as_f64() <= row["accept_p99_ms"].as_f64(), "{row}");
    assert!(row["effect_p50_ms"].as_f64() <= row["effect_p99_ms"].as_f64(), "{row}");
    assert_eq!(idle["idle"], true);
    assert!(
        idle["rss_mb"].as_f64().unwrap() > 0.0 && idle["ready_ms"].as_f64().unwrap() > 0.0,
        "{idle}"
    );
}
