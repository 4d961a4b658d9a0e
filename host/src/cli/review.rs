//! `oncegate review …`: what waits for a person.

use super::client::{Client, query};
use super::runs::{items, story, words};
use super::terminal::{escape, say, short, table};
use super::{Listing, Place, print, text};
use crate::flow::{BodyLimits, parse_json};
use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub enum ReviewCommand {
    /// What waits for a person.
    List {
        /// Closed items as well.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        listing: Listing,
    },
    /// One item with its run.
    Show {
        /// The item's id.
        item: String,
        /// Print what the API answers.
        #[arg(long)]
        json: bool,
    },
    /// Try again. Where the effect may exist, the destination is asked first.
    Retry {
        #[command(flatten)]
        item: Item,
        /// I looked at the destination: the effect does not exist (needs --reason).
        #[arg(long)]
        checked_absent: bool,
        /// Why.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// It exists at the destination: the step is done.
    Resolve {
        #[command(flatten)]
        item: Item,
        /// How you know.
        #[arg(long)]
        reason: String,
        /// Where to find it at the destination.
        #[arg(long)]
        reference: Option<String>,
        /// What later steps read, as JSON.
        #[arg(long)]
        output: Option<String>,
    },
    /// It must not happen: the step is closed as failed, the record is kept.
    Discard {
        #[command(flatten)]
        item: Item,
        /// Why.
        #[arg(long)]
        reason: String,
    },
    /// Of a conflict: it is the same event.
    Ignore {
        #[command(flatten)]
        item: Item,
        /// How you know.
        #[arg(long)]
        reason: String,
    },
    /// Of a conflict: it is another event; run it under a key of its own.
    Run {
        #[command(flatten)]
        item: Item,
        /// How you know.
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub struct Item {
    /// The item's id.
    item: String,
    /// The version of the item that you saw; without it, the one that it has now.
    #[arg(long = "item-version", value_name = "N")]
    version: Option<i64>,
}

pub fn run(place: &Place, command: &ReviewCommand) -> anyhow::Result<()> {
    let client = Client::new(place)?;
    match command {
        ReviewCommand::List { all, listing } => {
            let pairs: Vec<_> = [("all", all.then(|| "true".to_owned()))]
                .into_iter()
                .chain(listing.pairs())
                .collect();
            let answer = client.get(&format!("review?{}", query(&pairs)))?;
            print(&answer, listing.json, list);
        }
        ReviewCommand::Show { item, json } => {
            let answer = client.get(&format!("review/{item}"))?;
            print(&answer, *json, |answer| {
                one(answer)
                    + "\n"
                    + &story(&answer["run_detail"])
                    + &conflicting(&answer["run_detail"]["event"], &answer["conflicting_event"])
            });
        }
        ReviewCommand::Retry {
            item,
            checked_absent,
            reason,
        } => {
            decide(
                &client,
                item,
                "retry",
                json!({ "reason": reason, "stated_absent": checked_absent }),
            )?;
        }
        ReviewCommand::Resolve {
            item,
            reason,
            reference,
            output,
        } => {
            let output = output.as_deref().map(read_output).transpose()?;
            let body = json!({ "reason": reason, "reference": reference, "output": output });
            decide(&client, item, "resolve", body)?;
        }
        ReviewCommand::Discard { item, reason } => decide(&client, item, "discard", json!({ "reason": reason }))?,
        ReviewCommand::Ignore { item, reason } => decide(&client, item, "ignore", json!({ "reason": reason }))?,
        ReviewCommand::Run { item, reason } => decide(&client, item, "run", json!({ "reason": reason }))?,
    }
    Ok(())
}

/// What later steps read, digit by digit; a name that comes twice is refused, for nobody could tell which one is meant.
fn read_output(text: &str) -> anyhow::Result<Value> {
    let limits = BodyLimits::default();
    parse_json(text.as_bytes(), &limits).map_err(|why| {
        anyhow!("--output is no JSON: {why}; write it like --output '{{\"id\": \"4711\"}}', in single quotes")
    })
}

fn decide(client: &Client, item: &Item, verb: &str, mut body: Value) -> anyhow::Result<()> {
    let version = match item.version {
        Some(version) => json!(version),
        None => client.get(&format!("review/{}", item.item))?["version"].clone(),
    };
    body["version"] = version;
    let answer = client
        .post(&format!("review/{}/{verb}", item.item), &body)
        .map_err(|error| {
            if verb == "retry" && error.to_string().contains("check there first") {
                let id = escape(&item.item);
                return anyhow::anyhow!(
                    "{error}\n\n  oncegate review resolve {id} --reason \"…\" --reference …\n  oncegate review retry {id} \
                     --checked-absent --reason \"…\""
                );
            }
            error
        })?;
    let now = answer["step_state"]
        .as_str()
        .map(|state| format!("; the step is {}", escape(state)));
    say(&format!("{verb}: done{}\n", now.unwrap_or_default()));
    Ok(())
}

fn list(answer: &Value) -> String {
    let rows: Vec<Vec<String>> = items(answer)
        .map(|item| {
            vec![
                text(item, "id").to_owned(),
                short(text(item, "key"), 30),
                words(item),
                item["step"].as_str().unwrap_or("(conflict)").to_owned(),
                item["attempts"]
                    .as_u64()
                    .map(|count| count.to_string())
                    .unwrap_or_default(),
                text(item, "last_try_at").to_owned(),
                may_exist(item).to_owned(),
                text(item, "reason").to_owned(),
            ]
        })
        .collect();
    let headings = ["ITEM", "KEY", "ABOUT", "STEP", "TRIES", "LAST TRY", "EFFECT", "REASON"];
    table(&headings, &rows) + &super::more(answer)
}

fn may_exist(item: &Value) -> &'static str {
    match item["effect_may_exist"].as_bool() {
        Some(true) => "may exist",
        Some(false) => "does not exist",
        None => "",
    }
}

fn one(item: &Value) -> String {
    let field = |name: &str| escape(text(item, name));
    let mut told = format!(
        "Review {} (version {}), opened {}\n",
        field("id"),
        item["version"],
        field("opened_at")
    );
    told += &format!("  key         {}\n  about       {}\n", field("key"), words(item));
    if let Some(step) = item["step"].as_str() {
        told += &format!("  step        {} → {}\n", escape(step), field("to"));
        told += &format!("  effect      {}\n", may_exist(item));
        told += &format!("  tries       {}, last {}\n", item["attempts"], field("last_try_at"));
        told += &format!("  last error  {}\n", field("last_error"));
        if let Some(until) = item["resend_safe_until"].as_str() {
            told += &format!("  a resend is recognised until {}\n", escape(until));
        }
    }
    told += &format!("  why         {}\n", field("reason"));
    let closed = &item["closed"];
    if closed.is_object() {
        let (at, action) = (escape(text(closed, "at")), escape(text(closed, "action")));
        let (who, why) = (escape(text(closed, "who")), escape(text(closed, "why")));
        told += &format!("  closed      {at}: {action} by {who} {why}\n");
    }
    told
}

/// Both contents under one key, for whoever must say whether they are one event or two.
fn conflicting(first: &Value, later: &Value) -> String {
    let told = |which: &str, event: &Value| {
        let (at, body) = (escape(text(event, "received_at")), escape(text(event, "body")));
        format!("\nThe event that came {which}, at {at}:\n  {body}\n")
    };
    if later["body"].is_string() {
        told("first", first) + &told("later", later)
    } else {
        String::new()
    }
}
