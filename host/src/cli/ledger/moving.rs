//! `oncegate ledger move` and `reopen`: from one database to another.

use crate::cli::terminal::{escape, say, table};
use crate::clock::{Clock, SystemClock};
use crate::ledger::{Asked, LedgerPlace, MovedTable, Progress, move_ledger, reopen};
use anyhow::Context;
use tokio::runtime::Runtime;

pub fn run(from: &LedgerPlace, to: &LedgerPlace) -> anyhow::Result<()> {
    let moved = runtime()?.block_on(move_ledger(from, to, &asked(""), told))?;
    say(&moved_told(&moved, from, to));
    Ok(())
}

pub fn open_again(place: &LedgerPlace, reason: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        !reason.trim().is_empty(),
        "say with --reason how you know that no host has worked on the copy"
    );
    runtime()?.block_on(reopen(place, &asked(reason)))?;
    say(&format!("Hosts may work on {} again.\n", escape(&place.told())));
    Ok(())
}

fn runtime() -> anyhow::Result<Runtime> {
    Runtime::new().context("cannot start the async runtime")
}

fn asked(why: &str) -> Asked {
    Asked {
        who: "command line".to_owned(),
        why: why.to_owned(),
        at_ms: SystemClock.now_ms(),
    }
}

/// Rows between two lines about one table.
const ROWS_PER_LINE: u64 = 100_000;

fn told(progress: Progress<'_>) {
    match progress {
        Progress::Copied { table, rows } if rows.is_multiple_of(ROWS_PER_LINE) => {
            eprintln!("{table}: {rows} rows copied")
        }
        Progress::Copied { .. } => {}
        Progress::Verifying { table } => eprintln!("{table}: reading it back"),
    }
}

fn moved_told(moved: &[MovedTable], from: &LedgerPlace, to: &LedgerPlace) -> String {
    let row = |moved: &MovedTable| vec![moved.name.clone(), moved.rows.to_string(), moved.checksum.clone()];
    let rows: Vec<Vec<String>> = moved.iter().map(row).collect();
    let mut told = table(&["TABLE", "ROWS", "CHECKSUM, THE SAME ON BOTH SIDES"], &rows);
    let changed: u64 = moved.iter().map(|moved| moved.texts_changed).sum();
    if changed > 0 {
        told += &format!(
            "{changed} texts held the character NUL, which PostgreSQL cannot: they have U+FFFD in its place.\n"
        );
    }
    let (from, to) = (escape(&from.told()), escape(&to.told()));
    told + &format!("Moved from {from} to {to}. The source takes no host any more.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_is_told_with_what_could_not_be_kept() {
        let moved = MovedTable {
            name: "runs".to_owned(),
            rows: 12,
            checksum: "ab".to_owned(),
            texts_changed: 0,
        };
        let (from, to) = (
            "sqlite:/data".parse().unwrap(),
            "postgres://anna:secret@db/orders".parse().unwrap(),
        );
        let told = moved_told(std::slice::from_ref(&moved), &from, &to);
        assert!(told.contains("runs   12    ab\n"), "{told}");
        assert!(
            told.ends_with("Moved from /data to the database orders at db:5432. The source takes no host any more.\n")
        );
        assert!(!told.contains("secret") && !told.contains("NUL"));
        let changed = MovedTable {
            texts_changed: 3,
            ..moved
        };
        assert!(moved_told(&[changed], &from, &to).contains("3 texts held the character NUL"));
    }
}
