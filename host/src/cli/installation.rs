//! `oncegate apply`, and the listings of what is installed.

use super::client::{Client, query};
use super::runs::items;
use super::terminal::{escape, say, table};
use super::{Listing, Place, print, text};
use crate::catalog::digest_of;
use crate::catalog::folder::{FileProblem, read};
use crate::config::Config;
use crate::runtime::{RuntimeLimits, Size, check_size};
use anyhow::anyhow;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// The installation folder.
    folder: PathBuf,
    /// Only say what would change.
    #[arg(long)]
    dry_run: bool,
    /// A connection that moves on to the version of its connector in the folder (or in the host); may be given several
    /// times. Without it a connection keeps the version that was approved for it.
    #[arg(long, value_name = "CONNECTION")]
    approve: Vec<String>,
}

pub fn apply(place: &Place, args: &ApplyArgs) -> anyhow::Result<()> {
    let client = Client::new(place)?;
    let files = files(&client, &args.folder)?;
    // Not the installation's but the host's own: checked here, so that a mistake in it is not found at the next start.
    let has_config = Config::is_in(&args.folder);
    Config::read(&args.folder)?;
    let body = json!({ "files": files, "dry_run": args.dry_run, "approve": args.approve });
    let answer = client.post_within(APPLY_WITHIN, "apply", &body)?;
    for line in text(&answer, "plan").lines() {
        say(&format!("{}\n", escape(line)));
    }
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        say(&format!("Warning: {}\n", escape(warning.as_str().unwrap_or_default())));
    }
    if has_config {
        say("oncegate.toml is right; a host reads it when it starts (`oncegate serve --apply FOLDER`).\n");
    }
    if args.dry_run {
        say("Nothing was changed: this was a dry run.\n");
    }
    Ok(())
}

/// New connectors are compiled before the host answers: one that brings an interpreter takes 10 s and more.
const APPLY_WITHIN: Duration = Duration::from_secs(600);

/// The files of the folder that describe the installation, as the API takes them: of a connector that the host has, only
/// the digest. What else lies there stays there.
fn files(client: &Client, folder: &Path) -> anyhow::Result<Vec<Value>> {
    let said = |problems: Vec<FileProblem>| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow!(said.join("\n"))
    };
    let folder = read(folder).map_err(said)?;
    let connectors = client.get("connectors")?;
    let known: BTreeSet<&str> = items(&connectors).filter_map(|item| item["digest"].as_str()).collect();
    let file = |path: &str, bytes: &[u8]| json!({ "path": path, "base64": STANDARD.encode(bytes) });
    let connectors = folder.connectors.iter().map(|(path, bytes)| {
        let digest = digest_of(bytes);
        match known.contains(digest.as_str()) {
            true => json!({ "path": path, "digest": digest }),
            false => {
                if let Ok(Size::Large) = check_size(bytes, &RuntimeLimits::default()) {
                    let megabytes = bytes.len().div_ceil(1_000_000);
                    eprintln!(
                        "{path} is new and large ({megabytes} MB): compiling it, once, can take the host a minute …"
                    );
                }
                file(path, bytes)
            }
        }
    });
    let texts = folder.connections.iter().chain(&folder.flows);
    let texts = texts.map(|(path, text)| file(path, text.as_bytes()));
    let examples = folder.examples.iter();
    let examples = examples.map(|(path, text)| file(&format!("flows/{path}"), text.as_bytes()));
    // The host says what is wrong with them, beside all else that is.
    let not_text = folder.not_text.iter().map(|(path, bytes)| file(path, bytes));
    Ok(connectors.chain(texts).chain(examples).chain(not_text).collect())
}

/// What can be listed here.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// Flows.
    Flows,
    /// Connectors.
    Connectors,
    /// Connections.
    Connections,
}

pub fn list(place: &Place, what: What, listing: &Listing) -> anyhow::Result<()> {
    let (path, headings, fields): (&str, &[&str], &[&str]) = match what {
        What::Flows => (
            "flows",
            &["FLOW", "TITLE", "REVISION", "ACTIVE", "HOOK", "VERIFY"],
            &["name", "title", "revision", "active", "hook", "verify"],
        ),
        What::Connectors => (
            "connectors",
            &["CONNECTOR", "VERSION", "BYTES", "USED BY", "DIGEST"],
            &["name", "version", "bytes", "used_by", "digest"],
        ),
        What::Connections => (
            "connections",
            &[
                "CONNECTION",
                "CONNECTOR",
                "ACCOUNT",
                "REVISION",
                "ACTIVE",
                "DIGEST",
                "PAUSED SINCE",
                "BLOCKED",
                "FAILING",
                "FAILING SINCE",
                "NEXT TRY",
            ],
            &[
                "name",
                "connector",
                "account",
                "revision",
                "active",
                "digest",
                "paused_since",
                "blocked",
                "failing",
                "failing_since",
                "failing_until",
            ],
        ),
    };
    let answer = Client::new(place)?.get(&format!("{path}?{}", query(&listing.pairs())))?;
    print(&answer, listing.json, |answer| {
        let rows: Vec<Vec<String>> = items(answer)
            .map(|item| fields.iter().map(|field| cell(&item[*field])).collect())
            .collect();
        table(headings, &rows)
    });
    Ok(())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(", "),
        Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
