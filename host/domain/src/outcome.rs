//! From the evidence of one attempt to its outcome (DESIGN section 3): one pure, total function per kind of action.

use crate::evidence::{Cut, Evidence, Facts, Report};
use serde::{Deserialize, Serialize};

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The effect exists.
    Confirmed(Proof),
    /// The destination (or the host) said no; the effect does not exist because of this attempt.
    Refused(Refusal),
    /// Nothing left the host; worth another try.
    Unsent,
    /// The effect may exist.
    Unknown,
}

/// What proves that the effect exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The destination answered, and the answer proves it.
    Answered(u16),
    /// A read showed it before anything was sent, and the connection grants `may_find`.
    FoundAlreadyThere,
    /// The destination took the order and carries it out later.
    Accepted,
}

/// Why an attempt was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Worth another try (reads, and statuses approved as `refused_before_effect`).
    Temporary,
    /// 425 or 429: wait as told. Counts no attempt.
    RateLimited,
    /// The credentials were not accepted.
    Unauthorized,
    /// Never worth the same try again.
    Permanent(Permanent),
}

/// Why a refusal is for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permanent {
    /// The host denied the request (not listed, forbidden header, second write, place changed …).
    Denied,
    /// The connector's report does not fit what was seen on the wire.
    ConnectorFault,
    /// The destination, or the connector, refused what was asked for: the data, or whoever asked.
    Rejected,
}

/// What the operator approved about the destination's answers for one action (`[trust]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Statuses beside 2xx that prove the effect when the connector says ok.
    pub confirms: Vec<u16>,
    /// Statuses that the destination gives only before it has done anything.
    pub refused_before_effect: Vec<u16>,
    /// Statuses of a lookup that mean *absent* (such as 404).
    pub absent_on: Vec<u16>,
    /// An error inside a 2xx means that nothing was done.
    pub errors_in_2xx_refused: bool,
    /// The connector may report an effect that it found before sending.
    pub may_find: bool,
}

impl Trust {
    /// Statuses whose row is a sure refusal whatever is reported (401, 425, 429) keep their own way of waiting, and a 2xx
    /// is never a refusal, whatever was approved.
    fn refuses_before_effect(&self, status: u16) -> bool {
        self.refused_before_effect.contains(&status) && !matches!(status, 200..=299 | 401 | 425 | 429)
    }
}

const DENIED: Outcome = Outcome::Refused(Refusal::Permanent(Permanent::Denied));
const FAULT: Outcome = Outcome::Refused(Refusal::Permanent(Permanent::ConnectorFault));
const REJECTED: Outcome = Outcome::Refused(Refusal::Permanent(Permanent::Rejected));
const TEMPORARY: Outcome = Outcome::Refused(Refusal::Temporary);
const UNAUTHORIZED: Outcome = Outcome::Refused(Refusal::Unauthorized);
const RATE_LIMITED: Outcome = Outcome::Refused(Refusal::RateLimited);

/// The outcome of one attempt of a write action.
///
/// The host's evidence says which row holds; within a row the connector's report can only make the outcome more cautious
/// than the evidence allows. A request that was denied beside one that was let through changes nothing here (it is noted as
/// a connector fault elsewhere): "did this step take effect?" is a question about the one request that left.
pub fn of_write(facts: &Facts, trust: &Trust) -> Outcome {
    match facts.evidence {
        Evidence::None if facts.denied => DENIED,
        Evidence::None => of_silence(facts, trust),
        Evidence::NothingSent => Outcome::Unsent,
        // Timeout, reset, truncated answer, crash after the intent: even `ok` proves nothing.
        Evidence::MaybeSent => Outcome::Unknown,
        Evidence::Answered(status) => of_answer(status, facts.report, trust),
    }
}

/// No mutating request was asked for, and none was denied.
fn of_silence(facts: &Facts, trust: &Trust) -> Outcome {
    match facts.report {
        Report::Ok if trust.may_find && facts.read_answered_2xx => Outcome::Confirmed(Proof::FoundAlreadyThere),
        Report::Ok => FAULT,
        Report::Rejected | Report::Unauthorized => REJECTED,
        Report::Temporary | Report::Unsure | Report::Cut(Cut::WallClock) => Outcome::Unsent,
        Report::Accepted | Report::Cut(Cut::Trap | Cut::Memory | Cut::Cpu) => FAULT,
    }
}

/// A whole answer was read.
fn of_answer(status: u16, report: Report, trust: &Trust) -> Outcome {
    if trust.refuses_before_effect(status) {
        return TEMPORARY;
    }
    match status {
        200..=299 => of_success(status, report, trust),
        401 => UNAUTHORIZED,
        403 => of_forbidden(report),
        // 408 is the destination's own timeout: it may have begun.
        408 => Outcome::Unknown,
        // "It exists already" and "somebody else is at it" look alike: only an approved proof counts.
        409 if report == Report::Ok && trust.confirms.contains(&status) => Outcome::Confirmed(Proof::Answered(status)),
        409 => Outcome::Unknown,
        425 | 429 => RATE_LIMITED,
        400..=499 => of_client_error(status, report, trust),
        // 3xx, 5xx, a 1xx that ends the exchange, numbers that no standard knows.
        _ => Outcome::Unknown,
    }
}

fn of_success(status: u16, report: Report, trust: &Trust) -> Outcome {
    match report {
        Report::Ok => Outcome::Confirmed(Proof::Answered(status)),
        Report::Accepted => Outcome::Confirmed(Proof::Accepted),
        // An error inside a 2xx: some APIs have done part of it by then.
        Report::Rejected | Report::Unauthorized if trust.errors_in_2xx_refused => REJECTED,
        Report::Rejected | Report::Unauthorized => Outcome::Unknown,
        Report::Temporary | Report::Unsure | Report::Cut(Cut::Trap | Cut::Memory | Cut::Cpu | Cut::WallClock) => {
            Outcome::Unknown
        }
    }
}

fn of_forbidden(report: Report) -> Outcome {
    match report {
        Report::Unauthorized => UNAUTHORIZED,
        Report::Ok | Report::Accepted => FAULT,
        Report::Rejected
        | Report::Temporary
        | Report::Unsure
        | Report::Cut(Cut::Trap | Cut::Memory | Cut::Cpu | Cut::WallClock) => REJECTED,
    }
}

fn of_client_error(status: u16, report: Report, trust: &Trust) -> Outcome {
    match report {
        Report::Ok if trust.confirms.contains(&status) => Outcome::Confirmed(Proof::Answered(status)),
        Report::Ok => FAULT,
        Report::Rejected | Report::Temporary | Report::Unauthorized => REJECTED,
        Report::Accepted | Report::Unsure | Report::Cut(Cut::Trap | Cut::Memory | Cut::Cpu | Cut::WallClock) => {
            Outcome::Unknown
        }
    }
}

/// The outcome of one attempt of a read action. Reads know no unknown: what went wrong is temporary, except denied,
/// rejected, unauthorized and connector faults.
pub fn of_read(facts: &Facts, trust: &Trust) -> Outcome {
    match facts.evidence {
        Evidence::None if facts.denied => DENIED,
        Evidence::None => of_read_silence(facts.report),
        Evidence::NothingSent => Outcome::Unsent,
        // No whole answer came: whatever the connector makes of it, it is worth asking again.
        Evidence::MaybeSent => TEMPORARY,
        Evidence::Answered(status) => of_read_answer(status, facts.report, trust),
    }
}

/// Nothing was asked for: as for writes, but there is nothing to find.
fn of_read_silence(report: Report) -> Outcome {
    match report {
        Report::Rejected | Report::Unauthorized => REJECTED,
        Report::Temporary | Report::Unsure | Report::Cut(Cut::WallClock) => Outcome::Unsent,
        Report::Ok | Report::Accepted | Report::Cut(Cut::Trap | Cut::Memory | Cut::Cpu) => FAULT,
    }
}

fn of_read_answer(status: u16, report: Report, trust: &Trust) -> Outcome {
    if trust.refuses_before_effect(status) {
        return TEMPORARY;
    }
    if status == 401 || (status == 403 && report == Report::Unauthorized) {
        return UNAUTHORIZED;
    }
    if status == 425 || status == 429 {
        return RATE_LIMITED;
    }
    let proves = matches!(status, 200..=299) || trust.confirms.contains(&status);
    match report {
        Report::Ok if proves => Outcome::Confirmed(Proof::Answered(status)),
        Report::Unauthorized => UNAUTHORIZED,
        Report::Rejected => REJECTED,
        Report::Temporary | Report::Unsure | Report::Cut(Cut::WallClock) => TEMPORARY,
        Report::Ok | Report::Accepted | Report::Cut(Cut::Trap | Cut::Memory | Cut::Cpu) => FAULT,
    }
}
