//! What happened, in business words: for the log, the review list and notices.

use super::live::{LiveStep, RunCell};
use super::mission::Mission;
use super::outbound::Sight;
use crate::ledger::{AttemptEnd, AttemptKind};
use oncegate_domain::outcome::Outcome;
use oncegate_domain::run;
use oncegate_domain::step::{Event, Next};

/// One line per attempt or lookup.
pub fn attempt(mission: &Mission, end: &AttemptEnd, event: &Event) {
    let facts = &mission.cell.facts;
    let what = match mission.kind {
        AttemptKind::Perform => "tried",
        AttemptKind::Resend => "sent again under the same key",
        AttemptKind::Lookup => "asked the destination",
    };
    let outcome = match (end.outcome, end.finding) {
        (Some(outcome), _) => outcome.to_string(),
        (None, Some(finding)) => finding.to_string(),
        (None, None) => String::new(),
    };
    tracing::info!(
        flow = facts.flow.flow.name(),
        key = facts.key.as_str(),
        words = facts.words(),
        step = mission.name,
        to = format!("{}.{}", mission.approved.connection, mission.approved.action),
        attempt = mission.number,
        saw = %end.evidence,
        outcome,
        next = next(event),
        said = end.message.as_deref().unwrap_or_default(),
        "{what}"
    );
}

/// One line where a run came to an end or to a person.
pub fn run(cell: &RunCell, state: run::State) {
    let facts = &cell.facts;
    if super::settle::is_news(state) {
        let (flow, key) = (facts.flow.flow.name(), facts.key.as_str());
        tracing::info!(flow, key, words = facts.words(), run = %facts.id, state = state.as_str(), "run");
    }
}

/// What an operator should know at first sight of a step in review.
pub fn review_summary(cell: &RunCell, live: &LiveStep, why: &str, last_error: Option<&str>) -> String {
    let facts = &cell.facts;
    let words: Vec<String> = facts
        .context
        .iter()
        .map(|item| format!("{} {}", item.name, item.value))
        .collect();
    let last = last_error
        .or(live.last_error.as_deref())
        .map(|error| format!(" Last error: {error}."))
        .unwrap_or_default();
    format!(
        "{}: step {} of {} needs a person: {why}.{last} Attempts: {}. Run {}, key {}.",
        facts.flow.flow.title(),
        live.name,
        if words.is_empty() {
            facts.key.to_string()
        } else {
            words.join(", ")
        },
        live.standing.attempts,
        facts.id,
        facts.key,
    )
}

/// What went wrong in an attempt, from the wire, the connector and the host, shortest first-hand account first.
pub fn what_happened(sight: &Sight, connector_says: Option<&str>, outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Confirmed(_) => None,
        Outcome::Refused(_) | Outcome::Unsent | Outcome::Unknown => {
            // Many connectors repeat what the host saw; once is enough.
            let news = connector_says.filter(|text| !sight.note.as_ref().is_some_and(|note| note.contains(text)));
            let said = news.map(|text| format!("the connector says: {text}"));
            let parts: Vec<String> = [denied(sight), sight.note.clone(), said]
                .into_iter()
                .flatten()
                .collect();
            Some(if parts.is_empty() {
                outcome.to_string()
            } else {
                parts.join("; ")
            })
        }
    }
}

/// That the host denied a request, and why.
pub fn denied(sight: &Sight) -> Option<String> {
    let why = sight.denied.as_ref()?;
    Some(format!("the host denied a request: {why}"))
}

fn next(event: &Event) -> String {
    let next = match event {
        Event::Attempted { next, .. }
        | Event::LookedUp { next, .. }
        | Event::Hold { next, .. }
        | Event::Weighed { next, .. }
        | Event::Suspect { next, .. } => next,
        Event::Ready { .. }
        | Event::Skip(_)
        | Event::Begin
        | Event::Intend { .. }
        | Event::LateConfirmation
        | Event::Cancel { .. }
        | Event::Decide(_) => return String::new(),
    };
    match next {
        Next::Complete => "completed".to_owned(),
        Next::Retry { reason, until_ms } => format!("{} at {}", reason.as_str(), crate::clock::utc(*until_ms)),
        Next::Wait { reason, until_ms } => format!("{} until {}", reason.as_str(), crate::clock::utc(*until_ms)),
        Next::Review(why) => format!("review: {why}"),
        Next::Cancel => "cancelled".to_owned(),
    }
}
