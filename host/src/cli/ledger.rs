//! `oncegate ledger …`: moving a stopped installation from one database to another.

use super::terminal::{escape, say, table};
use crate::clock::{Clock, SystemClock};
use crate::ledger::{Asked, LedgerPlace, MovedTable, Progress, move_ledger, reopen};
use anyhow::Context;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Move a stopped installation to another database, verified by counts and checksums. The source then takes no host.
    Move {
        /// Where it is: sqlite:DIR (the data directory) or postgres://user:password@host/name.
        #[arg(long, value_name = "PLACE")]
        from: LedgerPlace,
        /// Where it goes; it must be empty.
        #[arg(long, value_name = "PLACE")]
        to: LedgerPlace,
    },
    /// Let hosts work again on a ledger that was moved away. Only where no host has worked on the copy: else everything since
    /// would be carried out twice.
    Reopen {
        /// Where it is: sqlite:DIR (the data directory) or postgres://user:password@host/name.
        place: LedgerPlace,
        /// Why; it is kept with the record.
        #[arg(long)]
        reason: String,
    },
}

pub fn run(command: &LedgerCommand) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    match command {
        LedgerCommand::Move { from, to } => {
            let moved = runtime.block_on(move_ledger(from, to, &asked(""), told))?;
            say(&moved_told(&moved, from, to));
        }
        LedgerCommand::Reopen { place, reason } => {
            runtime.block_on(reopen(place, &asked(reason)))?;
            say(&format!("Hosts may work on {} again.\n", escape(&place.told())));
        }
    }
    Ok(())
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
