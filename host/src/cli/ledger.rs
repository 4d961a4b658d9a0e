//! `oncegate ledger …`: whether the ledger remembers all that happened, and what people know about that; and moving it to another
//! database.

mod moving;

use super::client::Client;
use super::terminal::{escape, say};
use super::{Place, print, text};
use crate::ledger::LedgerPlace;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Whether it may have forgotten something, since when, and why.
    Show {
        /// Print what the API answers.
        #[arg(long)]
        json: bool,
    },
    /// It may have forgotten what happened in a window, or that is over now.
    Reconcile(ReconcileArgs),
    /// It was moved as it was, and nobody works with it at the old place: nothing is forgotten.
    Moved {
        /// How you know.
        #[arg(long)]
        reason: String,
    },
    /// It is a copy, or comes from a backup: what is not finished begins in doubt.
    Copied {
        /// How you know.
        #[arg(long)]
        reason: String,
    },
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

#[derive(Debug, Args)]
pub struct ReconcileArgs {
    /// What happened in between may be forgotten, like 2026-03-29T01:00:00Z..2026-03-29T02:30:00Z. From then on what is not
    /// finished begins in doubt, until somebody says --end.
    #[arg(
        long,
        value_name = "FROM..TO",
        conflicts_with = "end",
        required_unless_present = "end"
    )]
    window: Option<String>,
    /// It is over: what begins from now on was not sent before.
    #[arg(long)]
    end: bool,
    /// How you know.
    #[arg(long)]
    reason: String,
}

pub fn run(place: &Place, command: &LedgerCommand) -> anyhow::Result<()> {
    let client = || Client::new(place);
    match command {
        LedgerCommand::Show { json } => {
            let answer = client()?.get("ledger")?;
            print(&answer, *json, one);
            Ok(())
        }
        LedgerCommand::Reconcile(args) => match &args.window {
            Some(window) => {
                let (from, to) = window
                    .split_once("..")
                    .ok_or_else(|| anyhow!("--window is two instants with two dots between them, FROM..TO"))?;
                let body = json!({ "reason": args.reason, "from": from, "to": to });
                tell(&client()?, "reconcile", &body)
            }
            None => tell(&client()?, "end", &json!({ "reason": args.reason })),
        },
        LedgerCommand::Moved { reason } => tell(&client()?, "moved", &json!({ "reason": reason })),
        LedgerCommand::Copied { reason } => tell(&client()?, "copied", &json!({ "reason": reason })),
        LedgerCommand::Move { from, to } => moving::run(from, to),
        LedgerCommand::Reopen { place, reason } => moving::open_again(place, reason),
    }
}

fn tell(client: &Client, verb: &str, body: &Value) -> anyhow::Result<()> {
    let answer = client.post(&format!("ledger/{verb}"), body)?;
    say(&one(&answer));
    Ok(())
}

fn one(answer: &Value) -> String {
    let field = |name: &str| escape(text(answer, name));
    match answer["notice"].as_str() {
        None => "Nothing is forgotten, as far as can be told.\n".to_owned(),
        Some(notice) => format!(
            "{}\n  found       {}\n  forgotten   what happened from {} to {}\n",
            escape(notice),
            field("found_at"),
            field("from"),
            field("to")
        ),
    }
}
