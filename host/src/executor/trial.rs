//! One call made by hand, for the authors of connectors. It goes the way of every attempt: begin → call → judge → finish.
//! The executor behind it is at rest, so nothing follows from it by itself: no retry, no lookup, no second request.

use super::attempt::{call, finish, judge};
use super::begin::{Begun, begin};
use super::blocking::Weighed;
use super::doubt::{Asked, ask};
use super::mission::Mission;
use super::settle::Abandoned;
use super::tape::{Consent, Exchanged, Logged, Tape};
use super::{Delivery, Executor, IntakeError};
use crate::catalog::{Approved, Purpose};
use crate::egress::{Mask, Outgoing};
use crate::ledger::{Accepted, AttemptKind};
use crate::runtime::{GuestDoubt, LookupReturn, PerformReturn, Stop};
use oncegate_domain::doubt::Finding;
use oncegate_domain::evidence::{Evidence, Report};
use oncegate_domain::outcome::Outcome;
use oncegate_domain::step::Step;
use serde_json::Value;
use std::sync::Arc;

/// A call that is ready to be made, once.
pub struct Trial {
    mission: Arc<Mission>,
    tape: Arc<Tape>,
}

/// What the call is made with.
pub struct Wanted {
    /// An event of a flow with one step.
    pub delivery: Delivery,
    /// The step's input, already checked, as JSON text.
    pub input: String,
    /// The step key; `None`: the step's own.
    pub key: Option<String>,
    /// Perform or lookup.
    pub purpose: Purpose,
}

/// Why no call was made. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The event was not taken in.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// The ledger does not answer.
    #[error(transparent)]
    Abandoned(#[from] Abandoned),
    /// The step cannot begin.
    #[error("the call cannot be made: {0}")]
    NotBegun(String),
    /// There was no room for the connector.
    #[error("the connector could not be started: {0}")]
    NoRoom(Stop),
}

/// What came of `perform`.
pub struct Performed {
    /// Every request of the call.
    pub exchanged: Vec<Exchanged>,
    /// What the connector logged.
    pub logged: Vec<Logged>,
    /// What the host saw.
    pub evidence: Evidence,
    /// The status that was answered.
    pub status: Option<u16>,
    /// What the connector returned.
    pub returned: Result<PerformReturn, Stop>,
    /// The same, in one word.
    pub report: Report,
    /// What the host makes of both.
    pub outcome: Outcome,
    /// What went wrong, for people.
    pub message: Option<String>,
    /// What later steps would read.
    pub output: Option<Value>,
    /// Where the step stands now, from which follows what a host would do next; or why that could not be stored.
    pub standing: Result<Step, Abandoned>,
}

/// What came of `lookup`.
pub struct LookedUp {
    /// Every request of the call.
    pub exchanged: Vec<Exchanged>,
    /// What the connector logged.
    pub logged: Vec<Logged>,
    /// What the host saw of the strongest read.
    pub evidence: Evidence,
    /// The status that was answered last.
    pub status: Option<u16>,
    /// What the connector returned.
    pub returned: Result<LookupReturn, Stop>,
    /// What of it counts.
    pub finding: Finding,
    /// Why it does not say more.
    pub message: Option<String>,
}

impl Executor {
    /// Prepares one call.
    ///
    /// # Errors
    /// The step cannot begin: something is not allowed or not there.
    pub async fn trial(&self, wanted: Wanted) -> Result<Trial, TrialError> {
        let shared = &self.shared;
        let accepted = shared.accept(wanted.delivery).await?;
        let not_begun = |why: &str| TrialError::NotBegun(why.to_owned());
        let (Accepted::New { run, .. }, purpose) = (accepted, wanted.purpose) else {
            return Err(not_begun("there was such an event before"));
        };
        let cell = shared
            .cell(run)
            .await?
            .ok_or_else(|| not_begun("its run is not there"))?;
        cell.steps.lock().await[0].input = Some(wanted.input);
        let Begun::Call(mission) = begin(shared, &cell, 0).await? else {
            let why = cell.steps.lock().await[0].last_error.clone();
            return Err(not_begun(&why.unwrap_or_else(|| "its step cannot begin".to_owned())));
        };
        let tape = Arc::new(Tape::new());
        let mission = Mission {
            kind: match purpose {
                Purpose::Perform => AttemptKind::Perform,
                Purpose::Lookup => AttemptKind::Lookup,
            },
            key: wanted.key.unwrap_or_else(|| mission.key.clone()),
            tape: Some(Arc::clone(&tape)),
            ..*mission
        };
        Ok(Trial {
            mission: Arc::new(mission),
            tape,
        })
    }
}

impl Trial {
    /// The step key of the call.
    pub fn key(&self) -> &str {
        &self.mission.key
    }

    /// Hides the connection's secrets.
    pub fn mask(&self) -> &Mask {
        &self.mission.signing.mask
    }

    /// What the connection approves.
    pub fn approved(&self) -> &Approved {
        &self.mission.approved
    }

    /// Runs the connector up to its changing request, which is held back: what it would send, if it would send anything.
    /// Reads are carried out.
    ///
    /// # Errors
    /// There was no room for the connector.
    pub async fn rehearse(&self) -> Result<Option<Outgoing>, TrialError> {
        self.tape.restart(Consent::HeldBack);
        if let (_, Err(stop @ Stop::Busy)) = call(&self.mission).await {
            return Err(TrialError::NoRoom(stop));
        }
        let mut exchanged = self.tape.exchanged().into_iter();
        Ok(exchanged
            .find(|exchanged| exchanged.held_back)
            .and_then(|held| held.out))
    }

    /// Makes the call. It is used up by it: one call is one call.
    ///
    /// # Errors
    /// There was no room for the connector.
    pub async fn perform(self, consent: Consent) -> Result<Performed, TrialError> {
        self.tape.restart(consent);
        let (sight, returned) = call(&self.mission).await;
        if let Err(stop @ Stop::Busy) = returned {
            return Err(TrialError::NoRoom(stop));
        }
        let verdict = judge(&self.mission, &sight, returned.clone());
        let mut performed = Performed {
            exchanged: self.tape.exchanged(),
            logged: self.tape.logged(),
            evidence: verdict.evidence,
            status: sight.status(),
            returned,
            report: verdict.report,
            outcome: verdict.outcome,
            message: verdict.message.clone(),
            output: verdict.output.as_deref().cloned(),
            standing: Ok(Step::new()),
        };
        performed.standing = match finish(&self.mission, &sight, &verdict, Weighed::default()).await {
            Ok(_) => Ok(self.mission.cell.steps.lock().await[self.mission.index]
                .standing
                .clone()),
            Err(abandoned) => Err(abandoned),
        };
        Ok(performed)
    }

    /// Asks by the key. That the request carried it is the word of whoever asks; a host compares with its record.
    ///
    /// # Errors
    /// There was no room for the connector.
    pub async fn look_up(self, doubt: GuestDoubt) -> Result<LookedUp, TrialError> {
        self.tape.restart(Consent::HeldBack);
        let Asked {
            sight,
            returned,
            said,
            finding,
        } = ask(&self.mission, doubt, true).await.map_err(TrialError::NoRoom)?;
        Ok(LookedUp {
            exchanged: self.tape.exchanged(),
            logged: self.tape.logged(),
            evidence: sight.read,
            status: sight.status(),
            message: said.why.or(match finding {
                Finding::Found => None,
                Finding::Absent | Finding::Unsure => sight.note,
            }),
            returned,
            finding,
        })
    }
}
