//! One attempt of one step: begin → call → judge → finish. The first file to read.
//!
//! * **begin** decides, as of now, whether to perform, to ask (lookup) or to resend, and prepares the call.
//! * **call** runs the connector. Its only way out is `Outbound`, which records the intent before anything leaves and
//!   keeps what the host saw.
//! * **judge** turns what was seen and what the connector said into an outcome. What was seen decides. A 401 is weighed
//!   first: is it about the connection, or about this step?
//! * **finish** makes the outcome and all that follows from it durable in one commit.

use super::begin::{Begun, begin};
use super::blocking::{Weighed, note};
use super::capacity::{Health, Seen};
use super::live::{LiveStep, RunCell};
use super::mission::Mission;
use super::outbound::{Outbound, Sight};
use super::settle::{Abandoned, Change};
use super::weighing::finish_before_asking;
use super::{Shared, doubt, journal, late};
use crate::flow::{BodyLimits, parse_json};
use crate::ledger::{self, AttemptKind};
use crate::runtime::{PerformReturn, Problem, Size, Stop};
use crate::share::Share;
use oncegate_domain::doubt::{Circumstances, Effect};
use oncegate_domain::evidence::{Cut, Evidence, Facts, Report};
use oncegate_domain::limits::REFERENCE_BYTES_MAX;
use oncegate_domain::outcome::{self, Outcome};
use oncegate_domain::retry::{RetryAfter, retry_after};
use oncegate_domain::step::{self, AttemptEnd, Event, Wait};
use serde_json::Value;
use std::sync::Arc;

/// What came of a try to go on with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// Its standing has changed; look at it again.
    Settled,
    /// Nothing before this moment.
    NotBefore(i64),
    /// The host had no room for the call: no attempt was made.
    Busy,
}

/// Goes on with a step whose turn it is. `probe`: it finds out for all others whether the destination is back.
pub async fn attempt(shared: &Arc<Shared>, cell: &Arc<RunCell>, index: usize, probe: bool) -> Result<Tried, Abandoned> {
    let mission = match begin(shared, cell, index).await? {
        Begun::Call(mission) => Arc::new(Mission { probe, ..*mission }),
        Begun::Settled => return Ok(Tried::Settled),
        Begun::NotBefore(at_ms) => return Ok(Tried::NotBefore(at_ms)),
    };
    let Ok(_place) = shared.place_of_size(&mission) else {
        return Ok(Tried::Busy);
    };
    if mission.kind == AttemptKind::Lookup {
        return doubt::look_up(&mission).await;
    }
    let (sight, returned) = call(&mission).await;
    if matches!(returned, Err(Stop::Busy)) {
        return Ok(Tried::Busy);
    }
    let verdict = judge(&mission, &sight, returned);
    if shared.has_to_ask(&mission, &sight, verdict.outcome) {
        return finish_before_asking(&mission, &sight, &verdict).await;
    }
    let outcome = Some(verdict.outcome);
    let weighed = shared
        .weigh(&mission, &sight, outcome, verdict.message.as_deref())
        .await;
    finish(&mission, &sight, &verdict, weighed).await
}

/// A connector of this size has no place now.
struct NoPlace;

impl Shared {
    /// A place among the calls of large connectors, for one of those. The runtime has as many, and keeps none for anybody: a
    /// slow destination would have them all.
    fn place_of_size(&self, mission: &Mission) -> Result<Option<Share>, NoPlace> {
        match mission.component.size() {
            Size::Small => Ok(None),
            Size::Large => {
                let place = self.large_calls.try_take(&mission.approved.connection);
                place.map(Some).ok_or(NoPlace)
            }
        }
    }
}

pub(super) async fn call(mission: &Arc<Mission>) -> (Sight, Result<PerformReturn, Stop>) {
    let door = Outbound::new(Arc::clone(mission));
    let event_time_ms = mission.cell.facts.received_ms;
    let (door, returned) = mission
        .shared
        .runtime
        .perform(&mission.component, mission.call(), event_time_ms, door)
        .await;
    (door.into_sight(), returned)
}

/// How an attempt ended, and what of it people and later steps see.
pub(super) struct Verdict {
    pub(super) evidence: Evidence,
    pub(super) report: Report,
    pub(super) outcome: Outcome,
    /// What the destination asked of everybody, on the wire.
    told: RetryAfter,
    /// When this step may be tried again: as told, else as the connector asks for its own step.
    retry_after: RetryAfter,
    /// What went wrong, for people.
    pub(super) message: Option<String>,
    /// What later steps read.
    pub(super) output: Option<Arc<Value>>,
}

pub(super) fn judge(mission: &Mission, sight: &Sight, returned: Result<PerformReturn, Stop>) -> Verdict {
    let now_ms = mission.shared.clock.now_ms();
    let told = Told::from(returned);
    let terms = &mission.approved.terms;
    let evidence = match terms.effect {
        Effect::Write => sight.write,
        Effect::Read => sight.read,
    };
    let facts = Facts {
        evidence,
        denied: sight.denied.is_some(),
        read_answered_2xx: sight.read_answered_2xx(),
        report: told.report,
    };
    let outcome = match terms.effect {
        Effect::Write => outcome::of_write(&facts, &terms.trust),
        Effect::Read => outcome::of_read(&facts, &terms.trust),
    };
    let on_the_wire = retry_after(sight.retry_after.as_deref(), now_ms);
    let own = told
        .retry_after_ms
        .map(|ms| RetryAfter::Until(now_ms.saturating_add_unsigned(ms)));
    let (output, bad_output) = match outcome {
        Outcome::Confirmed(_) => read_output(mission, told.output.as_deref()),
        Outcome::Refused(_) | Outcome::Unsent | Outcome::Unknown => (None, None),
    };
    Verdict {
        evidence,
        report: told.report,
        outcome,
        told: on_the_wire,
        retry_after: if on_the_wire == RetryAfter::None {
            own.unwrap_or_default()
        } else {
            on_the_wire
        },
        message: bad_output.or_else(|| journal::what_happened(sight, told.message.as_deref(), outcome)),
        output,
    }
}

/// The output of a confirmed attempt, or what is wrong with it: then the effect stands, and only the steps that need
/// the output go to a person.
pub(super) fn read_output(mission: &Mission, text: Option<&str>) -> (Option<Arc<Value>>, Option<String>) {
    let Some(text) = text else { return (None, None) };
    let checked = parse_json(text.as_bytes(), &BodyLimits::default())
        .map_err(|error| error.to_string())
        .and_then(|output| {
            mission
                .approved
                .check_output(&output)
                .map_err(|why| why.to_string())
                .map(|()| output)
        });
    match checked {
        Ok(output) => (Some(Arc::new(output)), None),
        Err(why) => (
            None,
            Some(format!("done, but what the connector gave out cannot be used: {why}")),
        ),
    }
}

/// What a person would search for at the destination.
pub(super) fn reference(mission: &Mission, output: Option<&Value>) -> Option<String> {
    searchable(output?.pointer(mission.approved.reference.as_deref()?)?)
}

/// A value as a person would type it. One that is too long to search for is left out: a part of it would find nothing, or
/// something else.
fn searchable(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (text.len() <= REFERENCE_BYTES_MAX).then_some(text)
}

/// What the connector said, taken apart.
struct Told {
    report: Report,
    output: Option<String>,
    message: Option<String>,
    retry_after_ms: Option<u64>,
}

impl From<Result<PerformReturn, Stop>> for Told {
    fn from(returned: Result<PerformReturn, Stop>) -> Self {
        let problem = |report, problem: Problem| Self {
            report,
            output: None,
            message: Some(problem.to_string()),
            retry_after_ms: problem.retry_after_ms,
        };
        let cut = |cut, stop: &Stop| Self {
            report: Report::Cut(cut),
            output: None,
            message: Some(stop.to_string()),
            retry_after_ms: None,
        };
        match returned {
            Ok(PerformReturn::Completed(output)) => Self {
                report: Report::Ok,
                output: Some(output),
                message: None,
                retry_after_ms: None,
            },
            Ok(PerformReturn::Rejected(said)) => problem(Report::Rejected, said),
            Ok(PerformReturn::Unauthorized(said)) => problem(Report::Unauthorized, said),
            Ok(PerformReturn::Temporary(said)) => problem(Report::Temporary, said),
            Ok(PerformReturn::Unsure(said)) => problem(Report::Unsure, said),
            Err(stop @ Stop::Memory) => cut(Cut::Memory, &stop),
            Err(stop @ Stop::Cpu) => cut(Cut::Cpu, &stop),
            Err(stop @ Stop::WallClock) => cut(Cut::WallClock, &stop),
            // Busy never gets here; a guest that did not start is cut like one that trapped before sending.
            Err(stop @ (Stop::Trap(_) | Stop::Busy)) => cut(Cut::Trap, &stop),
        }
    }
}

pub(super) async fn finish(
    mission: &Arc<Mission>,
    sight: &Sight,
    verdict: &Verdict,
    weighed: Weighed,
) -> Result<Tried, Abandoned> {
    let shared = &mission.shared;
    let at_ms = shared.clock.now_ms();
    let told = pace(mission, sight, verdict, at_ms);
    let weighed = Weighed {
        hold: weighed.hold.or(told),
        ..weighed
    };
    let end = end_of(mission, sight, verdict, weighed, at_ms);
    let now = Circumstances {
        now_ms: at_ms,
        overtaken: sight.overtaken,
        blocked: sight.blocked,
        jitter: shared.jitter(),
    };
    let decide = |live: &LiveStep| {
        let has_intent = live.last_number == mission.number;
        let mut events = Vec::new();
        let mut standing = live.standing.clone();
        if !has_intent {
            // Without an intent nobody knows of this attempt yet.
            standing = step::apply(&standing, &Event::Begin)?;
            events.push(Event::Begin);
        }
        let event = step::after_attempt(&standing, &end, &mission.approved.terms, &mission.policy, &now);
        events.push(event);
        let row = row(mission, sight, verdict, has_intent, end.over_ms);
        journal::attempt(mission, &row, &event);
        Ok(Change {
            events,
            attempt: Some(row),
            reference: reference(mission, verdict.output.as_deref()),
            last_error: verdict.message.clone(),
            output: verdict.output.clone(),
            input: Some(mission.input.clone()),
        })
    };
    match shared.settle_by(&mission.cell, mission.index, decide).await {
        Ok(()) => Ok(Tried::Settled),
        Err(error) => {
            late::append(mission, sight, verdict, &error).await;
            Err(error)
        }
    }
}

/// How the attempt ended, as the domain wants to know it.
pub(super) fn end_of(mission: &Mission, sight: &Sight, verdict: &Verdict, weighed: Weighed, at_ms: i64) -> AttemptEnd {
    AttemptEnd {
        at_ms,
        outcome: verdict.outcome,
        evidence: verdict.evidence,
        over_ms: sight.over_ms.unwrap_or(at_ms),
        tried: sight.tried,
        probe: mission.probe,
        retry_after: verdict.retry_after,
        hold: weighed.hold,
        blocked: sight.blocked,
        about_step: weighed.about_step,
    }
}

/// What the attempt says to everybody else who wants to go to this destination; what its own step waits for with them.
fn pace(mission: &Mission, sight: &Sight, verdict: &Verdict, at_ms: i64) -> Option<(Wait, i64)> {
    let gate = mission.shared.gate(&mission.approved);
    let health = health(verdict.evidence, verdict.outcome, sight.tried);
    let seen = Seen {
        step: mission.step,
        health,
        why: verdict.message.as_deref().unwrap_or_default(),
    };
    note(&gate, &mission.approved.connection, seen, at_ms);
    gate.heed(verdict.evidence, verdict.told, at_ms, mission.policy.wait_longest_ms)
}

fn row(mission: &Mission, sight: &Sight, verdict: &Verdict, has_intent: bool, ended_ms: i64) -> ledger::AttemptEnd {
    ledger::AttemptEnd {
        number: mission.number,
        kind: mission.kind,
        has_intent,
        place: Some(mission.place(&sight.origin)),
        evidence: verdict.evidence,
        status: sight.status(),
        report: Some(verdict.report),
        outcome: Some(verdict.outcome),
        finding: None,
        message: verdict.message.clone(),
        started_ms: mission.started_ms,
        ended_ms,
    }
}

/// What an attempt says about its destination. A refusal is a sign of health; being told to wait says neither.
pub(super) fn health(evidence: Evidence, outcome: Outcome, tried: bool) -> Health {
    match (evidence, outcome) {
        (Evidence::Answered(425 | 429), _) => Health::Silent,
        (Evidence::Answered(500..=599), _) | (_, Outcome::Unknown) => Health::Bad,
        (Evidence::Answered(_), _) => Health::Good,
        (Evidence::MaybeSent | Evidence::NothingSent, _) if tried => Health::Bad,
        (Evidence::None | Evidence::NothingSent | Evidence::MaybeSent, _) => Health::Silent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reference_is_a_text_or_a_number_that_a_person_would_search_for() {
        assert_eq!(searchable(&json!("R-2027-1")).as_deref(), Some("R-2027-1"));
        assert_eq!(searchable(&json!(12)).as_deref(), Some("12"));
        for other in [json!(null), json!(true), json!(["R-1"]), json!({"id": "R-1"})] {
            assert_eq!(searchable(&other), None, "{other}");
        }
    }

    #[test]
    fn a_reference_that_is_too_long_is_left_out_and_never_cut() {
        for sign in ["a", "1"] {
            let of_bytes = |bytes: usize| match sign {
                "1" => serde_json::from_str(&sign.repeat(bytes)).unwrap(),
                _ => json!(sign.repeat(bytes)),
            };
            assert_eq!(searchable(&of_bytes(1_024)), Some(sign.repeat(1_024)));
            assert_eq!(searchable(&of_bytes(1_025)), None);
        }
    }
}
