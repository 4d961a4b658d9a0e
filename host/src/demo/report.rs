//! What came of it, counted at the destination and asked of the host: the two are compared, lead by lead.

use super::leads::Lead;
use crate::destination::Destination;
use crate::host_process::HostProcess;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Whom the flow tells of reviews.
const NOTICES_TO: &str = "\"ops@example.com\"";

/// The count.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Deliveries taken in.
    pub events: u64,
    /// Runs made of them.
    pub runs: u64,
    /// Deliveries that were the same event again.
    pub duplicates_suppressed: u64,
    /// Effects at the destination, by step.
    pub effects: BTreeMap<String, u64>,
    /// Effects that happened more than once.
    pub duplicate_effects: u64,
    /// Leads that vanished: neither done nor in front of a person.
    pub lost: u64,
    /// Review items.
    pub in_review: u64,
    /// Why.
    #[serde(skip)]
    pub reasons: BTreeMap<String, u64>,
    /// Leads without an id that the door refused.
    #[serde(skip)]
    pub refused: u64,
    /// What exactly is wrong, if anything is.
    #[serde(skip)]
    pub wrong: Vec<String>,
}

impl Report {
    /// Asks the host and counts at the destination.
    pub fn make(host: &HostProcess, destination: &Destination, leads: &[Lead], refused: u64) -> anyhow::Result<Self> {
        let counts = host.ask("counts")?;
        let runs = listed(host, "runs?limit=500")?;
        let reviews = listed(host, "review?limit=500")?;
        let made = made(destination);
        let mut report = Self {
            events: counts["events"].as_u64().unwrap_or_default(),
            runs: runs.len() as u64,
            duplicates_suppressed: counts["duplicates"].as_u64().unwrap_or_default(),
            in_review: reviews.len() as u64,
            duplicate_effects: destination.duplicates().iter().map(|twice| twice.count - 1).sum(),
            refused,
            ..Self::default()
        };
        for (step, leads) in &made {
            report.effects.insert((*step).to_owned(), leads.values().sum());
        }
        for item in &reviews {
            *report
                .reasons
                .entry(item["reason"].as_str().unwrap_or_default().to_owned())
                .or_default() += 1;
        }
        for twice in destination.duplicates() {
            report
                .wrong
                .push(format!("{} at {}: {} times", twice.what, twice.service, twice.count));
        }
        report.look_for_lost(&runs, &made, leads);
        Ok(report)
    }

    /// A lead is lost when it has no run, when its run is not at an end and in front of nobody, or when its run says
    /// *completed* and the destination lacks an effect.
    fn look_for_lost(&mut self, runs: &[Value], made: &BTreeMap<&'static str, HashMap<String, u64>>, leads: &[Lead]) {
        let states: HashMap<&str, &str> = runs
            .iter()
            .filter_map(|run| Some((run["key"].as_str()?, run["state"].as_str()?)))
            .collect();
        for lead in leads {
            let has = |step: &str| {
                made.get(step)
                    .and_then(|leads| leads.get(&lead.id))
                    .copied()
                    .unwrap_or_default()
            };
            let lost = match states.get(lead.id.as_str()).copied() {
                None => Some("has no run".to_owned()),
                Some("needs_review") => None,
                Some("completed") => {
                    let missing = ["crm", "welcome", "team_chat"].into_iter().find(|step| {
                        let wanted = *step != "team_chat" || lead.phone;
                        has(step) != u64::from(wanted)
                    });
                    missing.map(|step| format!("says completed, and {step} happened {} times", has(step)))
                }
                Some(other) => Some(format!("stands at {other}")),
            };
            if let Some(why) = lost {
                self.lost += 1;
                self.wrong.push(format!("{} {why}", lead.id));
            }
        }
    }

    /// The promise held.
    pub fn is_good(&self) -> bool {
        self.duplicate_effects == 0 && self.lost == 0
    }
}

/// Effects per step and lead. Notices about reviews are mails as well, but belong to no lead.
fn made(destination: &Destination) -> BTreeMap<&'static str, HashMap<String, u64>> {
    let mut made: BTreeMap<&'static str, HashMap<String, u64>> = ["crm", "welcome", "team_chat", "review notices"]
        .into_iter()
        .map(|step| (step, HashMap::new()))
        .collect();
    for effect in destination.effects_in_full() {
        let step = match effect.service.as_str() {
            "crm" | "hubspot" => "crm",
            "mailer" | "resend" if effect.body.contains(NOTICES_TO) => "review notices",
            "mailer" | "resend" => "welcome",
            _ => "team_chat",
        };
        let lead = lead_in(&effect.body).to_owned();
        *made.entry(step).or_default().entry(lead).or_default() += 1;
    }
    made
}

/// The lead that a body names, wherever its service wants that.
fn lead_in(body: &str) -> &str {
    let named = body
        .match_indices("lead-")
        .filter_map(|(at, _)| body.get(at..at + "lead-0000".len()));
    let mut leads = named.filter(|lead| lead.bytes().skip("lead-".len()).all(|b| b.is_ascii_digit()));
    leads.next().unwrap_or_default()
}

fn listed(host: &HostProcess, path: &str) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    let mut page = path.to_owned();
    loop {
        let answer = host.ask(&page)?;
        all.extend(answer["items"].as_array().cloned().unwrap_or_default());
        match answer["next"].as_str() {
            Some(next) => page = format!("{path}&after={next}"),
            None => return Ok(all),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, count: u64, note: &str| writeln!(f, "  {name:<34}{count:>6}   {note}");
        row("events taken in", self.events, "")?;
        row("runs", self.runs, "one per lead, however often it came")?;
        row("duplicates suppressed", self.duplicates_suppressed, "")?;
        row("refused at the door", self.refused, "leads without an id: 400")?;
        for (step, count) in &self.effects {
            row(&format!("effects: {step}"), *count, "counted at the destination")?;
        }
        row("effects that happened twice", self.duplicate_effects, "")?;
        row("lost", self.lost, "")?;
        row("in review", self.in_review, "")?;
        for (reason, count) in &self.reasons {
            writeln!(f, "    {count:>4} × {reason}")?;
        }
        for wrong in &self.wrong {
            writeln!(f, "  WRONG: {wrong}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::lead_in;

    #[test]
    fn a_lead_is_found_wherever_a_body_names_it() {
        for (body, lead) in [
            (r#"{"lead":"lead-0012","email":"lead12@example.com"}"#, "lead-0012"),
            (
                r#"{"inputs":[{"id":"lead12@example.com","properties":{"website_lead":"lead-0012"}}]}"#,
                "lead-0012",
            ),
            (r#"{"text":{"body":"New lead lead-0012: Lead 12"}}"#, "lead-0012"),
            (r#"{"text":"lead-00"}"#, ""),
            ("{}", ""),
        ] {
            assert_eq!(lead_in(body), lead, "{body}");
        }
    }
}
