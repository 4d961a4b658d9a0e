//! What must come out of each case, given what the connection says about the destination. Pure.

use super::cases::Case;
use oncegate_domain::doubt::{Dedup, Effect, Terms};
use std::fmt;

/// How often a refusal is tried while the drill plays (`retry.refusals`).
pub const REFUSALS: u64 = 2;

/// One way in which a case may rightly end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Effects at the destination.
    pub effects: u64,
    /// Where the step stands.
    pub step: Stand,
    /// Requests that could have changed something, where their number is bounded.
    pub writes: Option<u64>,
}

/// Where a step stands at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Done.
    Completed,
    /// In front of a person, who is told whether the effect may exist.
    Review {
        /// It may.
        may_exist: bool,
    },
}

/// How a case may end; the first is the usual way.
pub fn of(case: Case, terms: &Terms) -> Vec<Ending> {
    let effects = match terms.effect {
        Effect::Write => 1,
        Effect::Read => 0,
    };
    let done = vec![Ending::new(effects, Stand::Completed)];
    let refused = Ending::new(0, Stand::Review { may_exist: false });
    match (case, terms.effect) {
        (Case::Normal | Case::ConnectionRefused | Case::RateLimited | Case::OkWithoutSending, _) => done,
        (Case::RefusedForGood, Effect::Write) => vec![Ending {
            writes: Some(REFUSALS),
            ..refused
        }],
        (Case::RefusedForGood, Effect::Read) | (Case::OkOn404, _) => vec![refused],
        (_, Effect::Read) => done,
        (Case::Unavailable, Effect::Write) if terms.trust.refused_before_effect.contains(&503) => done,
        (Case::AnswerLost | Case::ServerError | Case::CrashAfterEffect | Case::SlowCommit, Effect::Write) => {
            in_doubt(terms, true)
        }
        // Nothing was found out: a key or a natural repeat settles it, else a person.
        (Case::LookupUnreadable, Effect::Write) => {
            vec![
                Ending::new(1, Stand::Completed),
                Ending::new(1, Stand::Review { may_exist: true }),
            ]
        }
        (Case::Unavailable | Case::CrashAfterIntent, Effect::Write) => in_doubt(terms, false),
        (Case::StrangersRecord, Effect::Write) => among_strangers(terms),
    }
}

/// After a doubt: `exists` is what only the destination knows.
fn in_doubt(terms: &Terms, exists: bool) -> Vec<Ending> {
    let done = Ending::new(1, Stand::Completed);
    let asked_in_vain = Ending::new(u64::from(exists), Stand::Review { may_exist: true });
    match (terms.lookup_after_ms.is_some(), terms.dedup, exists) {
        (_, Dedup::Natural { .. }, _) => vec![done],
        (true, _, true) => vec![done],
        (true, _, false) if terms.absent_to_review => vec![asked_in_vain],
        (_, Dedup::Key { .. }, _) => vec![done],
        // *Absent* proves something only where the request carried what is asked for; else a person decides.
        (true, Dedup::None, false) => vec![done, asked_in_vain],
        (false, Dedup::None, _) => vec![asked_in_vain],
    }
}

/// A stranger's record is not our effect, and says nothing about it.
fn among_strangers(terms: &Terms) -> Vec<Ending> {
    let done = Ending::new(1, Stand::Completed);
    match terms.dedup {
        Dedup::Natural { .. } | Dedup::Key { .. } => vec![done],
        Dedup::None => vec![done, Ending::new(0, Stand::Review { may_exist: true })],
    }
}

impl Ending {
    fn new(effects: u64, step: Stand) -> Ending {
        Ending {
            effects,
            step,
            writes: None,
        }
    }

    /// Whether it is what was seen. `step`: its state, and whether the effect may exist where it is in review.
    pub fn is(&self, effects: u64, writes: u64, step: Option<Stand>) -> bool {
        self.effects == effects && Some(self.step) == step && self.writes.is_none_or(|wanted| wanted == writes)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.effects {
            1 => f.write_str("1 effect")?,
            count => write!(f, "{count} effects")?,
        }
        if let Some(writes) = self.writes {
            write!(f, " of {writes} requests")?;
        }
        write!(f, ", {}", self.step)
    }
}

impl fmt::Display for Stand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stand::Completed => "completed",
            Stand::Review { may_exist: true } => "in review as one that may exist",
            Stand::Review { may_exist: false } => "in review as one that does not exist",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncegate_domain::outcome::Trust;

    fn terms(dedup: Dedup, lookup: bool) -> Terms {
        Terms {
            effect: Effect::Write,
            dedup,
            lookup_after_ms: lookup.then_some(3_000),
            absent_to_review: false,
            request_timeout_ms: 1_000,
            trust: Trust::default(),
        }
    }

    fn lines(terms: &Terms) -> Vec<String> {
        let cases = Case::ALL
            .into_iter()
            .filter(|case| case.is_about(terms.lookup_after_ms.is_some()));
        cases
            .map(|case| {
                let endings: Vec<String> = of(case, terms).iter().map(ToString::to_string).collect();
                format!("{}: {}", case.name(), endings.join(" | "))
            })
            .collect()
    }

    #[test]
    fn a_destination_without_key_and_lookup_leaves_every_doubt_to_a_person() {
        assert_eq!(
            lines(&terms(Dedup::None, false)),
            [
                "normal: 1 effect, completed",
                "answer-lost: 1 effect, in review as one that may exist",
                "connection-refused: 1 effect, completed",
                "refused-for-good: 0 effects of 2 requests, in review as one that does not exist",
                "429: 1 effect, completed",
                "503: 0 effects, in review as one that may exist",
                "500: 1 effect, in review as one that may exist",
                "crash-after-intent: 0 effects, in review as one that may exist",
                "crash-after-effect: 1 effect, in review as one that may exist",
                "slow-commit: 1 effect, in review as one that may exist",
                "ok-without-sending: 1 effect, completed",
                "ok-on-404: 0 effects, in review as one that does not exist",
            ]
        );
    }

    #[test]
    fn a_key_or_a_natural_repeat_settles_every_doubt() {
        let natural = Dedup::Natural {
            repeat_within_ms: 600_000,
        };
        for dedup in [Dedup::Key { window_ms: 86_400_000 }, natural] {
            for lookup in [false, true] {
                for case in Case::ALL {
                    let endings = of(case, &terms(dedup, lookup));
                    let refused = matches!(case, Case::RefusedForGood | Case::OkOn404);
                    assert_eq!(endings[0].step == Stand::Completed, !refused, "{dedup:?} {case:?}");
                    let one_way = usize::from(case == Case::LookupUnreadable) + 1;
                    assert_eq!(endings.len(), one_way, "{dedup:?} {case:?}");
                }
            }
        }
    }

    #[test]
    fn a_lookup_settles_what_exists_and_a_person_may_be_asked_about_the_rest() {
        let mut terms = terms(Dedup::None, true);
        assert_eq!(of(Case::AnswerLost, &terms), of(Case::Normal, &terms));
        assert_eq!(of(Case::CrashAfterIntent, &terms).len(), 2);
        terms.absent_to_review = true;
        let review = Stand::Review { may_exist: true };
        assert_eq!(of(Case::CrashAfterIntent, &terms), [Ending::new(0, review)]);
    }

    #[test]
    fn a_503_that_is_refused_before_effect_is_no_doubt() {
        let mut terms = terms(Dedup::None, false);
        terms.trust.refused_before_effect = vec![503];
        assert_eq!(of(Case::Unavailable, &terms), of(Case::Normal, &terms));
    }

    #[test]
    fn reads_know_no_effect_and_no_doubt() {
        let read = Terms {
            effect: Effect::Read,
            ..terms(Dedup::None, false)
        };
        for case in Case::ALL {
            let refused = matches!(case, Case::RefusedForGood | Case::OkOn404);
            let expected = if refused {
                Ending::new(0, Stand::Review { may_exist: false })
            } else {
                Ending::new(0, Stand::Completed)
            };
            assert_eq!(of(case, &read), [expected], "{case:?}");
        }
    }
}
