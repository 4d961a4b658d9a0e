//! Asking the destination, by the same key, whether the effect exists. It only reads; the rules are the domain's.

use super::attempt::{Tried, health, read_output, reference};
use super::blocking::note;
use super::capacity::Seen;
use super::journal;
use super::live::LiveStep;
use super::mission::Mission;
use super::outbound::{Outbound, Sight, carries};
use super::settle::{Abandoned, Change};
use crate::catalog::KeyPlace;
use crate::ledger;
use crate::runtime::{GuestDoubt, LookupReturn, Stop};
use oncegate_domain::doubt::{Circumstances, Finding, FindingReport, LookupSight, judge_lookup};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::retry::retry_after;
use oncegate_domain::step::{self, Event, LookupEnd, Wait};
use std::sync::Arc;

/// One lookup of a step in doubt.
pub async fn look_up(mission: &Arc<Mission>) -> Result<Tried, Abandoned> {
    let shared = &mission.shared;
    let asked_ms = mission.started_ms;
    let live = mission.cell.steps.lock().await[mission.index].clone();
    // Asked for a key, a destination knows only requests that carried it.
    let carried = match &mission.recorded {
        Some(intent) => carries(&intent.request, &mission.key),
        None => carried_if_sent(mission, &live),
    };
    let doubt = GuestDoubt {
        first_sent_ms: live.standing.first_intent_ms.unwrap_or(asked_ms).unsigned_abs(),
        status: live.standing.doubt.as_ref().and_then(|doubt| doubt.status),
    };
    let Ok(Asked {
        sight, said, finding, ..
    }) = ask(mission, doubt, carried).await
    else {
        return Ok(Tried::Busy);
    };
    let weighed = shared.weigh(mission, &sight, None, sight.note.as_deref()).await;
    let at_ms = shared.clock.now_ms();
    let told_to_wait = matches!(sight.read, Evidence::Answered(425 | 429));
    let end = LookupEnd {
        asked_ms,
        at_ms,
        finding,
        // Also where nothing was asked: a connector that never asks must not ask for ever.
        counted: !told_to_wait && !mission.probe && weighed.hold.is_none(),
        retry_after: retry_after(sight.retry_after.as_deref(), at_ms),
        hold: weighed.hold,
    };
    let told = report(mission, &sight, &end);
    let end = LookupEnd {
        hold: end.hold.or(told),
        ..end
    };
    let (output, bad_output) = match finding {
        Finding::Found => read_output(mission, said.output.as_deref()),
        Finding::Absent | Finding::Unsure => (None, None),
    };
    let message = bad_output.or(said.why).or_else(|| sight.note.clone());
    let row = ledger_row(mission, &sight, &end, message.clone());
    let found_at = said.reference.or_else(|| reference(mission, output.as_deref()));
    let now = Circumstances {
        now_ms: at_ms,
        overtaken: false,
        blocked: None,
        jitter: shared.jitter(),
    };
    let decide = |live: &LiveStep| {
        let begun = step::apply(&live.standing, &Event::Begin)?;
        let event = step::after_lookup(&begun, &end, &mission.approved.terms, &mission.policy, &now);
        journal::attempt(mission, &row, &event);
        Ok(Change {
            events: vec![Event::Begin, event],
            attempt: Some(row.clone()),
            last_error: if finding == Finding::Found {
                None
            } else {
                message.clone()
            },
            reference: found_at.clone(),
            output: output.clone(),
            input: None,
        })
    };
    shared.settle_by(&mission.cell, mission.index, decide).await?;
    Ok(Tried::Settled)
}

/// A request that the ledger may have forgotten had the key, where the host sees to it that every request has.
fn carried_if_sent(mission: &Mission, live: &LiveStep) -> bool {
    let forgotten = live.standing.doubt.as_ref().and_then(|doubt| doubt.forgotten);
    let has_place = match mission.approved.key {
        KeyPlace::Header { .. } | KeyPlace::Field { .. } => true,
        KeyPlace::None => false,
    };
    has_place && forgotten.is_some_and(|forgotten| forgotten.same_key)
}

/// What the lookup says to everybody else who wants to go to this destination; what its own step waits for with them.
fn report(mission: &Mission, sight: &Sight, end: &LookupEnd) -> Option<(Wait, i64)> {
    let gate = mission.shared.gate(&mission.approved);
    // A lookup may be the breaker's probe: unless it reports back, everybody else waits for nothing.
    let seen = Seen {
        step: mission.step,
        health: health(sight.read, Outcome::Unsent, sight.tried),
        why: sight.note.as_deref().unwrap_or_default(),
    };
    note(&gate, &mission.approved.connection, seen, end.at_ms);
    gate.heed(sight.read, end.retry_after, end.at_ms, mission.policy.wait_longest_ms)
}

/// What came of asking.
pub(super) struct Asked {
    /// What the host saw.
    pub(super) sight: Sight,
    /// What the connector returned.
    pub(super) returned: Result<LookupReturn, Stop>,
    /// The same, limited to what it proves.
    pub(super) said: Said,
    /// What of it counts.
    pub(super) finding: Finding,
}

/// Calls the connector's lookup and judges what it says. `carried`: the request in doubt carried the key.
///
/// # Errors
/// There was no room for the call.
pub(super) async fn ask(mission: &Arc<Mission>, doubt: GuestDoubt, carried: bool) -> Result<Asked, Stop> {
    let door = Outbound::new(Arc::clone(mission));
    let event_time_ms = mission.cell.facts.received_ms;
    let (door, returned) = mission
        .shared
        .runtime
        .lookup(&mission.component, mission.call(), doubt, event_time_ms, door)
        .await;
    if let Err(stop @ Stop::Busy) = returned {
        return Err(stop);
    }
    let sight = door.into_sight();
    let mut said = Said::from(returned.clone()).limited_to_what_it_proves(carried, sight.asked_by_key);
    // Then what it says is not what counts, and whoever reads the timeline wants to know what does.
    said.why = journal::denied(&sight).or(said.why);
    let saw = LookupSight::of(
        &sight.read_statuses,
        sight.denied.is_some(),
        &mission.approved.terms.trust,
    );
    Ok(Asked {
        finding: judge_lookup(said.report, saw),
        sight,
        returned,
        said,
    })
}

fn ledger_row(mission: &Mission, sight: &Sight, end: &LookupEnd, message: Option<String>) -> ledger::AttemptEnd {
    ledger::AttemptEnd {
        number: mission.number,
        kind: mission.kind,
        has_intent: false,
        place: Some(mission.place(&sight.origin)),
        evidence: sight.read,
        status: sight.status(),
        report: None,
        outcome: None,
        finding: Some(end.finding),
        message,
        started_ms: mission.started_ms,
        ended_ms: end.at_ms,
    }
}

/// What the connector said about a lookup, taken apart.
pub(super) struct Said {
    report: FindingReport,
    output: Option<String>,
    reference: Option<String>,
    pub(super) why: Option<String>,
}

impl Said {
    /// Who is asked for a key knows only requests that carried it. Where ours did not, *absent* under that key says
    /// nothing about it, and a resend on its strength would be a second effect.
    fn limited_to_what_it_proves(self, carried: bool, asked_by_key: bool) -> Self {
        match self.report {
            FindingReport::Absent if asked_by_key && !carried => Self {
                report: FindingReport::Unsure,
                why: Some(
                    "asked by a key that the request never carried: that nothing is found proves nothing".to_owned(),
                ),
                ..self
            },
            FindingReport::Found | FindingReport::Absent | FindingReport::Unsure => self,
        }
    }
}

impl From<Result<LookupReturn, Stop>> for Said {
    fn from(returned: Result<LookupReturn, Stop>) -> Self {
        let nothing = |report, why| Self {
            report,
            output: None,
            reference: None,
            why,
        };
        match returned {
            Ok(LookupReturn::Found { output, reference, .. }) => Self {
                report: FindingReport::Found,
                output: Some(output),
                reference: (!reference.is_empty()).then_some(reference),
                why: None,
            },
            Ok(LookupReturn::Absent) => nothing(FindingReport::Absent, None),
            Ok(LookupReturn::Unsure(why)) => nothing(FindingReport::Unsure, Some(why)),
            Err(stop) => nothing(FindingReport::Unsure, Some(stop.to_string())),
        }
    }
}
