//! `oncegate forget`: erases what is known of a person, now.

use super::client::Client;
use super::terminal::{escape, say};
use super::{Place, text};
use clap::Args;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// A business word that the runs are about, name and value as `run show` tells them; several must all be there.
    #[arg(long = "context", value_name = "NAME=VALUE", required = true, value_parser = word)]
    context: Vec<(String, String)>,
    /// Only say what would be erased.
    #[arg(long)]
    dry_run: bool,
}

fn word(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("write it like customer=anna@example.com".to_owned()),
    }
}

/// What all parts found together.
#[derive(Default)]
struct Found {
    looked_at: u64,
    runs: usize,
    events: usize,
    /// A line for each thing that could not be erased.
    kept: Vec<String>,
}

/// Whether all was erased that there is.
pub fn run(place: &Place, args: &ForgetArgs) -> anyhow::Result<bool> {
    let client = Client::new(place)?;
    let context = args.context.iter();
    let context: Vec<Value> = context
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    let (mut found, mut after) = (Found::default(), Value::Null);
    loop {
        let asked = json!({ "context": context, "dry_run": args.dry_run, "after": after });
        let part = client.post("forget", &asked)?;
        found.add(&part);
        if part["next"].is_null() {
            break;
        }
        eprintln!(
            "Looked through {} runs, up to {}; {} are about it so far",
            found.looked_at,
            escape(text(&part, "looked_up_to")),
            found.runs + found.kept.len()
        );
        after = part["next"].clone();
    }
    say(&found.told(args.dry_run));
    Ok(found.kept.is_empty())
}

impl Found {
    fn add(&mut self, part: &Value) {
        let count = |name: &str| part[name].as_array().map_or(0, Vec::len);
        self.looked_at += part["looked_at"].as_u64().unwrap_or_default();
        self.runs += count("runs");
        self.events += count("events");
        for (list, what, id) in [("kept", "run", "run"), ("conflicts", "review item", "item")] {
            for kept in part[list].as_array().into_iter().flatten() {
                self.kept.push(format!(
                    "  {what} {}: {}\n",
                    escape(text(kept, id)),
                    escape(text(kept, "why"))
                ));
            }
        }
    }

    fn told(&self, dry_run: bool) -> String {
        let were = if dry_run { "would be" } else { "were" };
        let mut told = format!(
            "{} runs {were} erased, out of {} looked through.\n",
            self.runs, self.looked_at
        );
        if self.events > 0 {
            told += &format!("{} conflicting events {were} erased.\n", self.events);
        }
        if !self.kept.is_empty() {
            told += "Not erased; end these first, then say it again:\n";
            told += &self.kept.concat();
        }
        if dry_run {
            told += "Nothing was changed: this was a dry run.\n";
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_a_name_and_a_value() {
        assert_eq!(word("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        for wrong in ["customer", "=x", "customer="] {
            assert!(word(wrong).unwrap_err().contains("customer=anna@example.com"));
        }
    }

    #[test]
    fn what_was_not_erased_is_told_with_what_to_do() {
        let mut found = Found::default();
        found.add(&json!({ "looked_at": 5000, "runs": ["A"], "events": [], "kept": [], "conflicts": [], "next": "A" }));
        found.add(&json!({ "looked_at": 10, "runs": [], "events": ["E"], "conflicts": [],
            "kept": [{ "run": "B", "why": "it is not over: let it end, or cancel it" }] }));
        let expected = "\
1 runs were erased, out of 5010 looked through.
1 conflicting events were erased.
Not erased; end these first, then say it again:
  run B: it is not over: let it end, or cancel it
";
        assert_eq!(found.told(false), expected);
        assert!(found.told(true).ends_with("Nothing was changed: this was a dry run.\n"));
    }
}
