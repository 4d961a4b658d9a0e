//! A step on a stage: drives one step through the decisions as the executor does, and tells where it stands in one line.

use oncegate_domain::doubt::{Blocked, Circumstances, Dedup, Effect, Finding, Terms};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::{Outcome, Permanent, Proof, Refusal, Trust};
use oncegate_domain::retry::{Policy, RetryAfter};
use oncegate_domain::step::{
    self, AttemptEnd, Decision, Event, IllegalTransition, LookupEnd, Move, Next, Review, State, Step, Wait,
};

pub const TIMEOUT_MS: u64 = 10_000;
pub const HOUR_MS: u64 = 3_600_000;

pub const REJECTED: Outcome = Outcome::Refused(Refusal::Permanent(Permanent::Rejected));
pub const DENIED: Outcome = Outcome::Refused(Refusal::Permanent(Permanent::Denied));
pub const FAULT: Outcome = Outcome::Refused(Refusal::Permanent(Permanent::ConnectorFault));
pub const TEMPORARY: Outcome = Outcome::Refused(Refusal::Temporary);
pub const UNAUTHORIZED: Outcome = Outcome::Refused(Refusal::Unauthorized);
pub const RATE_LIMITED: Outcome = Outcome::Refused(Refusal::RateLimited);
pub const CONFIRMED: Outcome = Outcome::Confirmed(Proof::Answered(200));

pub fn terms(dedup: Dedup, lookup_after_ms: Option<u64>) -> Terms {
    Terms {
        effect: Effect::Write,
        dedup,
        lookup_after_ms,
        absent_to_review: false,
        request_timeout_ms: TIMEOUT_MS,
        trust: Trust::default(),
    }
}

/// No key, no lookup: a doubt goes to a person at once.
pub fn silent() -> Terms {
    terms(Dedup::None, None)
}

/// No key, a lookup 30 s after the exchange.
pub fn asking() -> Terms {
    terms(Dedup::None, Some(30_000))
}

/// Keys honoured for a day, no lookup.
pub fn keyed() -> Terms {
    terms(
        Dedup::Key {
            window_ms: 24 * HOUR_MS,
        },
        None,
    )
}

/// Keys honoured for a day, and a lookup.
pub fn keyed_asking() -> Terms {
    terms(
        Dedup::Key {
            window_ms: 24 * HOUR_MS,
        },
        Some(30_000),
    )
}

/// An upsert, repeatable for ten minutes.
pub fn natural() -> Terms {
    terms(
        Dedup::Natural {
            repeat_within_ms: 600_000,
        },
        None,
    )
}

/// Through the form in which the ledger keeps it.
pub fn stored(step: &Step) -> Step {
    serde_json::from_str(&serde_json::to_string(step).unwrap()).unwrap()
}

#[derive(Clone)]
pub struct Play {
    pub step: Step,
    pub terms: Terms,
    pub policy: Policy,
    pub now_ms: i64,
    pub overtaken: bool,
    pub blocked: Option<Blocked>,
}

impl Play {
    /// Ready at 0, no jitter.
    pub fn new(terms: Terms) -> Play {
        let step = step::apply(&Step::new(), &Event::Ready { at_ms: 0 }).unwrap();
        Play {
            step,
            terms,
            policy: Policy::default(),
            now_ms: 0,
            overtaken: false,
            blocked: None,
        }
    }

    pub fn circumstances(&self) -> Circumstances {
        Circumstances {
            now_ms: self.now_ms,
            overtaken: self.overtaken,
            blocked: self.blocked,
            jitter: 0.0,
        }
    }

    pub fn apply(&mut self, event: Event) -> &mut Play {
        self.step = self.tried(event).unwrap();
        self
    }

    pub fn tried(&self, event: Event) -> Result<Step, IllegalTransition> {
        step::apply(&self.step, &event)
    }

    pub fn next(&self) -> Move {
        step::next_move(&self.step, &self.terms, &self.policy, &self.circumstances())
    }

    /// Advances to the moment at which the step wants to go on, and says what it wants then.
    pub fn wake(&mut self) -> Move {
        while let Move::WaitUntil(at_ms) = self.next() {
            assert!(at_ms > self.now_ms);
            self.now_ms = at_ms;
        }
        self.next()
    }

    pub fn begin(&mut self) -> &mut Play {
        self.apply(Event::Begin)
    }

    /// The intent, with 5 s to be sent.
    pub fn intend(&mut self) -> &mut Play {
        let over_ms = self.now_ms + 5_000 + TIMEOUT_MS as i64;
        self.apply(Event::Intend {
            at_ms: self.now_ms,
            over_ms,
        })
    }

    pub fn end(&self, outcome: Outcome, evidence: Evidence) -> AttemptEnd {
        AttemptEnd {
            at_ms: self.now_ms,
            outcome,
            evidence,
            over_ms: self.now_ms,
            tried: true,
            probe: false,
            retry_after: RetryAfter::None,
            hold: None,
            blocked: None,
            about_step: false,
        }
    }

    pub fn ended(&mut self, end: AttemptEnd) -> &mut Play {
        let event = step::after_attempt(&self.step, &end, &self.terms, &self.policy, &self.circumstances());
        self.apply(event)
    }

    pub fn weighed(&mut self, end: AttemptEnd) -> &mut Play {
        let event = step::after_weighing(&self.step, &end, &self.terms, &self.policy, &self.circumstances());
        self.apply(event)
    }

    /// A whole attempt that wrote an intent and ended at once.
    pub fn attempt(&mut self, outcome: Outcome) -> &mut Play {
        let evidence = match outcome {
            Outcome::Confirmed(_) => Evidence::Answered(200),
            Outcome::Refused(Refusal::RateLimited) => Evidence::Answered(429),
            Outcome::Refused(Refusal::Unauthorized) => Evidence::Answered(401),
            Outcome::Refused(_) => Evidence::Answered(422),
            Outcome::Unsent => Evidence::NothingSent,
            Outcome::Unknown => Evidence::MaybeSent,
        };
        self.begin().intend();
        let end = self.end(outcome, evidence);
        self.ended(end)
    }

    /// Wakes and attempts, `count` times.
    pub fn attempts(&mut self, count: usize, outcome: Outcome) -> &mut Play {
        for _ in 0..count {
            assert!(
                matches!(self.wake(), Move::Perform | Move::Resend),
                "{:?} {}",
                self.next(),
                self.line()
            );
            self.attempt(outcome);
        }
        self
    }

    /// A lookup that asks now.
    pub fn lookup(&mut self, finding: Finding) -> &mut Play {
        self.begin();
        let end = LookupEnd {
            asked_ms: self.now_ms,
            at_ms: self.now_ms,
            finding,
            counted: true,
            retry_after: RetryAfter::None,
            hold: None,
        };
        self.looked_up(end)
    }

    pub fn looked_up(&mut self, end: LookupEnd) -> &mut Play {
        let event = step::after_lookup(&self.step, &end, &self.terms, &self.policy, &self.circumstances());
        self.apply(event)
    }

    pub fn hold(&mut self, wait: Wait, for_ms: i64) -> &mut Play {
        let until_ms = self.now_ms + for_ms;
        let event = step::hold(
            &self.step,
            wait,
            until_ms,
            &self.terms,
            &self.policy,
            &self.circumstances(),
        );
        self.apply(event)
    }

    /// Carries out what `next_move` says where that is a review.
    pub fn review(&mut self) -> &mut Play {
        let Move::Review(reason) = self.next() else {
            panic!("{:?}", self.next())
        };
        self.apply(Event::Hold {
            at_ms: self.now_ms,
            next: Next::Review(reason),
        })
    }

    pub fn retry(&mut self, stated_absent: bool) -> &mut Play {
        self.apply(Event::Decide(Decision::Retry {
            at_ms: self.now_ms,
            stated_absent,
        }))
    }

    /// Through the form in which the ledger stores it, and then what recovery makes of it.
    pub fn crash(&mut self) -> &mut Play {
        self.step = stored(&self.step);
        if let Some(event) = step::recover(&self.step, self.now_ms) {
            self.apply(event);
        }
        self
    }

    /// `state reason seconds-from-now [in doubt]`.
    pub fn line(&self) -> String {
        let seconds = |until_ms: i64| (until_ms - self.now_ms) / 1000;
        let mut line = self.step.state.as_str().to_owned();
        match self.step.state {
            State::Retrying { reason, until_ms } => line += &format!(" {} {}", reason.as_str(), seconds(until_ms)),
            State::Waiting { reason, until_ms } => line += &format!(" {} {}", reason.as_str(), seconds(until_ms)),
            State::Cancelling { until_ms } => line += &format!(" {}", seconds(until_ms)),
            State::NeedsReview {
                reason: Review::Doubt(why),
            } => line += &format!(" {why:?}"),
            State::NeedsReview { reason } => line += &format!(" {reason:?}"),
            State::Skipped { reason } => line += &format!(" {reason:?}"),
            State::Pending | State::Processing | State::Completed | State::Failed | State::Cancelled => {}
        }
        if self.step.in_doubt() {
            line + ", in doubt"
        } else {
            line
        }
    }
}
