//! `oncegate run …`: what happened to an event.

use super::client::{Client, query};
use super::terminal::{escape, say, short, table};
use super::{Listing, Place, print, text};
use crate::ledger::DUPLICATES_COUNTED_MAX;
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub enum RunCommand {
    /// Runs, newest first.
    List {
        /// Only in this state (completed, needs_review, retrying, …).
        #[arg(long)]
        state: Option<String>,
        /// Only of this flow.
        #[arg(long)]
        flow: Option<String>,
        /// Only those whose key or business words contain this.
        #[arg(long)]
        text: Option<String>,
        #[command(flatten)]
        listing: Listing,
    },
    /// One run, with every attempt.
    Show {
        /// The run's id.
        run: String,
        /// Print what the API answers.
        #[arg(long)]
        json: bool,
    },
    /// Stop what has not been sent. A step in doubt is settled first, never sent again.
    Cancel {
        /// The run's id.
        run: String,
        /// Why; it is kept with the record.
        #[arg(long)]
        reason: String,
    },
}

pub fn run(place: &Place, command: &RunCommand) -> anyhow::Result<()> {
    let client = Client::new(place)?;
    match command {
        RunCommand::List {
            state,
            flow,
            text,
            listing,
        } => {
            let filter = [("state", state.clone()), ("flow", flow.clone()), ("text", text.clone())];
            let answer = search(&client, filter.into_iter().chain(listing.pairs()).collect())?;
            print(&answer, listing.json, list);
        }
        RunCommand::Show { run, json } => {
            let answer = client.get(&format!("runs/{run}"))?;
            print(&answer, *json, story);
        }
        RunCommand::Cancel { run, reason } => {
            let answer = client.post(&format!("runs/{run}/cancel"), &json!({ "reason": reason }))?;
            say(&format!("run {}: {}\n", escape(run), escape(text(&answer, "state"))));
        }
    }
    Ok(())
}

/// A search of the host ends at a bound. While nothing was found it goes on from there, so that whoever looks for an old run
/// need not.
fn search(client: &Client, mut pairs: Vec<(&'static str, Option<String>)>) -> anyhow::Result<Value> {
    loop {
        let answer = client.get(&format!("runs?{}", query(&pairs)))?;
        let next = answer["next"].as_str().filter(|_| answer["stopped"].is_object());
        let (Some(next), None) = (next, items(&answer).next()) else {
            return Ok(answer);
        };
        pairs.retain(|(name, _)| *name != "after");
        pairs.push(("after", Some(next.to_owned())));
    }
}

fn list(answer: &Value) -> String {
    let rows: Vec<Vec<String>> = items(answer)
        .map(|run| {
            vec![
                text(run, "id").to_owned(),
                text(run, "flow").to_owned(),
                key(run, 40),
                words(run),
                text(run, "state").to_owned(),
                text(run, "created_at").to_owned(),
            ]
        })
        .collect();
    table(&["RUN", "FLOW", "KEY", "ABOUT", "STATE", "SINCE"], &rows) + &further(answer)
}

/// How to see more: a full page has a next one, a search that stopped may find more further back.
fn further(answer: &Value) -> String {
    let (stopped, Some(next)) = (&answer["stopped"], answer["next"].as_str()) else {
        return super::more(answer);
    };
    if !stopped.is_object() {
        return super::more(answer);
    }
    let back_to = escape(text(stopped, "back_to"));
    format!(
        "Looked back to {back_to}; there may be more before: add --after {}\n",
        escape(next)
    )
}

/// The business key of a run, as long as it is known.
pub fn key(run: &Value, chars_max: usize) -> String {
    match run["key"].as_str() {
        Some(key) => short(key, chars_max),
        None => "(erased)".to_owned(),
    }
}

/// The business words of a run.
pub fn words(run: &Value) -> String {
    let context = run["context"].as_array().into_iter().flatten();
    let words = context.map(|item| format!("{} {}", text(item, "name"), text(item, "value")));
    short(&words.collect::<Vec<_>>().join(", "), 60)
}

pub fn items(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["items"].as_array().into_iter().flatten()
}

/// A run as a story: what came in, what was tried, what the host saw, what follows.
pub fn story(run: &Value) -> String {
    let field = |name: &str| escape(text(run, name));
    let mut told = format!(
        "Run {} of {} (revision {})\n",
        field("id"),
        field("flow"),
        run["revision"]
    );
    told += &format!("  key      {}\n", key(run, 1_000));
    told += &format!("  about    {}\n", words(run));
    let event = &run["event"];
    let came = (
        escape(text(event, "received_at")),
        escape(text(event, "source")),
        escape(text(event, "verified_by")),
    );
    told += &format!("  came in  {} by {}, verified by {}\n", came.0, came.1, came.2);
    told += &match run["duplicates"].as_u64().unwrap_or_default() {
        0 => String::new(),
        DUPLICATES_COUNTED_MAX => format!("  again    {DUPLICATES_COUNTED_MAX} times or more, not executed\n"),
        count => format!("  again    {count} times, not executed\n"),
    };
    told += &format!("  state    {}\n", field("state"));
    if let Some(erased_at) = run["erased_at"].as_str() {
        told += &format!("  erased   on {}: payloads, answers, attempts\n", escape(erased_at));
    }
    for step in run["steps"].as_array().into_iter().flatten() {
        told += &step_story(step);
    }
    for line in run["audit"].as_array().into_iter().flatten() {
        let (who, what, why) = (text(line, "who"), text(line, "what"), text(line, "why"));
        told += &format!(
            "\n  {} {} {}: {}\n",
            escape(text(line, "at")),
            escape(who),
            escape(what),
            escape(why)
        );
    }
    told
}

fn step_story(step: &Value) -> String {
    let field = |name: &str| escape(text(step, name));
    let mut told = format!("\n  {} → {}: {}", field("step"), field("to"), field("state"));
    if let Some(why) = step["why"].as_str() {
        told += &format!(" ({})", escape(why));
    }
    if let Some(until) = step["until"].as_str() {
        told += &format!(" until {}", escape(until));
    }
    told.push('\n');
    if let Some(since) = step["in_doubt_since"].as_str() {
        told += &format!("      in doubt since {}: the effect may exist\n", escape(since));
    }
    for attempt in step["timeline"].as_array().into_iter().flatten() {
        told += &attempt_story(attempt);
    }
    // What went wrong without an attempt (a template, a missing grant) is told nowhere else.
    let last = step["last_error"].as_str().filter(|last| !is_told(step, last));
    if let (Some(last), "needs_review" | "waiting" | "retrying") = (last, text(step, "state")) {
        told += &format!("      last error: {}\n", short(last, 300));
    }
    if let Some(reference) = step["reference"].as_str() {
        told += &format!("      at the destination: {}\n", escape(reference));
    }
    told
}

fn is_told(step: &Value, message: &str) -> bool {
    let attempts = step["timeline"].as_array().into_iter().flatten();
    attempts.into_iter().any(|attempt| attempt["message"] == message)
}

fn attempt_story(attempt: &Value) -> String {
    let field = |name: &str| escape(text(attempt, name));
    let request = &attempt["request"];
    let sent = match (request["method"].as_str(), request["path"].as_str()) {
        (Some(method), Some(path)) => format!(" {} {}{}", escape(method), field("origin"), short(path, 60)),
        _ => format!(" {}", field("origin")),
    };
    let outcome = attempt["outcome"]
        .as_str()
        .or(attempt["finding"].as_str())
        .unwrap_or("under way");
    let mut told = format!(
        "    {}. {} {}{}\n",
        attempt["number"],
        field("started_at"),
        field("what"),
        sent
    );
    let saw = text(attempt, "saw");
    if outcome.contains(saw) {
        told += &format!("       {}\n", escape(outcome));
    } else {
        told += &format!("       {}: {}\n", escape(saw), escape(outcome));
    }
    if let Some(message) = attempt["message"].as_str() {
        told += &format!("       {}\n", short(message, 200));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_reads_like_a_story() {
        let run = json!({
            "id": "01J", "flow": "website-lead", "revision": 3, "key": "lead-1", "state": "completed", "duplicates": 1,
            "context": [{ "name": "customer", "value": "a@example.com" }],
            "event": { "received_at": "2026-01-01T00:00:00Z", "source": "webhook", "verified_by": "none" },
            "steps": [{
                "step": "crm", "to": "crm.send", "state": "completed", "reference": "4711",
                "timeline": [
                    { "number": 1, "what": "tried", "started_at": "00:00:01", "origin": "https://crm.example.com",
                      "request": { "method": "POST", "path": "/contacts" }, "saw": "may have been sent",
                      "outcome": "unknown", "message": "the answer\u{1b}[2J never came" },
                    { "number": 2, "what": "asked", "started_at": "00:00:03", "origin": "https://crm.example.com",
                      "saw": "answered 200", "finding": "found" },
                ],
            }],
            "audit": [],
        });
        let expected = "\
Run 01J of website-lead (revision 3)
  key      lead-1
  about    customer a@example.com
  came in  2026-01-01T00:00:00Z by webhook, verified by none
  again    1 times, not executed
  state    completed

  crm → crm.send: completed
    1. 00:00:01 tried POST https://crm.example.com/contacts
       may have been sent: unknown
       the answer\\u{1b}[2J never came
    2. 00:00:03 asked https://crm.example.com
       answered 200: found
      at the destination: 4711
";
        assert_eq!(story(&run), expected);
    }

    #[test]
    fn a_search_that_stopped_says_how_far_it_looked_and_how_to_go_on() {
        let mut answer = json!({ "items": [], "next": "01J" });
        assert!(list(&answer).ends_with("There is more: add --after 01J\n"));
        answer["stopped"] = json!({ "runs": 5000, "back_to": "2026-01-01T00:00:00Z" });
        let said = "Looked back to 2026-01-01T00:00:00Z; there may be more before: add --after 01J\n";
        assert!(list(&answer).ends_with(said));
        assert!(!list(&json!({ "items": [], "next": null })).contains("--after"));
    }

    #[test]
    fn what_went_wrong_without_an_attempt_is_told() {
        let message = "`with.text`: steps.crm.output.id is missing";
        let mut step = json!({
            "step": "chat", "to": "chat.send", "state": "needs_review", "why": "a template", "last_error": message,
            "timeline": [],
        });
        assert!(step_story(&step).ends_with(&format!("      last error: {message}\n")));
        step["timeline"] = json!([{ "number": 1, "saw": "answered 422", "outcome": "refused", "message": message }]);
        assert_eq!(step_story(&step).matches(message).count(), 1);
    }
}
