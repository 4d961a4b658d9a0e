//! `oncegate apply`, and the listings of what is installed.

use super::client::{Client, query};
use super::runs::items;
use super::terminal::{escape, table};
use super::{Listing, Place, print, text};
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
    let mut files = Vec::new();
    collect(&args.folder, &args.folder, &mut files)?;
    let body = json!({ "files": files, "dry_run": args.dry_run, "approve": args.approve });
    let answer = Client::new(place)?.post("apply", &body)?;
    for line in text(&answer, "plan").lines() {
        println!("{}", escape(line));
    }
    if args.dry_run {
        println!("Nothing was changed: this was a dry run.");
    }
    Ok(())
}

/// Every file below the folder that describes the installation.
fn collect(root: &Path, folder: &Path, files: &mut Vec<Value>) -> anyhow::Result<()> {
    let reading = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
            continue;
        }
        let relative = path.strip_prefix(root).unwrap_or(&path);
        if relative == Path::new("oncegate.toml") {
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = relative
            .to_str()
            .with_context(|| format!("{} is not UTF-8", path.display()))?;
        files.push(json!({ "path": name, "base64": STANDARD.encode(bytes) }));
    }
    Ok(())
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
            &["CONNECTION", "CONNECTOR", "ACCOUNT", "REVISION", "ACTIVE", "DIGEST"],
            &["name", "connector", "account", "revision", "active", "digest"],
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
