//! What the decisions are called in front of people: short sentences in the words of an operator. No names of fields, no
//! jargon; each says what is known about the effect.

use crate::doubt::{Blocked, Finding, Unsettled};
use crate::evidence::{Cut, Evidence, Report};
use crate::outcome::{Outcome, Permanent, Proof, Refusal};
use crate::review::RetryOffer;
use crate::step::{Retry, Review, Skip, State, Wait};
use std::fmt::{Display, Formatter, Result};

impl Display for Evidence {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Evidence::None => f.write_str("no request was made"),
            Evidence::NothingSent => f.write_str("nothing was sent"),
            Evidence::MaybeSent => f.write_str("the request may have been sent, and no whole answer came back"),
            Evidence::Answered(status) => write!(f, "the destination answered {status}"),
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Report::Ok => f.write_str("the connector reported success"),
            Report::Accepted => f.write_str("the connector reported that the order was taken"),
            Report::Rejected => f.write_str("the connector reported a refusal"),
            Report::Unauthorized => f.write_str("the connector reported that the credentials were refused"),
            Report::Temporary => f.write_str("the connector reported a passing problem"),
            Report::Unsure => f.write_str("the connector could not tell what happened"),
            Report::Cut(cut) => cut.fmt(f),
        }
    }
}

impl Display for Cut {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Cut::Trap => "the connector crashed",
            Cut::Memory => "the connector was stopped: it asked for too much memory",
            Cut::Cpu => "the connector was stopped: it used too much computing time",
            Cut::WallClock => "the connector was stopped: it took too long",
        })
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Outcome::Confirmed(proof) => write!(f, "done: {proof}"),
            Outcome::Refused(refusal) => write!(f, "not done: {refusal}"),
            Outcome::Unsent => f.write_str("not done: nothing was sent"),
            Outcome::Unknown => f.write_str("unknown: the effect may exist"),
        }
    }
}

impl Display for Proof {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Proof::Answered(status) => write!(f, "the destination answered {status}"),
            Proof::FoundAlreadyThere => f.write_str("it was there already, nothing was sent"),
            Proof::Accepted => f.write_str("the destination took the order and carries it out later"),
        }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Refusal::Temporary => f.write_str("the destination could not do it just now"),
            Refusal::RateLimited => f.write_str("the destination asks to wait"),
            Refusal::Unauthorized => f.write_str("the destination did not accept the credentials"),
            Refusal::Permanent(why) => why.fmt(f),
        }
    }
}

impl Display for Permanent {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Permanent::Denied => {
                "the connector asked for something that the connection does not allow, and it was stopped"
            }
            Permanent::ConnectorFault => "the connector failed, or what it reported does not fit what the host saw",
            Permanent::Rejected => "what this step asks for was refused",
        })
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Finding::Found => "the destination has it",
            Finding::Absent => "the destination does not have it",
            Finding::Unsure => "the destination gave no clear answer",
        })
    }
}

impl Display for Review {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Review::Refused(why) => write!(f, "{why}; the effect does not exist"),
            Review::AttemptsUsedUp => {
                f.write_str("tried as often as the flow allows without success; the effect does not exist")
            }
            Review::WaitedTooLong => f.write_str("waited as long as the flow allows; the effect does not exist"),
            Review::ToldToWaitTooLong => f.write_str(
                "the destination asks to wait for longer than the flow allows; the effect does not exist",
            ),
            Review::Doubt(why) => write!(f, "the effect may exist; {why}"),
            Review::Template => f.write_str(
                "a value that this step needs could not be worked out; nothing was sent, the effect does not exist",
            ),
            Review::Output => f.write_str(
                "what an earlier step gave back does not fit what this step needs; nothing was sent, the effect does not \
                 exist",
            ),
            Review::NotAllowed => f.write_str(
                "the connector or connection of this step is missing or may not be used; nothing was sent, the effect \
                 does not exist",
            ),
            Review::Unauthorized => f.write_str(
                "the destination did not accept the credentials for what this step asks, although they work otherwise; the \
                 effect does not exist",
            ),
        }
    }
}

impl Display for Unsettled {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Unsettled::NoWayToAsk => "the destination gives no way to ask",
            Unsettled::LookupUnclear => "the destination was asked and gave no clear answer",
            Unsettled::Absent => "the destination says that it is not there, and it is not sent again without a person",
            Unsettled::WindowOver => "the time in which it could safely be sent again is over",
            Unsettled::AttemptsUsedUp => "it was tried as often as the flow allows",
            Unsettled::Overtaken => "a newer change of the same thing has been sent, which an older one must not undo",
            Unsettled::Blocked(why) => return why.fmt(f),
            Unsettled::Cancelled => "it was cancelled, so it is not sent again, and asking did not settle it",
            Unsettled::Forgotten => {
                "the ledger may have forgotten that it was sent, and sending it again could be a second time"
            }
            Unsettled::WaitedTooLong => "it waited as long as the flow allows for a chance to settle it",
        })
    }
}

impl Display for Blocked {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Blocked::RequestChanged => "the connector would now send something else than the first time",
            Blocked::PlaceChanged => "the connection no longer leads to the account and address of the first time",
            Blocked::OtherHost => "it was sent by another host, and the destination would not notice a repeat",
        })
    }
}

impl Display for Wait {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Wait::RateLimited => "the destination or the connection's own rate asks to wait",
            Wait::BreakerOpen => "the destination is failing, so nothing is sent to it for now",
            Wait::ConnectionBlocked => "the connection cannot be used: its credentials are missing or were refused",
            Wait::Paused => "a person paused it",
            Wait::Timer => "the flow asks to wait",
            Wait::Approval => "a person must approve it",
            Wait::InOrder => "an earlier event of the same order is not done",
        })
    }
}

impl Display for Retry {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Retry::Backoff => "the effect does not exist; it is tried again",
            Retry::Lookup => "the effect may exist; this is settled before anything else happens",
        })
    }
}

impl Display for Skip {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Skip::WhenFalse => "its condition was not met",
            Skip::Predecessor => "a step that it follows failed or was cancelled",
        })
    }
}

/// Why it stands where it stands, without the moment (which the caller shows in the reader's time zone).
impl Display for State {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            State::Pending => f.write_str("not begun"),
            State::Processing => f.write_str("under way"),
            State::Retrying { reason, .. } => reason.fmt(f),
            State::Waiting { reason, .. } => reason.fmt(f),
            State::Completed => f.write_str("done"),
            State::Failed => f.write_str("closed without the effect, as decided"),
            State::NeedsReview { reason } => reason.fmt(f),
            State::Skipped { reason } => reason.fmt(f),
            State::Cancelling { .. } => {
                f.write_str("cancelled while the effect may exist; this is settled before it is closed")
            }
            State::Cancelled => f.write_str("cancelled; the effect does not exist"),
        }
    }
}

impl Display for RetryOffer {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            RetryOffer::OneClick => "can be tried again",
            RetryOffer::LooksUpFirst => "can be tried again; the destination is asked first",
            RetryOffer::NeedsStatement => {
                "can be tried again once a person has checked at the destination that it does not exist"
            }
        })
    }
}
