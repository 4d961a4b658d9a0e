//! What one call asked for, what left, what came back and what the connector logged: for a call that a person makes by hand, and for their leave to
//! send. A host at work has none: answers are large, and what it needs of them stands in `Sight`.

use crate::egress::Outgoing;
use crate::runtime::{LogLevel, Request, Response, SendError};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether the one changing request of a call may leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// It is only shown.
    HeldBack,
    /// This one, which the person has seen, and no other.
    Only(Box<Outgoing>),
    /// Whichever it is.
    Given,
}

/// One request of a call. It holds no credentials; those are put in behind it.
#[derive(Clone, Debug)]
pub struct Exchanged {
    /// As the connector asked for it.
    pub asked: Request,
    /// As it leaves, with the key; `None`: the host did not allow it.
    pub out: Option<Outgoing>,
    /// It only waits for a person's leave.
    pub held_back: bool,
    /// What the connector was given; `None`: the call was stopped before that.
    pub result: Option<Result<Response, SendError>>,
}

/// One line of the connector's log. Masked; the runtime bounds the lines of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// How much it matters.
    pub level: LogLevel,
    /// Its words.
    pub message: String,
    /// Names and values beside them.
    pub fields: Vec<(String, String)>,
}

/// Keeps the requests and the log of one call.
#[derive(Debug)]
pub struct Tape(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    consent: Consent,
    exchanged: Vec<Exchanged>,
    logged: Vec<Logged>,
}

impl Tape {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Kept {
            consent: Consent::HeldBack,
            exchanged: Vec::new(),
            logged: Vec::new(),
        }))
    }

    /// Forgets what it has kept, and takes the next call.
    pub(super) fn restart(&self, consent: Consent) {
        *self.kept() = Kept {
            consent,
            exchanged: Vec::new(),
            logged: Vec::new(),
        };
    }

    /// Kept before anything happens: a call may be stopped at any moment.
    pub(super) fn asked(&self, request: &Request) {
        self.kept().exchanged.push(Exchanged {
            asked: request.clone(),
            out: None,
            held_back: false,
            result: None,
        });
    }

    /// It is allowed and will leave.
    pub(super) fn leaves(&self, out: &Outgoing) {
        if let Some(latest) = self.kept().exchanged.last_mut() {
            latest.out = Some(out.clone());
        }
    }

    /// The same of a changing request, which needs the person's leave.
    pub(super) fn changes(&self, out: &Outgoing) -> Result<(), &'static str> {
        self.leaves(out);
        let mut kept = self.kept();
        match &kept.consent {
            Consent::Given => return Ok(()),
            Consent::Only(seen) if **seen == *out => return Ok(()),
            Consent::Only(_) => return Err("this is not the request that was shown and agreed to"),
            Consent::HeldBack => {}
        }
        if let Some(latest) = kept.exchanged.last_mut() {
            latest.held_back = true;
        }
        Err("it is held back until a person agrees")
    }

    /// What the connector is given.
    pub(super) fn ended(&self, result: &Result<Response, SendError>) {
        if let Some(latest) = self.kept().exchanged.last_mut() {
            latest.result = Some(result.clone());
        }
    }

    /// All requests so far.
    pub(super) fn exchanged(&self) -> Vec<Exchanged> {
        self.kept().exchanged.clone()
    }

    /// The connector logs a line.
    pub(super) fn says(&self, level: LogLevel, message: &str, fields: &[(String, String)]) {
        self.kept().logged.push(Logged {
            level,
            message: message.to_owned(),
            fields: fields.to_vec(),
        });
    }

    /// All lines so far.
    pub(super) fn logged(&self) -> Vec<Logged> {
        self.kept().logged.clone()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_is_what_was_agreed_to() {
        let out = |body: &str| Outgoing {
            method: "POST".to_owned(),
            origin: "https://x".to_owned(),
            path_and_query: "/".to_owned(),
            headers: Vec::new(),
            body: body.into(),
        };
        let tape = Tape::new();
        assert!(tape.changes(&out("a")).is_err(), "before anybody was asked");
        tape.restart(Consent::Only(Box::new(out("a"))));
        assert!(
            tape.changes(&out("b"))
                .unwrap_err()
                .contains("not the request that was shown")
        );
        assert_eq!(tape.changes(&out("a")), Ok(()));
        tape.restart(Consent::Given);
        assert_eq!(tape.changes(&out("b")), Ok(()));
    }
}
