//! What a 401 is about: the connection's credentials, or the one step that got it (DESIGN section 4).
//!
//! A dead token must neither burn the attempts of every step that meets it nor put them all in front of a person; a right
//! that one step lacks must not hold up the others. The connection's probe tells the two apart, and where there is none,
//! the number of different runs that were refused one after the other.

use crate::evidence::Evidence;
use crate::limits;
use crate::outcome::{Outcome, Refusal};

/// What the answers of one attempt, lookup or probe show about the credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The destination dealt with what was asked for, so it knew who asked.
    Accepted,
    /// It did not accept them.
    Refused,
    /// Neither: no answer, or one that comes from in front of the destination.
    Nothing,
}

/// What the connection's probe said after a 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// There is none.
    None,
    /// It was answered, but with nothing about the credentials (such as 302, 403, 404): as good as none.
    Unclear,
    /// The destination is busy or away (no answer, 408, 425, 429, 5xx): later it may say more.
    Away,
    /// 401: nobody gets in with them.
    Refused,
    /// 2xx: they work.
    Accepted,
    /// The credentials have been replaced since the attempt was signed: what holds for the new ones says nothing about it.
    Replaced,
}

impl Probe {
    /// It does not tell whether the 401 is about the connection or about the step.
    pub fn leaves_it_open(self) -> bool {
        match self {
            Self::None | Self::Unclear | Self::Away => true,
            Self::Refused | Self::Accepted | Self::Replaced => false,
        }
    }
}

/// What follows from a 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The connection is blocked: its steps wait, and this 401 counts no attempt.
    Block,
    /// The credentials work, but not for what this step asks: a person.
    AboutStep,
    /// Not known yet: the step is tried again with backoff, and the attempt counts.
    Backoff,
}

/// What all answers together show; `outcome` is that of the attempt, which knows more of a 403 than its number.
pub fn shown(statuses: &[u16], outcome: Option<Outcome>) -> Shown {
    let succeeded = statuses.iter().any(|status| matches!(status, 200..=299));
    if outcome == Some(Outcome::Refused(Refusal::Unauthorized)) || (statuses.contains(&401) && !succeeded) {
        return Shown::Refused;
    }
    // A 403, 407, 408, 425 or 429 often comes from a gateway that never looked at the credentials.
    let dealt_with = |status: &u16| {
        matches!(status, 200..=299) || (matches!(status, 400..=499) && !matches!(status, 403 | 407 | 408 | 425 | 429))
    };
    if statuses.iter().any(dealt_with) {
        Shown::Accepted
    } else {
        Shown::Nothing
    }
}

/// What the answer to the probe says. Only a 2xx shows that the credentials work: of a 404 or a 403 nobody knows whether it
/// is about them or about the probe.
pub fn probe_said(evidence: Evidence) -> Probe {
    match evidence {
        Evidence::Answered(200..=299) => Probe::Accepted,
        Evidence::Answered(401) => Probe::Refused,
        Evidence::Answered(408 | 425 | 429 | 500..) => Probe::Away,
        Evidence::Answered(_) => Probe::Unclear,
        Evidence::None | Evidence::NothingSent | Evidence::MaybeSent => Probe::Away,
    }
}

/// What follows from a 401. `blocked`: the connection is blocked already; `runs`: different runs that were refused in a row,
/// this one included.
pub fn after_refusal(blocked: bool, probe: Probe, runs: u32) -> Verdict {
    if blocked {
        return Verdict::Block;
    }
    match probe {
        Probe::Refused => Verdict::Block,
        Probe::Accepted => Verdict::AboutStep,
        Probe::Replaced => Verdict::Backoff,
        Probe::None | Probe::Unclear | Probe::Away if runs >= limits::UNAUTHORIZED_RUNS_MAX => Verdict::Block,
        Probe::None | Probe::Unclear | Probe::Away => Verdict::Backoff,
    }
}
