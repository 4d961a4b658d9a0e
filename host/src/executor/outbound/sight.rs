//! What the host saw of one call, as evidence and for people.

use oncegate_domain::doubt::Blocked;
use oncegate_domain::evidence::Evidence;

/// What the host saw of one call.
#[derive(Debug)]
pub struct Sight {
    /// Of the one mutating request.
    pub write: Evidence,
    /// Of the strongest reading request.
    pub read: Evidence,
    /// Every status that a reading request was answered with.
    pub read_statuses: Vec<u16>,
    /// A reading request named the step key: the destination was asked by key.
    pub asked_by_key: bool,
    /// Why a request was denied, if one was.
    pub denied: Option<String>,
    /// Something tried to connect or send.
    pub tried: bool,
    /// `Retry-After` of the latest answer, if it carried one.
    pub retry_after: Option<String>,
    /// When the exchange of the mutating request was over.
    pub over_ms: Option<i64>,
    /// What keeps a doubt from being settled by a resend.
    pub blocked: Option<Blocked>,
    /// A later change of the same thing was sent: this one must not follow it.
    pub overtaken: bool,
    /// Where the latest request went.
    pub origin: String,
    /// The latest answer or transport error, for people.
    pub note: Option<String>,
}

impl Default for Sight {
    fn default() -> Self {
        Self {
            write: Evidence::None,
            read: Evidence::None,
            read_statuses: Vec::new(),
            asked_by_key: false,
            denied: None,
            tried: false,
            retry_after: None,
            over_ms: None,
            blocked: None,
            overtaken: false,
            origin: String::new(),
            note: None,
        }
    }
}

impl Sight {
    /// A reading request was answered 2xx.
    pub fn read_answered_2xx(&self) -> bool {
        self.read_statuses.iter().any(|status| (200..300).contains(status))
    }

    /// Every status that was answered.
    pub fn statuses(&self) -> Vec<u16> {
        let of_write = match self.write {
            Evidence::Answered(status) => Some(status),
            Evidence::None | Evidence::NothingSent | Evidence::MaybeSent => None,
        };
        self.read_statuses.iter().copied().chain(of_write).collect()
    }

    /// Status of the mutating request's answer, else that of the last read.
    pub fn status(&self) -> Option<u16> {
        match self.write {
            Evidence::Answered(status) => Some(status),
            Evidence::None => self.read_statuses.last().copied(),
            Evidence::NothingSent | Evidence::MaybeSent => None,
        }
    }
}
