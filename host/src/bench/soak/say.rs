//! A soak for people: one line per interval, and what it came to.

use super::verdict::{Interval, P999_MS_MAX, Soak};
use crate::bench::figures::mb;

/// What is sent, and for how long.
pub fn pace(per_s: u64, soak_ms: u64) -> String {
    format!(
        "\nHalf of what it completes, {per_s} events/s, for {:.1} minutes:",
        soak_ms as f64 / 60_000.0
    )
}

/// The head of the table.
pub fn head() -> String {
    let named = line([
        "after",
        "events",
        "memory",
        "database",
        "log",
        "accept p50",
        "p99",
        "p99.9",
    ]);
    let units = line(["s", "", "MB", "MB", "MB", "ms", "ms", "ms"]);
    format!("{named}\n{units}")
}

/// One interval.
pub fn interval(interval: &Interval) -> String {
    line(
        [
            format!("{:.0}", interval.at_s),
            interval.events.to_string(),
            format!("{:.1}", mb(interval.rss_bytes)),
            format!("{:.1}", mb(interval.database_bytes)),
            format!("{:.1}", mb(interval.log_bytes)),
            format!("{:.2}", interval.accept.accept_p50_ms),
            format!("{:.2}", interval.accept.accept_p99_ms),
            format!("{:.2}", interval.accept.accept_p999_ms),
        ]
        .each_ref()
        .map(String::as_str),
    )
}

/// What it came to.
pub fn verdict(soak: &Soak) -> String {
    let flat = |is_flat| if is_flat { "flat" } else { "NOT FLAT" };
    let mut said = format!(
        "\n{} events. Memory {}, files {}, answers {}. Accept p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms ({} the {} ms \
         asked for).",
        soak.events,
        flat(soak.memory_flat),
        flat(soak.files_flat),
        flat(soak.latency_flat),
        soak.accept.accept_p50_ms,
        soak.accept.accept_p99_ms,
        soak.accept.accept_p999_ms,
        if soak.p999_within { "within" } else { "ABOVE" },
        P999_MS_MAX,
    );
    for (count, what) in [
        (soak.duplicates, "effects happened more than once"),
        (soak.lost, "effects never happened"),
        (soak.refused, "webhooks were refused"),
    ] {
        if count > 0 {
            said += &format!("\n  WRONG: {count} {what}");
        }
    }
    said
}

fn line(cells: [&str; 8]) -> String {
    let widths = [7, 9, 9, 10, 8, 12, 9, 9];
    let cells = cells.iter().zip(widths);
    cells.map(|(cell, width)| format!("{cell:>width$}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_what_is_wrong_below_all() {
        let head = head();
        let widths = head.lines().map(|line| line.chars().count());
        let figures = interval(&Interval::default()).chars().count();
        assert!(widths.into_iter().all(|width| width == figures), "{head}");
        let said = verdict(&Soak {
            lost: 2,
            memory_flat: true,
            ..Soak::default()
        });
        assert!(said.contains("Memory flat, files NOT FLAT, answers NOT FLAT"), "{said}");
        assert!(said.ends_with("\n  WRONG: 2 effects never happened"), "{said}");
    }
}
