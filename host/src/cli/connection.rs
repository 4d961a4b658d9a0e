//! `oncegate connection`: what the host has, and who pauses it.

use super::client::{Client, segment};
use super::installation::{self, What};
use super::terminal::{escape, say};
use super::{Listing, Place, text};
use clap::{Args, Subcommand};
use serde_json::json;

#[derive(Debug, Subcommand)]
pub enum ConnectionCommand {
    /// The connections that the host has.
    List {
        #[command(flatten)]
        listing: Listing,
    },
    /// Send nothing by a connection until it is resumed: its steps wait and burn nothing, at all hosts, over restarts.
    Pause(PauseArgs),
    /// Let the steps of a paused connection go on.
    Resume(PauseArgs),
}

#[derive(Debug, Args)]
pub struct PauseArgs {
    /// The connection's name.
    name: String,
    /// Why, for the record.
    #[arg(long, default_value = "")]
    reason: String,
}

pub fn run(place: &Place, command: &ConnectionCommand) -> anyhow::Result<()> {
    match command {
        ConnectionCommand::List { listing } => installation::list(place, What::Connections, listing),
        ConnectionCommand::Pause(args) => change(place, args, "pause"),
        ConnectionCommand::Resume(args) => change(place, args, "resume"),
    }
}

fn change(place: &Place, args: &PauseArgs, verb: &str) -> anyhow::Result<()> {
    let path = format!("connections/{}/{verb}", segment(&args.name));
    let answer = Client::new(place)?.post(&path, &json!({ "reason": args.reason }))?;
    let name = escape(&args.name);
    say(&match (answer["paused"].as_bool(), answer["changed"].as_bool()) {
        (Some(true), Some(false)) => format!(
            "connection {name} is paused already, since {} by {}\n",
            escape(text(&answer, "paused_since")),
            escape(text(&answer, "paused_by"))
        ),
        (Some(true), _) => format!("connection {name} is paused; `oncegate connection resume {name}` lets it go on\n"),
        (_, Some(false)) => format!("connection {name} is not paused\n"),
        _ => format!("connection {name} goes on\n"),
    });
    Ok(())
}
