//! The bench counts what it measures: every event of it has its effects, each exactly once. How fast is not asked here.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

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
    assert!(idle["cpu_percent"].is_number(), "{idle}");
    assert!(
        idle["rss_mb"].as_f64().unwrap() > 0.0 && idle["ready_ms"].as_f64().unwrap() > 0.0,
        "{idle}"
    );
}

#[test]
fn a_soak_says_whether_a_host_stays_as_it_is_and_counts_the_effects() {
    let mut command = Command::new(super::HOST);
    command.args(["bench", "--soak", "0.1", "--events", "200", "--steps", "2", "--json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let [capacity, intervals @ .., soak] = lines.as_slice() else {
        panic!("capacity, intervals and the whole, and not {lines:?}");
    };
    assert_eq!((&capacity["steps"], &capacity["events"]), (&2.into(), &200.into()));
    assert!((3..=4).contains(&intervals.len()), "{intervals:?}");
    for interval in intervals {
        for name in [
            "soak_s",
            "rss_mb",
            "database_mb",
            "log_mb",
            "accept_p50_ms",
            "accept_p999_ms",
        ] {
            assert!(interval[name].as_f64().unwrap() > 0.0, "{name}: {interval}");
        }
    }
    assert_eq!((&soak["soak"], &soak["minutes"]), (&true.into(), &0.1.into()));
    for name in ["duplicates", "lost", "refused"] {
        assert_eq!(soak[name], 0, "{name}: {soak}");
    }
    // At a steady pace: what is due within the time is sent, however the host answers.
    let due = soak["per_s"].as_u64().unwrap() * 6;
    assert!(soak["events"].as_u64().unwrap().abs_diff(due) <= 1, "{soak}");
    assert!(
        soak["per_s"].as_f64().unwrap() <= capacity["completed_per_s"].as_f64().unwrap() / 2.0,
        "{soak}"
    );
    for name in ["memory_flat", "files_flat", "latency_flat", "p999_within"] {
        assert!(soak[name].is_boolean(), "{name}: {soak}");
    }
}

/// The lines that have a name, and these alone.
fn with<'a>(lines: &'a [Value], name: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line.get(name).is_some()).collect()
}

#[test]
fn the_bench_tells_what_history_costs_how_long_listings_take_and_how_a_host_comes_up_before_a_backlog() {
    let mut command = Command::new(super::HOST);
    command.args([
        "bench",
        "--events",
        "100",
        "--seconds",
        "60",
        "--steps",
        "3",
        "--concurrency",
        "4",
    ]);
    command.args(["--history", "200", "--backlog", "1200", "--json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let rows = with(&lines, "steps");
    assert_eq!(
        rows.iter().map(|row| &row["history"]).collect::<Vec<_>>(),
        [0, 200],
        "{rows:?}"
    );

    let listings = with(&lines, "listing");
    assert_eq!(listings.len(), 9);
    for row in listings {
        // The history, the row, those in review, and as much of the warm-up as a second allowed.
        assert!((1_300..=1_400).contains(&row["runs"].as_u64().unwrap()), "{row}");
        assert!(
            row["p50_ms"].as_f64().unwrap() > 0.0 && row["p50_ms"].as_f64() <= row["p95_ms"].as_f64(),
            "{row}"
        );
    }

    let backlogs = with(&lines, "backlog");
    let [ready, asleep] = backlogs.as_slice() else {
        panic!("one that is ready and one asleep, and not {backlogs:?}");
    };
    for row in &backlogs {
        assert_eq!(
            (&row["backlog"], &row["under_way"]),
            (&1_200.into(), &500.into()),
            "{row}"
        );
        assert_eq!(row["duplicates"], 0, "{row}");
        assert!(
            row["ready_ms"].as_f64().unwrap() > 0.0 && row["rss_mb"].as_f64().unwrap() > 0.0,
            "{row}"
        );
    }
    assert_eq!((&ready["asleep"], &asleep["asleep"]), (&false.into(), &true.into()));
    assert!(ready["first_effect_ms"].as_f64().unwrap() > 0.0, "{ready}");
    assert!(ready["ahead_max"].as_u64().unwrap() < 500, "oldest first: {ready}");
    assert!(ready.get("cpu_percent").is_none() && asleep.get("first_effect_ms").is_none());
    assert!(asleep["cpu_percent"].as_f64().unwrap() < 50.0, "asleep: {asleep}");
    assert_eq!(lines.last().unwrap()["idle"], true);
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// Waits a minute at most.
fn wait_until(mut done: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not come to that");
}

#[test]
fn a_bench_that_is_ended_leaves_neither_its_folder_nor_a_host_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(super::HOST);
    command.args(["bench", "--events", "1000000", "--seconds", "600", "--dir"]);
    command.arg(folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let bench = command.spawn().unwrap();
    let mut address = None;
    wait_until(|| {
        let found = std::fs::read_dir(folder.path()).unwrap().next();
        let data = found.map(|within| within.unwrap().path().join("data/address"));
        address = data.and_then(|file| std::fs::read_to_string(file).ok());
        address.is_some()
    });
    let id = rustix::process::Pid::from_raw(bench.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let output = bench.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a signal to terminate"), "{said}");
    assert!(is_empty(folder.path()));
    let address = address.unwrap();
    assert!(
        std::net::TcpStream::connect(address.trim()).is_err(),
        "the host is still there"
    );
}
