//! `oncegate connector call`.

mod record;
mod told;

use super::Place;
use super::terminal::say;
use crate::call::{self, Answer, Leave, Report, Subject};
use crate::flow::{BodyLimits, parse_json};
use anyhow::{Context, anyhow, ensure};
use clap::Args;
use record::Record;
use serde_json::Value;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct CallArgs {
    /// The connector's `.wasm` file.
    file: PathBuf,
    /// The action to call.
    action: String,
    /// The connection: a file, or the name of one in ./connections. It need not approve these bytes, nor grant any flow.
    #[arg(long, value_name = "NAME|FILE.toml")]
    connection: PathBuf,
    /// The action's input: JSON, or @FILE.
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    input: String,
    /// The step key; else a fresh one.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Ask the destination whether the effect of an earlier call with this --key exists, in place of performing. It only
    /// reads.
    #[arg(long, requires = "key")]
    lookup: bool,
    /// Below this folder `file` secrets are read; else `secrets` beside the connection's folder, or in the data directory.
    #[arg(long, value_name = "DIR")]
    secrets: Option<PathBuf>,
    /// Send a request that changes something without asking.
    #[arg(long)]
    yes: bool,
    /// Write the requests and answers to this file, for the connector's own tests (`Mock::replay`). Check what is in it
    /// before you share it: secrets are masked, other data of the account is not.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print everything as one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(place: &Place, args: &CallArgs) -> anyhow::Result<bool> {
    let subject = subject(place, args)?;
    if subject.other_digest {
        eprintln!(
            "Note: the connection approves other bytes of {} than these; a host would not run these with it.",
            subject.description.manifest.name
        );
    }
    let asks = subject.changes() && !args.yes;
    ensure!(
        !asks || std::io::stdin().is_terminal(),
        "{:?} changes something at the destination, and there is no terminal to ask on; nothing was sent. Add --yes to send it",
        args.action
    );
    // Before anything is sent: a call whose record cannot be kept could not be made a second time to get it.
    let record = args.record.as_deref().map(|file| Record::open(file, &read_by(args)));
    let record = record.transpose()?;
    let mut tell = |key: &str| eprintln!("Sending under the key {key}");
    let mut question = |about: &Value| ask(about);
    let leave = if args.yes {
        Leave::Given(&mut tell)
    } else {
        Leave::Ask(&mut question)
    };
    let mut waits = || eprintln!("{}", compiling(&subject));
    let Some(report) = call::run(&subject, leave, &mut waits)? else {
        eprintln!("Nothing was sent that changes anything.");
        return Ok(false);
    };
    show(args, &report);
    if let Some(record) = record {
        record.keep(&report)?;
    }
    Ok(report.good)
}

/// What takes long, where it takes long.
fn compiling(subject: &Subject) -> String {
    let megabytes = subject.bytes.len().div_ceil(1_000_000);
    let name = &subject.description.manifest.name;
    match subject.cache {
        Some(_) => format!("Getting {name} ready ({megabytes} MB): compiling it, once, can take a minute …"),
        None => format!("Getting {name} ready ({megabytes} MB): compiling it can take a minute …"),
    }
}

fn subject(place: &Place, args: &CallArgs) -> anyhow::Result<Subject> {
    let connection = connection_file(&args.connection);
    let secrets = args.secrets.clone();
    let secrets = secrets.unwrap_or_else(|| call::secrets_dir(&connection, &place.data));
    let subject = Subject::read(&args.file, &connection, &args.action, secrets)?
        .with_input(input(&args.input)?)?
        .with_key(args.key.clone())?;
    let subject = if args.lookup { subject.as_lookup()? } else { subject };
    Ok(Subject {
        cache: super::cache::folder(),
        ..subject
    })
}

/// The files that the call is made of: none of them is written over.
fn read_by(args: &CallArgs) -> Vec<PathBuf> {
    let input = args.input.strip_prefix('@').map(PathBuf::from);
    let files = [args.file.clone(), connection_file(&args.connection)];
    files.into_iter().chain(input).collect()
}

/// A plain name is that of a connection in ./connections.
fn connection_file(named: &Path) -> PathBuf {
    let is_plain = named.components().count() == 1 && named.extension().is_none();
    if is_plain {
        Path::new("connections").join(named).with_extension("toml")
    } else {
        named.to_owned()
    }
}

/// Read as a host reads an event: digits are kept, and a name that stands twice is refused.
fn input(given: &str) -> anyhow::Result<Value> {
    let text = match given.strip_prefix('@') {
        Some(file) => std::fs::read(file).with_context(|| format!("the input {file} cannot be read"))?,
        None => given.as_bytes().to_vec(),
    };
    parse_json(&text, &BodyLimits::default()).map_err(|why| anyhow!("the input is no JSON that a host takes: {why}"))
}

/// Shows the very request and waits for a yes.
fn ask(about: &Value) -> anyhow::Result<Answer> {
    eprint!("{}\nSend it? [y/N] ", told::question(about));
    std::io::stderr().flush()?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed)?;
    Ok(match typed.trim() {
        "y" | "Y" | "yes" => Answer::Yes,
        _ => Answer::No,
    })
}

fn show(args: &CallArgs, report: &Report) {
    if args.json {
        say(&format!("{}\n", report.json));
    } else {
        say(&told::report(&report.json));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_named_or_is_a_file() {
        for (named, file) in [
            ("crm", "connections/crm.toml"),
            ("crm.toml", "crm.toml"),
            ("./crm", "./crm"),
            ("elsewhere/crm.toml", "elsewhere/crm.toml"),
        ] {
            assert_eq!(connection_file(Path::new(named)), Path::new(file));
        }
    }
}
