//! What stands behind a guest's `http.send`: check → record the intent → send → keep the evidence.
//!
//! The intent cannot be forgotten: a write can only be sent with what the ledger returns for it. What the guest reports
//! later is not this file's business; it keeps what the host saw.

mod request;
mod sight;

pub(super) use request::carries;
pub use sight::Sight;

use super::mission::Mission;
use crate::catalog::{KeyPlace, Purpose, RequestKind};
use crate::egress::{Answer, Exchange, NothingSent, Outgoing, Permit, Place};
use crate::ledger::{AttemptKind, Intent, LedgerError, NewIntent};
use crate::runtime::{Door, LogLevel, Request, Response, SendError};
use oncegate_domain::doubt::{self, Blocked};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::limits;
use oncegate_domain::step::{self, Event};
use request::{path_and_query, stored};
use std::sync::Arc;

/// One call's way out.
pub struct Outbound {
    mission: Arc<Mission>,
    sight: Sight,
    reads: u32,
}

impl Outbound {
    pub(super) fn new(mission: Arc<Mission>) -> Self {
        Self {
            mission,
            sight: Sight::default(),
            reads: 0,
        }
    }

    /// What was seen, once the call is over.
    pub fn into_sight(self) -> Sight {
        self.sight
    }

    fn deny(&mut self, why: String) -> SendError {
        self.sight.denied.get_or_insert_with(|| why.clone());
        SendError::Denied(why)
    }

    /// What may be sent at all, as the bytes that would leave (without credentials).
    fn check(
        &mut self,
        mission: &Mission,
        place: &Place,
        request: &Request,
    ) -> Result<(RequestKind, Outgoing), SendError> {
        let purpose = if mission.kind == AttemptKind::Lookup {
            Purpose::Lookup
        } else {
            Purpose::Perform
        };
        let kind = mission
            .approved
            .check(request, purpose, &mission.key)
            .map_err(|denied| self.deny(denied.0))?;
        let out = Outgoing {
            method: request.method.to_ascii_uppercase(),
            origin: place.origin.to_string(),
            path_and_query: path_and_query(request),
            headers: with_key(request, kind, mission),
            body: request.body.clone(),
        };
        out.check().map_err(|bad| self.deny(bad.to_string()))?;
        match kind {
            RequestKind::Read if self.reads >= limits::READS_PER_ATTEMPT_MAX => Err(self.deny(format!(
                "a call may read at most {} times",
                limits::READS_PER_ATTEMPT_MAX
            ))),
            RequestKind::Read => Ok((kind, out)),
            RequestKind::Write => self.check_write(&out).map(|()| (kind, out)),
        }
    }

    /// One mutating request per attempt; a resend is the same request to the same place, or it is nothing.
    fn check_write(&mut self, out: &Outgoing) -> Result<(), SendError> {
        if self.sight.write != Evidence::None {
            return Err(self.deny("this attempt has sent its one changing request already".to_owned()));
        }
        let changed = match &self.mission.recorded {
            Some(recorded) if recorded.place.origin != out.origin => Some(Blocked::PlaceChanged),
            Some(recorded) if recorded.request != stored(out) => Some(Blocked::RequestChanged),
            Some(_) | None => None,
        };
        match changed {
            None => Ok(()),
            Some(blocked) => {
                self.sight.blocked = Some(blocked);
                Err(self
                    .deny("this is not the request that was recorded before; only that one may be repeated".to_owned()))
            }
        }
    }

    async fn exchange(&mut self, kind: RequestKind, place: &Place, out: Outgoing) -> Result<Exchange, SendError> {
        let mission = Arc::clone(&self.mission);
        let shared = &mission.shared;
        self.sight.tried = true;
        self.sight.origin.clone_from(&out.origin);
        // From here until the exchange says more, this is what is known should the guest be cut off in the middle.
        *self.evidence(kind) = Evidence::NothingSent;
        self.sight.asked_by_key |= kind == RequestKind::Read && carries(&stored(&out), &mission.key);
        let channel = shared
            .egress
            .connect(place, mission.reuse(kind))
            .await
            .map_err(|error| {
                // Our own want of room says nothing about the destination, and costs the step no attempt.
                self.sight.tried = !matches!(error, NothingSent::Shortage { .. });
                self.nothing_sent(error.to_string())
            })?;
        let permit = match kind {
            RequestKind::Read => Permit::Read,
            RequestKind::Write => {
                let intent = record_intent(&mission, &out)
                    .await
                    .map_err(|error| self.not_recorded(&error))?;
                Permit::Write(intent)
            }
        };
        *self.evidence(kind) = Evidence::MaybeSent;
        let exchange = shared
            .egress
            .send(
                channel,
                &out,
                mission.signing.credential(),
                permit,
                &mission.exchange_limits(),
                &mission.signing.mask,
            )
            .await;
        self.keep(kind, &exchange);
        Ok(exchange)
    }

    fn evidence(&mut self, kind: RequestKind) -> &mut Evidence {
        match kind {
            RequestKind::Read => &mut self.sight.read,
            RequestKind::Write => &mut self.sight.write,
        }
    }

    fn keep(&mut self, kind: RequestKind, exchange: &Exchange) {
        match kind {
            RequestKind::Write => {
                self.sight.write = exchange.evidence;
                self.sight.over_ms = Some(exchange.over_ms);
            }
            RequestKind::Read => {
                self.sight.read = self.sight.read.max(exchange.evidence);
                self.sight
                    .read_statuses
                    .extend(exchange.answer.as_ref().map(|answer| answer.status));
            }
        }
        self.sight.note = match &exchange.answer {
            Some(answer) => Some(excerpt(answer)),
            None => exchange.error.clone(),
        };
        if let Some(answer) = &exchange.answer {
            self.sight.retry_after = answer.header("retry-after").map(str::to_owned);
        }
    }

    fn nothing_sent(&mut self, why: String) -> SendError {
        self.sight.note = Some(why.clone());
        SendError::NothingSent(why)
    }

    fn not_recorded(&mut self, error: &LedgerError) -> SendError {
        self.sight.overtaken = matches!(error, LedgerError::Overtaken { .. });
        // Our own want of room, of a database or of a lease says nothing about the destination, and costs the step no attempt.
        self.sight.tried = !(error.is_unavailable() || matches!(error, LedgerError::LeaseLost { .. }));
        self.nothing_sent(format!("not sent, because it could not be recorded first: {error}"))
    }
}

impl Outbound {
    async fn pass(&mut self, request: Request) -> Result<Response, SendError> {
        let mission = Arc::clone(&self.mission);
        let Some(place) = mission.approved.places.get(&request.endpoint) else {
            return Err(self.deny(format!("the connection has no endpoint {:?}", request.endpoint)));
        };
        let (kind, out) = self.check(&mission, place, &request)?;
        self.agreed(kind, &out)?;
        if kind == RequestKind::Read {
            self.reads += 1;
        }
        let exchange = self.exchange(kind, place, out).await?;
        match (exchange.evidence, exchange.answer) {
            (_, Some(answer)) => Ok(Response {
                status: answer.status,
                headers: answer.headers,
                body: answer.body,
            }),
            (Evidence::None | Evidence::NothingSent, None) => {
                Err(SendError::NothingSent(exchange.error.unwrap_or_default()))
            }
            (Evidence::MaybeSent | Evidence::Answered(_), None) => {
                Err(SendError::MaybeSent(exchange.error.unwrap_or_default()))
            }
        }
    }

    /// A call made by hand keeps what leaves, and lets a changing request go only with the person's leave.
    fn agreed(&mut self, kind: RequestKind, out: &Outgoing) -> Result<(), SendError> {
        let Some(tape) = self.mission.tape.clone() else {
            return Ok(());
        };
        match kind {
            RequestKind::Read => {
                tape.leaves(out);
                Ok(())
            }
            RequestKind::Write => tape.changes(out).map_err(|why| self.deny(why.to_owned())),
        }
    }
}

impl Door for Outbound {
    async fn send(&mut self, request: Request) -> Result<Response, SendError> {
        let tape = self.mission.tape.clone();
        if let Some(tape) = &tape {
            tape.asked(&request);
        }
        let result = self.pass(request).await;
        if let Some(tape) = &tape {
            tape.ended(&result);
        }
        result
    }

    fn log(&mut self, level: LogLevel, message: String, fields: Vec<(String, String)>) {
        let mission = &self.mission;
        let masked = |text| mission.signing.mask.text(text);
        let message = masked(message);
        let fields = fields.into_iter().map(|(name, value)| (masked(name), masked(value)));
        let fields: Vec<_> = fields.collect();
        if let Some(tape) = &mission.tape {
            tape.says(level, &message, &fields);
        }
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let facts = &mission.cell.facts;
        let (flow, key, step) = (facts.flow.flow.name(), facts.key.as_str(), &mission.name);
        match level {
            LogLevel::Debug => tracing::debug!(flow, key, step, ?fields, connector_says = ?message),
            LogLevel::Info => tracing::info!(flow, key, step, ?fields, connector_says = ?message),
            LogLevel::Warn | LogLevel::Error => tracing::warn!(flow, key, step, ?fields, connector_says = ?message),
        }
    }
}

/// Makes the intent durable and the step's doubt with it. Runs to its end even when the guest that asked for it is cut
/// off meanwhile: memory and ledger must not part.
async fn record_intent(mission: &Arc<Mission>, out: &Outgoing) -> Result<Intent, LedgerError> {
    let mut steps = Arc::clone(&mission.cell.steps).lock_owned().await;
    let (mission, request) = (Arc::clone(mission), stored(out));
    let origin = out.origin.clone();
    let recorded = tokio::spawn(async move {
        let clock = &mission.shared.clock;
        let (at_ms, boot_ms) = (clock.now_ms(), clock.boot_ms());
        let live = &mut steps[mission.index];
        let within_ms = mission
            .shared
            .ledger
            .send_within_ms(live.id, live.epoch, limits::SEND_BY_MS_MAX)?
            .cast_signed();
        let send_by_ms = at_ms + within_ms;
        let over_ms = send_by_ms + mission.approved.terms.request_timeout_ms.cast_signed();
        let after = step::apply(&live.standing, &Event::Begin)
            .and_then(|begun| step::apply(&begun, &Event::Intend { at_ms, over_ms }))
            .map_err(|illegal| LedgerError::Invalid {
                what: "an intent",
                why: illegal.to_string(),
            })?;
        let overtaken_after_ms = mission
            .recorded
            .as_ref()
            .and(mission.natural_key)
            .and(live.standing.last_intent_ms);
        let intent = NewIntent {
            run: mission.cell.facts.id,
            step: live.id,
            epoch: live.epoch,
            version: live.version,
            step_after: after.clone(),
            due_ms: Some(over_ms),
            number: mission.number,
            kind: mission.kind,
            place: mission.place(&origin),
            action: mission.approved.action.clone(),
            input: mission.input.clone(),
            natural_key: mission.natural_key,
            overtaken_after_ms,
            request,
            at_ms,
            boot_ms,
            send_by_ms,
            send_by_boot_ms: boot_ms + within_ms,
            key_window_end_ms: doubt::key_window_end_ms(&after, &mission.approved.terms),
        };
        let intent = mission.shared.ledger.intend(intent).await?;
        live.standing = after;
        live.version += 1;
        live.last_number = mission.number;
        live.input = Some(mission.input.clone());
        Ok(intent)
    });
    recorded
        .await
        .unwrap_or_else(|error| Err(LedgerError::Database(format!("recording the intent failed: {error}"))))
}

fn with_key(request: &Request, kind: RequestKind, mission: &Mission) -> Vec<(String, String)> {
    let mut headers = request.headers.clone();
    if kind == RequestKind::Write
        && let KeyPlace::Header { name, .. } = &mission.approved.key
    {
        headers.push((name.clone(), mission.key.clone()));
    }
    headers
}

/// What the destination answered, short enough for a list. Secrets are masked in it, in the headers as well.
fn excerpt(answer: &Answer) -> String {
    let (status, body) = (answer.status, shortened(&String::from_utf8_lossy(&answer.body)));
    match answer.header("location").filter(|_| (300..400).contains(&status)) {
        Some(to) => {
            let to = shortened(to);
            format!("the destination answered {status} and points to {to}; redirects are not followed: {body}")
        }
        None => format!("the destination answered {status}: {body}"),
    }
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let short: String = text.chars().take(CHARS_MAX).collect();
    let more = if text.chars().nth(CHARS_MAX).is_some() {
        "…"
    } else {
        ""
    };
    format!("{short}{more}")
}
