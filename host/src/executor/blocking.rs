//! Whether a connection can be used: what a 401 means for the connection, and the look at one that is blocked or whose
//! breaker is open, by the read that it lists for that (its probe). The decisions are the domain's and the gate's.

use super::Shared;
use super::attempt::health;
use super::capacity::{Cause, Failing, Gate, News, Refusal, Seen, Slot};
use super::live::LiveStep;
use super::mission::Mission;
use super::outbound::Sight;
use super::signing::{Signing, SigningError};
use crate::catalog::{Approved, manifest};
use crate::egress::{Exchange, ExchangeLimits, NothingSent, Outgoing, Permit, Reuse};
use futures::future::join_all;
use oncegate_domain::credentials::{self, Probe, Shown, Verdict};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::limits;
use oncegate_domain::outcome::Outcome;
use oncegate_domain::retry::retry_after;
use oncegate_domain::step::Wait;
use std::sync::Arc;

/// What the answers of an attempt or a lookup mean for its step, as far as credentials go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weighed {
    /// The connection is blocked: not before then.
    pub hold: Option<(Wait, i64)>,
    /// The credentials work, but not for what this step asks.
    pub about_step: bool,
}

/// What came of being admitted to find out.
pub(super) enum Found {
    /// The step may go; `probe`: it finds out itself.
    Go { probe: bool },
    /// Somebody was asked in its place: the gate is asked again, behind those who are older.
    AskAgain,
}

/// How the connection's probe was answered.
struct Answered {
    evidence: Evidence,
    /// Something tried to connect.
    tried: bool,
    retry_after: Option<String>,
    /// In words.
    what: String,
}

impl Shared {
    /// Weighs what an attempt or a lookup shows about the credentials: a 401 asks the connection's probe before its step is
    /// judged. `why`: how it was refused, for people.
    pub(super) async fn weigh(
        &self,
        mission: &Mission,
        sight: &Sight,
        outcome: Option<Outcome>,
        why: Option<&str>,
    ) -> Weighed {
        let gate = self.gate(&mission.approved);
        let connection = &mission.approved.connection;
        match credentials::shown(&sight.statuses(), outcome) {
            Shown::Nothing => Weighed::default(),
            Shown::Accepted => {
                if gate.credentials(|credentials| credentials.accepted(mission.step)) {
                    tell_usable(connection);
                }
                Weighed::default()
            }
            Shown::Refused => {
                self.refused(&gate, mission, why.unwrap_or("the destination answered 401"))
                    .await
            }
        }
    }

    async fn refused(&self, gate: &Arc<Gate>, mission: &Mission, why: &str) -> Weighed {
        let _turn = gate.turn_to_ask().await;
        let (probe, answer) = match gate.credentials(|credentials| credentials.is_blocked()) {
            true => (Probe::None, None),
            false => self.ask_about(mission).await,
        };
        let refusal = Refusal {
            run: mission.cell.facts.id,
            step: mission.step,
            probe,
            why: answer.map_or_else(|| why.to_owned(), |answer| format!("{why}; {answer}")),
        };
        let now_ms = self.clock.now_ms();
        let (verdict, news, blocked) = gate.credentials(|credentials| {
            let (verdict, news) = credentials.refused(refusal, now_ms);
            (verdict, news, credentials.blocked())
        });
        if news {
            tell_blocked(&mission.approved.connection, gate);
        }
        Weighed {
            hold: match verdict {
                Verdict::Block => blocked.map(|blocked| (Wait::ConnectionBlocked, blocked.next_look_ms)),
                Verdict::AboutStep | Verdict::Backoff => None,
            },
            about_step: verdict == Verdict::AboutStep,
        }
    }

    /// Asks the connection's probe on account of a 401; what it said, and that in words.
    async fn ask_about(&self, mission: &Mission) -> (Probe, Option<String>) {
        let Some((approved, probe)) = self.probe_of(&mission.approved.connection) else {
            return (Probe::None, None);
        };
        let Ok(signing) = self.signer.sign(&approved).await else {
            return (Probe::Unclear, None);
        };
        if !signing.signs_like(&mission.signing) {
            return (Probe::Replaced, None);
        }
        let answered = self.ask_probe(&approved, &probe, &signing).await;
        (credentials::probe_said(answered.evidence), Some(answered.what))
    }

    /// A step was admitted to find out first whether its connection can be used again: asks the connection's probe in its place,
    /// where there is one.
    pub(super) async fn find_out(&self, live: &LiveStep, slot: &Slot) -> Found {
        let Some(approved) = self.any_approved(&live.connection) else {
            return Found::Go { probe: slot.probe };
        };
        let gate = slot.gate();
        let itself = || Found::Go {
            probe: gate.finds_out(live.id),
        };
        let signing = match self.signer.sign(&approved).await {
            Ok(signing) => signing,
            Err(missing) => {
                self.block_for(gate, &approved.connection, &missing);
                return Found::AskAgain;
            }
        };
        if gate.credentials(|credentials| credentials.secrets_are_there()) {
            tell_usable(&approved.connection);
            return Found::AskAgain;
        }
        let Some(probe) = &approved.probe else {
            return itself();
        };
        if !gate.credentials(|credentials| credentials.asks_first()) {
            return itself();
        }
        let _turn = gate.turn_to_ask().await;
        let answered = self.ask_probe(&approved, probe, &signing).await;
        match self.take_note(gate, live, &approved.connection, answered) {
            // As good as none, where credentials are to be found out about: the step finds out.
            Probe::None | Probe::Unclear if gate.credentials(|credentials| credentials.is_blocked()) => itself(),
            Probe::None | Probe::Unclear | Probe::Away | Probe::Refused | Probe::Accepted | Probe::Replaced => {
                Found::AskAgain
            }
        }
    }

    fn take_note(&self, gate: &Arc<Gate>, live: &LiveStep, connection: &str, answered: Answered) -> Probe {
        let now_ms = self.clock.now_ms();
        gate.probed(health(answered.evidence, Outcome::Unsent, answered.tried), now_ms);
        let told = retry_after(answered.retry_after.as_deref(), now_ms);
        gate.heed(answered.evidence, told, now_ms, limits::WAIT_LONGEST_MS_DEFAULT);
        let said = credentials::probe_said(answered.evidence);
        match said {
            Probe::Accepted => {
                if gate.credentials(|credentials| credentials.accepted(live.id)) {
                    tell_usable(connection);
                }
            }
            Probe::Refused => {
                if gate.credentials(|credentials| credentials.block(Cause::Refused(answered.what), now_ms)) {
                    tell_blocked(connection, gate);
                }
            }
            Probe::Away => gate.credentials(|credentials| credentials.no_verdict(now_ms)),
            Probe::None | Probe::Unclear | Probe::Replaced => {}
        }
        said
    }

    /// Without its secrets a connection cannot be used.
    pub(super) fn block_for(&self, gate: &Arc<Gate>, connection: &str, missing: &SigningError) {
        let (cause, now_ms) = (Cause::Secrets(missing.to_string()), self.clock.now_ms());
        if gate.credentials(|credentials| credentials.block(cause, now_ms)) {
            tell_blocked(connection, gate);
        }
    }

    /// What keeps connections in force from being used as of now, each in a sentence. Nothing of a secret is in it. All are
    /// asked at the same time: secrets whose file system does not answer are waited for once.
    pub(super) async fn unusable(&self) -> Vec<String> {
        let snapshot = self.catalog.snapshot();
        let problems = join_all(snapshot.connections().map(|connection| async {
            // Place and credentials are the same for all actions.
            let Some(approved) = connection.actions.values().next() else {
                return Vec::new();
            };
            self.signer.problems(approved).await
        }));
        let problems = snapshot.connections().zip(problems.await);
        let sentences = problems.flat_map(|(connection, problems)| {
            let name = &connection.spec.name;
            problems.into_iter().map(move |error| {
                format!("the connection {name:?} cannot be used yet: {error}; its steps wait until it can")
            })
        });
        sentences.collect()
    }

    /// What the connection approves now, for what holds for all its actions.
    fn any_approved(&self, connection: &str) -> Option<Arc<Approved>> {
        let snapshot = self.catalog.snapshot();
        snapshot.connection(connection)?.actions.values().next().cloned()
    }

    pub(super) fn probe_of(&self, connection: &str) -> Option<(Arc<Approved>, manifest::Probe)> {
        let approved = self.any_approved(connection)?;
        let probe = approved.probe.clone()?;
        Some((approved, probe))
    }

    /// One GET, signed as every request of the connection.
    async fn ask_probe(&self, approved: &Approved, probe: &manifest::Probe, signing: &Signing) -> Answered {
        let nothing = |tried, why: String| Answered {
            evidence: Evidence::NothingSent,
            tried,
            retry_after: None,
            what: format!(
                "GET {}, which tells whether the credentials work, was not sent: {why}",
                probe.path
            ),
        };
        let Some(place) = approved.places.get(&probe.endpoint) else {
            return nothing(false, format!("the connection has no endpoint {:?}", probe.endpoint));
        };
        let out = Outgoing {
            method: "GET".to_owned(),
            origin: place.origin.to_string(),
            path_and_query: probe.path.clone(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        let channel = match self.egress.connect(place, Reuse::Pool(&approved.connection)).await {
            Ok(channel) => channel,
            Err(error) => return nothing(!matches!(error, NothingSent::Shortage { .. }), error.to_string()),
        };
        let limits = ExchangeLimits {
            timeout_ms: approved.limits.timeout_ms,
            ..ExchangeLimits::default()
        };
        let (credential, mask) = (signing.credential(), &signing.mask);
        let exchange = self
            .egress
            .send(channel, &out, credential, Permit::Read, &limits, mask)
            .await;
        answered(&probe.path, exchange)
    }
}

fn answered(path: &str, exchange: Exchange) -> Answered {
    let status = exchange.answer.as_ref().map(|answer| answer.status);
    let said = match status {
        Some(status) => format!("was answered {status}"),
        None => format!("got no answer: {}", exchange.error.unwrap_or_default()),
    };
    Answered {
        evidence: exchange.evidence,
        tried: true,
        retry_after: exchange
            .answer
            .and_then(|answer| answer.header("retry-after").map(str::to_owned)),
        what: format!("GET {path}, which tells whether the credentials work, {said}"),
    }
}

fn tell_blocked(connection: &str, gate: &Arc<Gate>) {
    let why = gate.credentials(|credentials| credentials.blocked().map(|blocked| blocked.why));
    let why = why.unwrap_or_default();
    tracing::error!(
        connection,
        why,
        "the connection is blocked; its steps wait until it can be used"
    );
}

/// Takes note of how an exchange of a step went, and tells people where an outage begins or is over.
pub(super) fn note(gate: &Arc<Gate>, connection: &str, seen: Seen, now_ms: i64) {
    match gate.note(seen, now_ms) {
        Some(News::Failing(Failing { why, .. })) => tracing::warn!(
            connection,
            why,
            "the destination is failing; nothing is sent to it until one step finds out that it is back"
        ),
        Some(News::Well) => tracing::info!(connection, "the destination works again; all steps go on"),
        None => {}
    }
}

fn tell_usable(connection: &str) {
    tracing::info!(connection, "the connection can be used again; its steps go on");
}
