//! A 401 of which nobody can say yet whether it is about the connection or about the step.
//!
//! That the effect does not exist is known, and is stored before the connection's probe is asked: whatever happens meanwhile,
//! the step is in no doubt for it. It waits for the verdict like one whose connection is blocked, and has counted nothing.

use super::Shared;
use super::attempt::{Tried, Verdict, end_of, finish};
use super::blocking::Weighed;
use super::live::LiveStep;
use super::mission::Mission;
use super::outbound::Sight;
use super::settle::{Abandoned, Change};
use oncegate_domain::credentials::{self, Shown};
use oncegate_domain::doubt::Circumstances;
use oncegate_domain::outcome::{Outcome, Refusal};
use oncegate_domain::step::{self, IllegalTransition, State, Wait};
use std::sync::Arc;

impl Shared {
    /// Whether somebody has to be asked what this attempt shows about the credentials.
    pub(super) fn has_to_ask(&self, mission: &Mission, sight: &Sight, outcome: Outcome) -> bool {
        let is_refused = outcome == Outcome::Refused(Refusal::Unauthorized)
            && credentials::shown(&sight.statuses(), Some(outcome)) == Shown::Refused;
        let is_blocked = || {
            self.gate(&mission.approved)
                .credentials(|credentials| credentials.is_blocked())
        };
        is_refused && self.probe_of(&mission.approved.connection).is_some() && !is_blocked()
    }
}

/// Stores the refusal, asks what it is about, and brings the step where that leads.
pub(super) async fn finish_before_asking(
    mission: &Arc<Mission>,
    sight: &Sight,
    verdict: &Verdict,
) -> Result<Tried, Abandoned> {
    let shared = &mission.shared;
    let answered_by_ms = shared
        .clock
        .now_ms()
        .saturating_add_unsigned(mission.approved.terms.request_timeout_ms);
    let asks = Weighed {
        hold: Some((Wait::ConnectionBlocked, answered_by_ms)),
        about_step: false,
    };
    finish(mission, sight, verdict, asks).await?;
    let (outcome, why) = (Some(verdict.outcome), verdict.message.as_deref());
    let weighed = shared.weigh(mission, sight, outcome, why).await;
    match tell(mission, sight, verdict, weighed).await {
        // A person was quicker.
        Ok(()) | Err(Abandoned::Illegal(_)) => Ok(Tried::Settled),
        Err(error) => Err(error),
    }
}

async fn tell(mission: &Arc<Mission>, sight: &Sight, verdict: &Verdict, weighed: Weighed) -> Result<(), Abandoned> {
    let shared = &mission.shared;
    let at_ms = shared.clock.now_ms();
    let now = Circumstances {
        now_ms: at_ms,
        overtaken: sight.overtaken,
        blocked: sight.blocked,
        jitter: shared.jitter(),
    };
    let (terms, policy) = (&mission.approved.terms, &mission.policy);
    let decide = |live: &LiveStep| {
        let event = match weighed.hold {
            Some((reason, until_ms)) => step::hold(&still_waits(live)?, reason, until_ms, terms, policy, &now),
            None => {
                let end = end_of(mission, sight, verdict, weighed, at_ms);
                step::after_weighing(&live.standing, &end, terms, policy, &now)
            }
        };
        Ok(Change::of(event))
    };
    shared.settle_by(&mission.cell, mission.index, decide).await
}

/// A cancel must not be taken back.
fn still_waits(live: &LiveStep) -> Result<step::Step, IllegalTransition> {
    match live.standing.state {
        State::Waiting {
            reason: Wait::ConnectionBlocked,
            ..
        } => Ok(live.standing.clone()),
        state => Err(IllegalTransition {
            state: state.as_str(),
            event: "hold",
            why: "it does not wait to hear what its refusal was about",
        }),
    }
}
