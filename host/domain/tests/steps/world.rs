//! A little world around one step: a destination that counts effects, a network that loses answers, a host that dies, a
//! person. What they do is drawn from a list of numbers, so that a failing sequence shrinks.
//!
//! The destination is true to the terms (keys are honoured for the window, nothing takes effect later than `lookup_after`,
//! a 4xx that the connector calls a refusal did nothing): the promise rests on that, and on nothing else here.

mod destination;
mod restored;
mod rules;

use crate::play::{HOUR_MS, TIMEOUT_MS, stored, terms};
use oncegate_domain::doubt::{Blocked, Circumstances, Dedup, Finding, FindingReport, LookupSight, Terms, judge_lookup};
use oncegate_domain::evidence::{Cut, Evidence, Facts, Report};
use oncegate_domain::outcome::{Outcome, Refusal, Trust, of_write};
use oncegate_domain::retry::{Policy, RetryAfter};
use oncegate_domain::review::{RetryOffer, retry_offer};
use oncegate_domain::step::{self, AttemptEnd, Decision, Event, LookupEnd, Move, Next, State, Step, Wait};

use restored::Restored;
use rules::Known;
use std::collections::BTreeSet;

/// Numbers to choose by; when they are used up, the play is over.
pub struct Dice(std::vec::IntoIter<u16>);

impl Dice {
    pub fn new(numbers: Vec<u16>) -> Dice {
        Dice(numbers.into_iter())
    }

    /// In `0..sides`; 0 when the numbers are used up.
    fn roll(&mut self, sides: u64) -> u64 {
        u64::from(self.0.next().unwrap_or(0)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == sides - 1
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len() as u64) as usize]
    }

    fn is_over(&self) -> bool {
        self.0.len() == 0
    }
}

pub struct World {
    dice: Dice,
    pub step: Step,
    terms: Terms,
    policy: Policy,
    now_ms: i64,
    known: Known,
    blocked: Option<Blocked>,
    overtaken: bool,
    /// When each effect takes place. A natural one is listed again for each repeat.
    effects: Vec<i64>,
    /// When the request that had the effect was received: its key is known for the window.
    key_known_ms: Option<i64>,
    restored: Restored,
    log: Vec<String>,
    /// Where it has been and what it was told to do, by name.
    pub seen: BTreeSet<String>,
}

impl World {
    pub fn new(numbers: Vec<u16>) -> World {
        let mut dice = Dice::new(numbers);
        let dedup = match dice.roll(3) {
            0 => Dedup::None,
            1 => Dedup::Key {
                window_ms: dice.of(&[60_000, HOUR_MS, 24 * HOUR_MS]),
            },
            _ => Dedup::Natural {
                repeat_within_ms: dice.of(&[60_000, 600_000]),
            },
        };
        let lookup_after_ms = dice.of(&[None, Some(1_000), Some(30_000), Some(300_000)]);
        let policy = Policy {
            attempts: dice.of(&[8, 1, 2, 3]),
            refusals: dice.of(&[1, 2]),
            wait_longest_ms: dice.of(&[24 * HOUR_MS, HOUR_MS]),
            ..Policy::default()
        };
        let trust = Trust {
            confirms: dice.of(&[&[][..], &[409, 404]]).to_vec(),
            refused_before_effect: vec![503],
            absent_on: vec![404],
            errors_in_2xx_refused: dice.one_in(2),
            may_find: dice.one_in(2),
        };
        let terms = Terms {
            absent_to_review: dice.one_in(5),
            trust,
            ..terms(dedup, lookup_after_ms)
        };
        World {
            dice,
            step: step::apply(&Step::new(), &Event::Ready { at_ms: 0 }).unwrap(),
            terms,
            policy,
            now_ms: 0,
            known: Known::default(),
            blocked: None,
            overtaken: false,
            effects: vec![],
            key_known_ms: None,
            restored: Restored::default(),
            log: vec![],
            seen: BTreeSet::new(),
        }
    }

    pub fn play(&mut self) {
        while !self.dice.is_over() {
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.pass_time();
        self.weather();
        if self.disturb() || self.go_back() || self.suspect() {
            return;
        }
        let now = self.circumstances();
        let play = step::next_move(&self.step, &self.terms, &self.policy, &now);
        self.log
            .push(format!("{} {:?}: {play:?}", self.now_ms, self.step.state));
        self.seen
            .insert(format!("{play:?}").split('(').next().unwrap().to_owned());
        match play {
            Move::WaitUntil(at_ms) => {
                assert!(at_ms > self.now_ms, "{self}");
                self.now_ms = at_ms;
            }
            Move::Nothing => {}
            Move::Review(reason) => self.apply(Event::Hold {
                at_ms: self.now_ms,
                next: Next::Review(reason),
            }),
            Move::Lookup => self.lookup(),
            Move::Perform => self.attempt(false),
            Move::Resend => self.attempt(true),
        }
    }

    fn circumstances(&mut self) -> Circumstances {
        let jitter = self.dice.of(&[0.0, 1.0, -1.0]);
        Circumstances {
            now_ms: self.now_ms,
            overtaken: self.overtaken,
            blocked: self.blocked,
            jitter,
        }
    }

    fn pass_time(&mut self) {
        let steps = [0, 0, 0, 0, 500, 40_000, HOUR_MS as i64, 30 * HOUR_MS as i64];
        self.now_ms += self.dice.of(&steps);
    }

    /// The place may change while a step is in doubt, and change back; a later intent may come up, for good.
    fn weather(&mut self) {
        if self.dice.one_in(12) {
            self.blocked = self
                .dice
                .of(&[None, Some(Blocked::PlaceChanged), Some(Blocked::OtherHost)]);
        }
        self.overtaken |= self.dice.one_in(20);
    }

    /// What others do to the step between its own moves; true when something happened.
    fn disturb(&mut self) -> bool {
        if let State::NeedsReview { .. } = self.step.state {
            self.person();
            return true;
        }
        match self.dice.roll(24) {
            0 if !self.step.is_final() && !self.known.cancelled => {
                self.suspect();
                self.known.cancelled = true;
                self.apply(Event::Cancel { at_ms: self.now_ms });
                true
            }
            1 if !self.step.is_final() && self.known.doubt && self.has_effect() => {
                self.known.doubt = false;
                self.apply(Event::LateConfirmation);
                true
            }
            2 if matches!(
                self.step.state,
                State::Pending | State::Retrying { .. } | State::Waiting { .. }
            ) =>
            {
                self.hold();
                true
            }
            _ => false,
        }
    }

    fn hold(&mut self) {
        if self.suspect() {
            return;
        }
        let wait = self.dice.of(&[
            Wait::BreakerOpen,
            Wait::Paused,
            Wait::ConnectionBlocked,
            Wait::RateLimited,
        ]);
        let until_ms = self.now_ms + self.dice.of(&[1_000, 60_000, 2 * HOUR_MS as i64]);
        let now = self.circumstances();
        let event = step::hold(&self.step, wait, until_ms, &self.terms, &self.policy, &now);
        self.apply(event);
    }

    fn person(&mut self) {
        let offer = retry_offer(&self.step, &self.terms).unwrap();
        if self.known.doubt {
            assert_ne!(offer, RetryOffer::OneClick, "no one-click retry in doubt\n{self}");
        }
        // The person's word is true: they say that it does not exist only when it does not and cannot come any more.
        let truly_absent = !self.has_effect() && self.known.doubt && self.now_ms >= self.visible_ms();
        let decision = match self.dice.roll(8) {
            0 => Decision::Discard,
            1 if self.has_effect() => Decision::Resolve,
            2 if !self.known.cancelled => {
                self.suspect();
                self.known.cancelled = true;
                self.known.lookups = 0;
                return self.apply(Event::Cancel { at_ms: self.now_ms });
            }
            _ => Decision::Retry {
                at_ms: self.now_ms,
                stated_absent: truly_absent && self.dice.one_in(2),
            },
        };
        match decision {
            Decision::Retry { stated_absent, .. } => {
                self.known.cancelled = false;
                self.known.counted = 0;
                self.known.lookups = 0;
                self.known.doubt &= !stated_absent;
                self.known.absents.clear();
                self.known.asked = false;
                self.known.must_ask = self.known.doubt;
            }
            Decision::Resolve => {
                self.known.doubt = false;
                self.known.resolved = true;
            }
            Decision::Discard => self.known.doubt = false,
        }
        self.apply(Event::Decide(decision));
    }

    /// An effect took place, or is under way and will.
    fn has_effect(&self) -> bool {
        !self.effects.is_empty()
    }

    fn visible_ms(&self) -> i64 {
        self.known.over_ms + self.terms.lookup_after_ms.unwrap_or(300_000).max(TIMEOUT_MS) as i64
    }

    fn attempt(&mut self, resend: bool) {
        assert_eq!(
            resend, self.known.doubt,
            "in doubt it is a resend, else it is not\n{self}"
        );
        self.apply(Event::Begin);
        match self.dice.roll(8) {
            0 => return self.crash(),
            1 => return self.ended_without_request(resend),
            _ => {}
        }
        self.may_send();
        let at_ms = self.now_ms;
        let over_ms = at_ms + 5_000 + TIMEOUT_MS as i64;
        self.apply(Event::Intend { at_ms, over_ms });
        self.known.first_intent_ms.get_or_insert(at_ms);
        if self.dice.one_in(8) {
            self.arrive();
            self.unknown(over_ms);
            self.known.counted += 1;
            return self.crash();
        }
        let (evidence, report) = self.exchange();
        let facts = Facts {
            evidence,
            denied: self.dice.one_in(9),
            read_answered_2xx: false,
            report,
        };
        self.finish(&facts, true);
    }

    fn ended_without_request(&mut self, resend: bool) {
        let report = self
            .dice
            .of(&[Report::Ok, Report::Rejected, Report::Temporary, Report::Cut(Cut::Trap)]);
        let facts = Facts {
            evidence: Evidence::None,
            denied: self.dice.one_in(3),
            // What it says it found is there: `may_find` was granted because the connector's word is good.
            read_answered_2xx: self.has_effect() && self.now_ms >= self.visible_ms(),
            report,
        };
        if resend && facts.denied {
            let end = AttemptEnd {
                blocked: Some(Blocked::RequestChanged),
                ..self.end(&facts, false)
            };
            return self.end_attempt(end);
        }
        let tried = self.dice.one_in(2);
        self.finish(&facts, tried);
    }

    fn end(&mut self, facts: &Facts, tried: bool) -> AttemptEnd {
        let took_ms = self.dice.of(&[0, 200, TIMEOUT_MS as i64]);
        self.now_ms += took_ms;
        let told_ms = self.now_ms + self.dice.of(&[5_000, 2 * HOUR_MS as i64, 48 * HOUR_MS as i64]);
        let hold = (Wait::BreakerOpen, self.now_ms + 30_000);
        AttemptEnd {
            at_ms: self.now_ms,
            outcome: of_write(facts, &self.terms.trust),
            evidence: facts.evidence,
            over_ms: self.now_ms,
            tried,
            probe: self.dice.one_in(8),
            retry_after: if self.dice.one_in(4) {
                RetryAfter::Until(told_ms)
            } else {
                RetryAfter::None
            },
            hold: if self.dice.one_in(4) { Some(hold) } else { None },
            blocked: None,
            about_step: self.dice.one_in(4),
        }
    }

    fn finish(&mut self, facts: &Facts, tried: bool) {
        let end = self.end(facts, tried);
        self.end_attempt(end);
    }

    fn end_attempt(&mut self, mut end: AttemptEnd) {
        let is_weighed = end.outcome == Outcome::Refused(Refusal::Unauthorized) && self.dice.one_in(2);
        let about_step = end.about_step;
        if is_weighed {
            end.hold = Some((Wait::ConnectionBlocked, self.now_ms + 60_000));
            end.about_step = false;
        }
        if self.dice.one_in(16) {
            // A person cancels while the request is in flight.
            self.known.cancelled = true;
            self.apply(Event::Cancel { at_ms: self.now_ms });
        }
        match end.outcome {
            Outcome::Confirmed(_) => self.known.doubt = false,
            Outcome::Unknown => self.unknown(end.over_ms),
            Outcome::Refused(_) | Outcome::Unsent => {}
        }
        let now = self.circumstances();
        let event = step::after_attempt(&self.step, &end, &self.terms, &self.policy, &now);
        let Event::Attempted { counted, .. } = event else {
            panic!("{event:?}")
        };
        self.known.counted += u32::from(counted);
        if self.dice.one_in(16) && self.step.open_intent.is_some() {
            // It dies before the outcome is stored: what was known is lost, and the step is in doubt.
            let lost_ms = self.step.open_intent.unwrap().over_ms;
            self.known.counted += u32::from(!counted);
            self.unknown(lost_ms);
            return self.crash();
        }
        self.apply(event);
        if is_weighed {
            self.weigh(AttemptEnd { about_step, ..end });
        }
    }

    /// It becomes known what a 401 was about, unless somebody moved the step meanwhile.
    fn weigh(&mut self, end: AttemptEnd) {
        self.now_ms += self.dice.of(&[0, 200, TIMEOUT_MS as i64]);
        let State::Waiting {
            reason: Wait::ConnectionBlocked,
            ..
        } = self.step.state
        else {
            return;
        };
        let end = AttemptEnd {
            at_ms: self.now_ms,
            hold: None,
            ..end
        };
        let now = self.circumstances();
        let event = step::after_weighing(&self.step, &end, &self.terms, &self.policy, &now);
        let Event::Weighed { counted, .. } = event else {
            panic!("{event:?}")
        };
        self.known.counted += u32::from(counted);
        self.apply(event);
    }

    fn unknown(&mut self, over_ms: i64) {
        let known = &mut self.known;
        known.over_ms = if known.doubt {
            known.over_ms.max(over_ms)
        } else {
            over_ms
        };
        known.doubt = true;
        known.absents.clear();
        known.asked = false;
    }

    fn lookup(&mut self) {
        assert!(self.known.doubt, "only a doubt is looked up\n{self}");
        assert_ne!(
            self.blocked,
            Some(Blocked::PlaceChanged),
            "nothing is asked at another place\n{self}"
        );
        assert!(self.now_ms >= self.visible_ms(), "asked too early\n{self}");
        self.apply(Event::Begin);
        if self.dice.one_in(10) {
            return self.crash();
        }
        let asked_ms = self.now_ms;
        let there = self.effects.iter().any(|at_ms| *at_ms <= asked_ms);
        let truth = if there {
            FindingReport::Found
        } else {
            FindingReport::Absent
        };
        let truth = self.limited(truth);
        let (report, statuses): (FindingReport, &[u16]) = match self.dice.roll(8) {
            0 => (FindingReport::Unsure, &[200]),
            // It asked nothing, or got no answer that counts, and claims to know.
            1 => (FindingReport::Absent, &[]),
            2 => (FindingReport::Found, &[500]),
            3 if !there => (truth, &[404]),
            _ => (truth, &[200]),
        };
        let finding = judge_lookup(report, LookupSight::of(statuses, false, &self.terms.trust));
        self.now_ms += self.dice.of(&[0, 100]);
        let end = LookupEnd {
            asked_ms,
            at_ms: self.now_ms,
            finding,
            counted: finding != Finding::Unsure || self.dice.one_in(2),
            retry_after: RetryAfter::None,
            hold: if self.dice.one_in(6) {
                Some((Wait::Paused, self.now_ms + 60_000))
            } else {
                None
            },
        };
        self.known.lookups += u32::from(end.counted);
        self.known.asked |= end.counted;
        self.known.must_ask &= !end.counted;
        match finding {
            Finding::Found => self.known.doubt = false,
            // Judged from when it asked, kept from when it was told.
            Finding::Absent if self.known.absents.is_empty() => self.known.absents.push(end.at_ms),
            Finding::Absent => self.known.absents.push(asked_ms),
            Finding::Unsure => {}
        }
        let now = self.circumstances();
        let event = step::after_lookup(&self.step, &end, &self.terms, &self.policy, &now);
        self.apply(event);
    }

    /// The host dies, and another process finds the step as it was stored.
    fn crash(&mut self) {
        self.pass_time();
        if let Some(event) = step::recover(&self.step, self.now_ms) {
            self.apply(event);
        }
        assert_ne!(
            self.step.state,
            State::Processing,
            "recovery leaves nothing without an owner\n{self}"
        );
    }

    fn apply(&mut self, event: Event) {
        self.log.push(format!("{} {event:?}", self.now_ms));
        let applied = step::apply(&self.step, &event);
        assert!(applied.is_ok(), "{}\n{self}", applied.unwrap_err());
        self.step = stored(&applied.unwrap());
        let words = match self.step.state {
            State::NeedsReview { reason } => format!("{reason:?}"),
            other => other.as_str().to_owned(),
        };
        self.seen.insert(words);
        if self.step.state == State::Cancelled {
            // A conclusive absent closed it.
            self.known.doubt = false;
        }
        self.check();
    }
}

impl std::fmt::Display for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{:?}\n{:?}\n{:?}\n{:?}",
            self.terms, self.policy, self.known, self.step
        )?;
        writeln!(
            f,
            "now {} effects {:?} blocked {:?}",
            self.now_ms, self.effects, self.blocked
        )?;
        self.log.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}
