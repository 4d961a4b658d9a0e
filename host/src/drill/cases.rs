//! What the drill plays: one kind of trouble each.

use crate::destination::{Behaviour, On, Rule};
use oncegate_domain::doubt::Effect;

/// The time limit of one exchange while the drill plays; short, so that it ends soon.
pub const TIMEOUT_MS: u64 = 1_500;
/// A slow destination commits so long after our request: three times our time limit.
const SLOW_MS: u64 = 3 * TIMEOUT_MS;
/// What the drill's connections say about lookups; true of everything that it plays.
pub const LOOKUP_AFTER_MS: u64 = SLOW_MS;
/// Longer than any play: nobody is answered.
const FOR_EVER_MS: u64 = 120_000;

/// What stands before many an API while it is being mended, with a status that says nothing of it.
const MAINTENANCE: &str = "<html><body>We will be back soon.</body></html>";
const HTML: [(&str, &str); 1] = [("content-type", "text/html")];

/// One case of the acceptance test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// All goes well.
    Normal,
    /// The effect takes place, and its answer is lost.
    AnswerLost,
    /// Connections are refused for a while.
    ConnectionRefused,
    /// The data is refused, every time.
    RefusedForGood,
    /// 429 with `Retry-After`, once.
    RateLimited,
    /// 503 without an effect, once.
    Unavailable,
    /// The effect takes place, and the answer is 500, once.
    ServerError,
    /// The host is killed once the request is on its way; nothing took effect.
    CrashAfterIntent,
    /// The host is killed once the effect has taken place, before any answer.
    CrashAfterEffect,
    /// The effect takes place long after our time limit.
    SlowCommit,
    /// The answer is lost, and whoever asks is shown a page that says nothing: it must not be taken for *not there*.
    LookupUnreadable,
    /// Half of our request arrives, and a lookup shows the record of somebody else.
    StrangersRecord,
    /// Somebody else's record is there before: the connector must send all the same.
    OkWithoutSending,
    /// 404, every time: the connector must not say ok.
    OkOn404,
}

impl Case {
    /// All of them, in the order in which they are told.
    pub const ALL: [Case; 14] = [
        Case::Normal,
        Case::AnswerLost,
        Case::ConnectionRefused,
        Case::RefusedForGood,
        Case::RateLimited,
        Case::Unavailable,
        Case::ServerError,
        Case::CrashAfterIntent,
        Case::CrashAfterEffect,
        Case::SlowCommit,
        Case::LookupUnreadable,
        Case::StrangersRecord,
        Case::OkWithoutSending,
        Case::OkOn404,
    ];

    /// As people and programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Case::Normal => "normal",
            Case::AnswerLost => "answer-lost",
            Case::ConnectionRefused => "connection-refused",
            Case::RefusedForGood => "refused-for-good",
            Case::RateLimited => "429",
            Case::Unavailable => "503",
            Case::ServerError => "500",
            Case::CrashAfterIntent => "crash-after-intent",
            Case::CrashAfterEffect => "crash-after-effect",
            Case::SlowCommit => "slow-commit",
            Case::LookupUnreadable => "lookup-unreadable",
            Case::StrangersRecord => "strangers-record",
            Case::OkWithoutSending => "ok-without-sending",
            Case::OkOn404 => "ok-on-404",
        }
    }

    /// Whether it says anything about this action: nobody can meet a stranger's record who never looks.
    pub fn is_about(self, has_lookup: bool) -> bool {
        match self {
            Case::StrangersRecord | Case::LookupUnreadable => has_lookup,
            Case::Normal
            | Case::AnswerLost
            | Case::ConnectionRefused
            | Case::RefusedForGood
            | Case::RateLimited
            | Case::Unavailable
            | Case::ServerError
            | Case::CrashAfterIntent
            | Case::CrashAfterEffect
            | Case::SlowCommit
            | Case::OkWithoutSending
            | Case::OkOn404 => true,
        }
    }

    /// Whether reads show somebody else's record until the effect is there.
    pub fn shows_a_stranger(self) -> bool {
        matches!(self, Case::StrangersRecord | Case::OkWithoutSending)
    }

    /// Whether the host is killed while its request is on its way.
    pub fn is_a_crash(self) -> bool {
        matches!(self, Case::CrashAfterIntent | Case::CrashAfterEffect)
    }

    /// How the destination misbehaves.
    pub fn rules(self, service: &str, effect: Effect) -> Vec<Rule> {
        let once = |behaviour| Some(Rule::next(service, behaviour));
        let always = |behaviour| Some(Rule::always(service, behaviour));
        let rule = match self {
            Case::Normal | Case::ConnectionRefused | Case::OkWithoutSending => None,
            Case::AnswerLost | Case::LookupUnreadable => once(Behaviour::effect_then_reset()),
            Case::RefusedForGood => always(Behaviour::status(422)),
            Case::RateLimited => once(Behaviour::retry_after("1")),
            Case::Unavailable => once(Behaviour::status(503)),
            Case::ServerError => once(Behaviour::effect_then_status(500)),
            Case::CrashAfterIntent => once(Behaviour::hang_before_effect(FOR_EVER_MS)),
            Case::CrashAfterEffect => once(Behaviour::effect_then_silence(FOR_EVER_MS)),
            Case::SlowCommit => once(Behaviour::late_effect(SLOW_MS)),
            Case::StrangersRecord => once(Behaviour::reset_after_half()),
            Case::OkOn404 => always(Behaviour::status(404)),
        };
        // An action that only reads is played with its reads; the reads of a write are its lookups, and go well but for one
        // case.
        let unreadable = || Rule::always(service, Behaviour::status_with(200, &HTML, MAINTENANCE)).reads();
        match effect {
            Effect::Write => {
                let asked = (self == Case::LookupUnreadable).then(unreadable);
                rule.into_iter().chain(asked).collect()
            }
            Effect::Read => rule.map(|rule| Rule { on: On::Any, ..rule }).into_iter().collect(),
        }
    }
}
