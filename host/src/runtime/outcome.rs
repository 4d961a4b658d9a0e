//! What goes into a call of a guest, and what comes out of it.

use super::RuntimeLimits;
use super::bindings::exports::oncegate::connector::actions;
use super::log::fit;
use oncegate_domain::limits::REFERENCE_BYTES_MAX;
use std::fmt;

/// One call of an action. Resent, it is the same again: input, key and settings are all a guest can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name of the action in the manifest.
    pub action: String,
    /// JSON.
    pub input: String,
    /// The step key. It seeds the guest's randomness as well, so it must never be empty.
    pub key: String,
    /// JSON.
    pub settings: String,
}

/// What a lookup is told of the attempt whose fate is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestDoubt {
    /// Unix milliseconds of the first request that may have left.
    pub first_sent_ms: u64,
    /// The status that was answered, where one was.
    pub status: Option<u16>,
}

/// What a guest says went wrong. Text from outside, shortened to the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// JSON pointer into the input, and what is wrong there.
    pub fields: Vec<(String, String)>,
    /// When the guest would try again, in milliseconds from now.
    pub retry_after_ms: Option<u64>,
}

impl fmt::Display for Problem {
    /// What helps a person who has to correct the input. Not the code: it is for programs, and where the destination gave
    /// one, it stands in the answer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for (pointer, what) in self.fields.iter().take(FIELDS_SHOWN_MAX) {
            write!(f, "; {pointer}: {what}")?;
        }
        match self.fields.len().saturating_sub(FIELDS_SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// What `perform` returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PerformReturn {
    /// It is done; the output, which should be JSON (not checked here).
    Completed(String),
    /// The destination said no.
    Rejected(Problem),
    /// The destination did not accept the credentials.
    Unauthorized(Problem),
    /// Worth another try.
    Temporary(Problem),
    /// The connector cannot tell.
    Unsure(Problem),
}

/// What `lookup` returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupReturn {
    /// The effect exists.
    Found {
        /// As `perform` would have returned it: should be JSON (not checked here).
        output: String,
        /// What a person would search for at the destination.
        reference: String,
        /// Found by our key; else by its content, every field as asked for.
        matched_by_key: bool,
    },
    /// The effect does not exist.
    Absent,
    /// It cannot be told; why.
    Unsure(String),
}

/// Why a guest did not return by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// It trapped, exited, or returned something larger than allowed; what is known of it.
    #[error("the connector failed: {0}")]
    Trap(String),
    /// It asked for more memory than it may have.
    #[error("the connector asked for more memory than it may have")]
    Memory,
    /// It used up its CPU budget.
    #[error("the connector used up its CPU time")]
    Cpu,
    /// It took longer than a call may last, waiting included.
    #[error("the connector took longer than a call may last")]
    WallClock,
    /// There was no room to run it: the guest did not start, so this is no attempt.
    #[error("the host has no room for another connector call right now")]
    Busy,
}

/// What a guest's problem may hold: code and message in bytes, fields in number and in bytes together.
const CODE_BYTES_MAX: usize = 100;
const MESSAGE_BYTES_MAX: usize = 2_000;
const FIELDS_MAX: usize = 64;
const FIELDS_BYTES_MAX: usize = 16 << 10;
/// The rest is counted: a person mends the first few and sees.
const FIELDS_SHOWN_MAX: usize = 8;

impl From<Call> for actions::Call {
    fn from(call: Call) -> actions::Call {
        actions::Call {
            action: call.action,
            input: call.input,
            key: call.key,
            settings: call.settings,
        }
    }
}

impl PerformReturn {
    /// What the guest returned, as far as it keeps to the limits.
    pub(super) fn within(
        limits: &RuntimeLimits,
        returned: Result<actions::Done, actions::Failure>,
    ) -> Result<PerformReturn, Stop> {
        Ok(match returned {
            Ok(actions::Done::Completed(output)) => {
                PerformReturn::Completed(whole("output", output, limits.output_bytes_max)?)
            }
            Err(actions::Failure::Rejected(problem)) => PerformReturn::Rejected(problem.into()),
            Err(actions::Failure::Unauthorized(problem)) => PerformReturn::Unauthorized(problem.into()),
            Err(actions::Failure::Temporary(problem)) => PerformReturn::Temporary(problem.into()),
            Err(actions::Failure::Unsure(problem)) => PerformReturn::Unsure(problem.into()),
        })
    }
}

impl LookupReturn {
    /// What the guest returned, as far as it keeps to the limits.
    pub(super) fn within(limits: &RuntimeLimits, returned: actions::Finding) -> Result<LookupReturn, Stop> {
        Ok(match returned {
            actions::Finding::Found(effect) => LookupReturn::Found {
                output: whole("output", effect.output, limits.output_bytes_max)?,
                reference: whole("reference", effect.reference, REFERENCE_BYTES_MAX)?,
                matched_by_key: match effect.matched {
                    actions::Matched::Key => true,
                    actions::Matched::Content => false,
                },
            },
            actions::Finding::Absent => LookupReturn::Absent,
            actions::Finding::Unsure(why) => LookupReturn::Unsure(fit(why, &mut { MESSAGE_BYTES_MAX })),
        })
    }
}

/// Half an output or half a reference would be a wrong one: too long is a fault of the connector.
fn whole(what: &str, text: String, bytes_max: usize) -> Result<String, Stop> {
    if text.len() > bytes_max {
        return Err(Stop::Trap(format!(
            "it returned {what} of {} bytes; {bytes_max} are allowed",
            text.len()
        )));
    }
    Ok(text)
}

impl From<actions::Problem> for Problem {
    /// What is said about a failure is shortened, not refused: the failure matters more than its words.
    fn from(problem: actions::Problem) -> Problem {
        let mut room = FIELDS_BYTES_MAX;
        let fields = problem.fields.into_iter().take(FIELDS_MAX);
        Problem {
            code: fit(problem.code, &mut { CODE_BYTES_MAX }),
            message: fit(problem.message, &mut { MESSAGE_BYTES_MAX }),
            fields: fields
                .map_while(|(pointer, what)| (room > 0).then(|| (fit(pointer, &mut room), fit(what, &mut room))))
                .collect(),
            retry_after_ms: problem.retry_after_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said about a failure is shortened, never refused; what is given as a result is whole or none.
    #[test]
    fn words_of_a_guest_are_kept_up_to_their_bounds() {
        let said = |code: usize, message: usize, fields: usize| {
            let problem = Problem::from(actions::Problem {
                code: "x".repeat(code),
                message: "x".repeat(message),
                fields: (0..fields).map(|n| (format!("/{n}"), "no".to_owned())).collect(),
                retry_after_ms: None,
            });
            (problem.code.len(), problem.message.len(), problem.fields.len())
        };
        let (code, message, fields) = (CODE_BYTES_MAX, MESSAGE_BYTES_MAX, FIELDS_MAX);
        assert_eq!(said(code, message, fields), (code, message, fields));
        assert_eq!(said(code + 1, message + 1, fields + 1), (code, message, fields));

        let found = |reference: usize| {
            let effect = actions::Effect {
                output: "{}".to_owned(),
                reference: "x".repeat(reference),
                matched: actions::Matched::Key,
            };
            LookupReturn::within(&RuntimeLimits::default(), actions::Finding::Found(effect))
        };
        assert!(found(REFERENCE_BYTES_MAX).is_ok());
        let Err(Stop::Trap(why)) = found(REFERENCE_BYTES_MAX + 1) else {
            panic!("half a reference is another one")
        };
        assert!(why.contains("1025 bytes; 1024 are allowed"), "{why}");
    }

    #[test]
    fn a_problem_names_the_fields_that_are_at_fault_and_counts_the_rest() {
        let problem = |fields: usize| Problem {
            code: "invalid".into(),
            message: "two fields are wrong".into(),
            fields: (0..fields).map(|place| (format!("/{place}"), "no".into())).collect(),
            retry_after_ms: None,
        };
        assert_eq!(problem(0).to_string(), "two fields are wrong");
        assert_eq!(problem(2).to_string(), "two fields are wrong; /0: no; /1: no");
        let many = problem(FIELDS_SHOWN_MAX + 3).to_string();
        assert!(many.ends_with("; /7: no; and 3 more"), "{many}");
    }
}
