//! What a connector says about an action that was not done, and about an effect that it looked for. Words only: what they
//! lead to is decided by the host, from what it saw on the wire.

use crate::http::SendError;

/// Why an action was not done. The host can make it more cautious, never less.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The destination, or the connector, refuses this input; the same input would be refused again.
    Rejected(Problem),
    /// The credentials were not accepted.
    Unauthorized(Problem),
    /// It was not done now; later it may go.
    Temporary(Problem),
    /// It is not known whether it was done.
    Unsure(Problem),
}

/// What went wrong, in words that help the person who has to mend it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// A short machine-readable code: the destination's own where it has one. The host keeps 100 bytes.
    pub code: String,
    /// One or two sentences, in the destination's words where it has any. The host keeps 2,000 bytes.
    pub message: String,
    /// Parts of the input that are at fault: a JSON pointer into the input, and what is wrong with it.
    pub fields: Vec<(String, String)>,
    /// How long to wait before the next try, in milliseconds, where the destination said so outside of `Retry-After`.
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// This input is refused.
    pub fn rejected(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure::Rejected(Problem::new(code, message))
    }

    /// The credentials were not accepted.
    pub fn unauthorized(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure::Unauthorized(Problem::new(code, message))
    }

    /// Not now.
    pub fn temporary(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure::Temporary(Problem::new(code, message))
    }

    /// Not known.
    pub fn unsure(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure::Unsure(Problem::new(code, message))
    }

    /// Names a part of the input that is at fault, by JSON pointer.
    pub fn field(mut self, pointer: impl Into<String>, message: impl Into<String>) -> Failure {
        self.problem_mut().fields.push((pointer.into(), message.into()));
        self
    }

    /// Asks for a pause before this step's next try, in milliseconds.
    pub fn retry_after_ms(mut self, ms: u64) -> Failure {
        self.problem_mut().retry_after_ms = Some(ms);
        self
    }

    /// What went wrong.
    pub fn problem(&self) -> &Problem {
        match self {
            Failure::Rejected(problem)
            | Failure::Unauthorized(problem)
            | Failure::Temporary(problem)
            | Failure::Unsure(problem) => problem,
        }
    }

    fn problem_mut(&mut self) -> &mut Problem {
        match self {
            Failure::Rejected(problem)
            | Failure::Unauthorized(problem)
            | Failure::Temporary(problem)
            | Failure::Unsure(problem) => problem,
        }
    }
}

impl Problem {
    fn new(code: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem {
            code: code.into(),
            message: message.into(),
            ..Problem::default()
        }
    }
}

/// A request without an answer: `?` in `perform` reports what is true of it.
impl From<SendError> for Failure {
    fn from(error: SendError) -> Failure {
        match error {
            SendError::NotBuilt(why) => Failure::rejected("request_not_built", why),
            SendError::Denied(why) => Failure::rejected("denied", why),
            SendError::NothingSent(why) => Failure::temporary("nothing_sent", why),
            SendError::MaybeSent(why) => Failure::unsure("maybe_sent", why),
        }
    }
}

/// What a lookup found out. When in doubt, say [`Finding::Unsure`]: `Absent` can lead to a second request.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding<O> {
    /// The effect of this very step exists.
    Found(Effect<O>),
    /// The destination answered, and it is not there.
    Absent,
    /// It could not be told; why, in words for people.
    Unsure(String),
}

/// An effect that exists at the destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect<O> {
    /// What `perform` would have returned.
    pub output: O,
    /// The destination's name for it, which a person can search for; empty where there is none.
    pub reference: String,
    /// By what it was recognised.
    pub matched: Matched,
}

/// By what an effect was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// The destination showed the step key.
    Key,
    /// Every field that the input asks for was there as asked for.
    Content,
}

impl<O> Finding<O> {
    /// Found: the destination showed our step key.
    pub fn by_key(output: O, reference: impl Into<String>) -> Finding<O> {
        Finding::Found(Effect {
            output,
            reference: reference.into(),
            matched: Matched::Key,
        })
    }

    /// Found: every field that the input asks for is there as asked for.
    pub fn by_content(output: O, reference: impl Into<String>) -> Finding<O> {
        Finding::Found(Effect {
            output,
            reference: reference.into(),
            matched: Matched::Content,
        })
    }

    /// It could not be told.
    pub fn unsure(why: impl Into<String>) -> Finding<O> {
        Finding::Unsure(why.into())
    }
}
