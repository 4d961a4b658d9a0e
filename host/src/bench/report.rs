//! The figures for people: one line per row, under a head that says what each column is.

use super::alone::Alone;
use super::disk::Disk;
use super::figures::{Row, ms};
use super::stage::Idle;
use super::{backlog, listings, stored};
use std::path::Path;

/// What the disk does by itself, so that the figures can be read beside it.
pub fn disk(disk: &Disk, folder: &Path) -> String {
    let mut said = format!(
        "A 4 KiB append with fdatasync takes this disk {:.3} ms (p99 {:.3} ms), below {}.\n",
        ms(disk.append_ns.p50),
        ms(disk.append_ns.p99),
        folder.display()
    );
    if disk.in_memory {
        said += "That is memory and no disk: a flush is free there, and nothing of it would outlive the machine. Name a folder \
                 on a disk with --dir.\n";
    }
    said
}

/// The head of the table.
pub fn head() -> String {
    let named = line([
        "steps",
        "at once",
        "events",
        "accepted",
        "completed",
        "accept p50",
        "p99",
        "to effect p50",
        "p99",
        "CPU",
        "memory",
        "flushes",
    ]);
    let units = line([
        "", "", "", "/s", "/s", "ms", "ms", "ms", "ms", "ms/event", "MB", "/event",
    ]);
    format!("{named}\n{units}")
}

/// One row, and what is wrong with it.
pub fn row(row: &Row) -> String {
    let mut said = line(
        [
            row.steps.to_string(),
            row.concurrency.to_string(),
            row.events.to_string(),
            format!("{:.0}", row.accepted_per_s),
            format!("{:.0}", row.completed_per_s),
            format!("{:.2}", row.accept_p50_ms),
            format!("{:.2}", row.accept_p99_ms),
            format!("{:.2}", row.effect_p50_ms),
            format!("{:.2}", row.effect_p99_ms),
            format!("{:.3}", row.cpu_ms_per_event),
            format!("{:.1}", row.rss_mb),
            format!("{:.3}", row.flushes_per_event),
        ]
        .each_ref()
        .map(String::as_str),
    );
    for (count, what) in [
        (row.duplicates, "effects happened more than once"),
        (row.lost, "effects never happened"),
        (row.refused, "webhooks were refused"),
    ] {
        if count > 0 {
            said += &format!("\n  WRONG: {count} {what}");
        }
    }
    said
}

/// What history costs: the row that was just played behind it, beside the same on a fresh ledger.
pub fn behind(fresh: &Row, row: &Row) -> String {
    format!(
        "  the same behind {} finished events: {:.0} % of the completed events/s, {:.0} % of the CPU",
        row.history,
        100.0 * row.completed_per_s / fresh.completed_per_s.max(1.0),
        100.0 * row.cpu_ms_per_event / fresh.cpu_ms_per_event.max(0.001)
    )
}

/// What it costs to share a ledger: the row that several hosts just played, beside the same of one.
pub fn shared(one: &Row, row: &Row) -> String {
    format!(
        "  {} hosts on one ledger: {:.0} % of the completed events/s, {:.0} % of the CPU",
        row.hosts,
        100.0 * row.completed_per_s / one.completed_per_s.max(1.0),
        100.0 * row.cpu_ms_per_event / one.cpu_ms_per_event.max(0.001)
    )
}

/// What is asked of a ledger with a history.
pub fn stored(row: &stored::Row) -> String {
    format!(
        "With {} finished runs: to know a duplicate {:.1} µs (p99 {:.1}), to claim a due step {:.1} µs (p99 {:.1}).",
        row.stored, row.duplicate_p50_us, row.duplicate_p99_us, row.claim_p50_us, row.claim_p99_us
    )
}

/// How much more it is with many of them.
pub fn cost_of_stored(few: &stored::Row, many: &stored::Row) -> String {
    format!(
        "With {} instead of {} finished runs a duplicate costs {:.2} times as much, a claim {:.2} times.",
        many.stored,
        few.stored,
        many.duplicate_p50_us / few.duplicate_p50_us.max(0.001),
        many.claim_p50_us / few.claim_p50_us.max(0.001)
    )
}

/// How long people wait for what they look at.
pub fn listings(rows: &[listings::Row]) -> String {
    let runs = rows.first().map_or(0, |row| row.runs);
    let mut said = format!("What people look at, in a ledger of {runs} runs, at the API:");
    for row in rows {
        said += &format!(
            "\n  {:<28} p50 {:>7.2} ms   p95 {:>7.2} ms",
            row.listing, row.p50_ms, row.p95_ms
        );
    }
    said
}

/// A host before a backlog.
pub fn backlog(row: &backlog::Row) -> String {
    let backlog::Row {
        backlog,
        under_way,
        ready_ms,
        rss_mb,
        ..
    } = row;
    let mut said = format!("Before {backlog} waiting events, {under_way} of them under way when their host was gone: ");
    said += &format!("ready {ready_ms:.0} ms after its start");
    if let Some((first_ms, ahead)) = row.first_effect_ms.zip(row.ahead_max) {
        said += &format!(", first effect after {first_ms:.0} ms, no event more than {ahead} places before its turn");
    }
    if let Some(percent) = row.cpu_percent {
        said += &format!(", {percent:.2} % of a core while all wait for later");
    }
    said += &format!("; {rss_mb:.1} MB.");
    if row.duplicates > 0 {
        said += &format!("\n  WRONG: {} effects happened more than once", row.duplicates);
    }
    said
}

/// A host at rest.
pub fn idle(idle: &Idle) -> String {
    format!(
        "Ready {:.0} ms after its start, with compiled connectors; {:.1} MB and {:.2} % of a core with nothing to do, four \
         connectors loaded.",
        idle.ready_ms, idle.rss_mb, idle.cpu_percent
    )
}

/// The runtime by itself.
pub fn alone(alone: &Alone) -> String {
    format!(
        "One call of a connector (instance, call, one request through the door) takes {:.1} µs (p99 {:.1} µs, {} calls).",
        alone.call_p50_us, alone.call_p99_us, alone.calls
    )
}

fn line(cells: [&str; 12]) -> String {
    let widths = [7, 9, 8, 10, 11, 12, 9, 15, 9, 10, 8, 9];
    let cells = cells.iter().zip(widths);
    cells.map(|(cell, width)| format!("{cell:>width$}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::percentile::Percentiles;

    #[test]
    fn columns_stand_below_each_other() {
        let head = head();
        let (named, units) = head.split_once('\n').unwrap();
        let figures = row(&Row::default());
        assert_eq!(named.chars().count(), units.chars().count());
        assert_eq!(named.chars().count(), figures.chars().count());
    }

    #[test]
    fn what_is_wrong_stands_below_its_row() {
        let broken = Row {
            lost: 2,
            ..Row::default()
        };
        assert!(row(&broken).ends_with("\n  WRONG: 2 effects never happened"));
    }

    #[test]
    fn memory_is_not_taken_for_a_disk() {
        let mut measured = Disk {
            append_ns: Percentiles {
                p50: 850_000,
                p99: 2_100_000,
            },
            in_memory: false,
        };
        let said = disk(&measured, Path::new("x"));
        assert!(
            said.contains("0.850 ms (p99 2.100 ms)") && !said.contains("free"),
            "{said}"
        );
        measured.in_memory = true;
        assert!(disk(&measured, Path::new("x")).contains("a flush is free"));
    }
}
