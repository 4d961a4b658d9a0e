//! Which request gets which behaviour: a queue of rules per service, the same on every run.

use super::script::{Behaviour, Read};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A behaviour for the requests of one service that fit.
///
/// The first rule that fits, is due and is not used up decides. Rules that say nothing but a behaviour are thus a queue: the
/// first write gets the first, the second the second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The service's name.
    pub service: String,
    /// What happens.
    pub behaviour: Behaviour,
    /// Which requests it is about at all.
    #[serde(default)]
    pub on: On,
    /// Only requests whose body holds this text.
    #[serde(default)]
    pub text: Option<String>,
    /// Only requests with this key.
    #[serde(default)]
    pub key: Option<String>,
    /// Begins with the nth request that fits (from 1), counted from when the rule was set.
    #[serde(default = "one")]
    pub nth: u32,
    /// How often it is used; `None`: always.
    #[serde(default = "once")]
    pub times: Option<u32>,
}

/// Which requests a rule is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Anything but GET, HEAD and a search.
    #[default]
    Writes,
    /// GET, HEAD and a search: lookups and probes.
    Reads,
    /// All.
    Any,
}

fn one() -> u32 {
    1
}

fn once() -> Option<u32> {
    Some(1)
}

impl Rule {
    /// The next write of this service that no rule before it takes.
    pub fn next(service: &str, behaviour: Behaviour) -> Rule {
        Rule {
            service: service.to_owned(),
            behaviour,
            on: On::Writes,
            text: None,
            key: None,
            nth: one(),
            times: once(),
        }
    }

    /// Every write of this service.
    pub fn always(service: &str, behaviour: Behaviour) -> Rule {
        Rule {
            times: None,
            ..Rule::next(service, behaviour)
        }
    }

    /// About reads instead of writes.
    pub fn reads(self) -> Rule {
        Rule { on: On::Reads, ..self }
    }

    /// Only where the body holds this text. It needs the whole body: a behaviour that reads less reads all then.
    pub fn text(self, text: &str) -> Rule {
        Rule {
            text: Some(text.to_owned()),
            ..self
        }
    }

    /// Only with this key.
    pub fn key(self, key: &str) -> Rule {
        Rule {
            key: Some(key.to_owned()),
            ..self
        }
    }

    /// From the nth request that fits (from 1).
    pub fn nth(self, nth: u32) -> Rule {
        Rule { nth, ..self }
    }

    /// So many times.
    pub fn times(self, times: u32) -> Rule {
        Rule {
            times: Some(times),
            ..self
        }
    }

    fn fits(&self, facts: &Facts) -> Fit {
        let kind_fits = match self.on {
            On::Writes => facts.write,
            On::Reads => !facts.write,
            On::Any => true,
        };
        if !kind_fits {
            return Fit::No;
        }
        let key = fit(self.key.as_deref(), facts.key, |wanted, key| wanted == key);
        let text = fit(self.text.as_deref(), facts.body, |wanted, body| body.contains(wanted));
        match (key, text) {
            (Fit::No, _) | (_, Fit::No) => Fit::No,
            (Fit::Unknown, _) | (_, Fit::Unknown) => Fit::Unknown,
            (Fit::Yes, Fit::Yes) => Fit::Yes,
        }
    }
}

/// What is known of a request when rules are asked.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub service: &'a str,
    pub write: bool,
    pub key: Known<'a>,
    pub body: Known<'a>,
}

/// A part of a request that may not have been read yet.
#[derive(Clone, Copy)]
pub(super) enum Known<'a> {
    NotYet,
    Is(Option<&'a str>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    Unknown,
}

fn fit(wanted: Option<&str>, known: Known, holds: impl Fn(&str, &str) -> bool) -> Fit {
    match (wanted, known) {
        (None, _) => Fit::Yes,
        (Some(_), Known::NotYet) => Fit::Unknown,
        (Some(_), Known::Is(None)) => Fit::No,
        (Some(wanted), Known::Is(Some(value))) => match holds(wanted, value) {
            true => Fit::Yes,
            false => Fit::No,
        },
    }
}

/// The rules that are not used up, by service, in the order in which they were set.
#[derive(Default)]
pub(super) struct Rules(BTreeMap<String, Vec<Live>>);

struct Live {
    rule: Rule,
    /// Requests that fitted so far.
    fitted: u32,
    used: u32,
}

impl Live {
    /// Whether it would decide about the next request that fits.
    fn due(&self) -> bool {
        self.fitted + 1 >= self.rule.nth
    }

    fn used_up(&self) -> bool {
        self.rule.times.is_some_and(|times| self.used >= times)
    }
}

impl Rules {
    pub fn set(&mut self, rule: Rule) {
        self.0.entry(rule.service.clone()).or_default().push(Live {
            rule,
            fitted: 0,
            used: 0,
        });
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A behaviour that reads nothing is decided about when a connection is taken: nothing else is known then.
    pub fn at_connect(&mut self, service: &str) -> Option<Behaviour> {
        let rules = self.0.get_mut(service)?;
        let at = rules
            .iter()
            .position(|live| live.rule.behaviour.read == Read::Nothing)?;
        rules[at].fitted += 1;
        (rules[at].fitted >= rules[at].rule.nth).then(|| use_one(rules, at))
    }

    /// Once the head was read: only a rule that reads no more decides here, and only if no rule before it could.
    pub fn at_head(&mut self, facts: &Facts) -> Option<Behaviour> {
        let rules = self.0.get_mut(facts.service)?;
        let candidate = requests(rules).find(|(_, live)| live.due() && live.rule.fits(facts) != Fit::No);
        let (at, live) = candidate?;
        let reads_no_more = matches!(live.rule.behaviour.read, Read::Head | Read::HalfBody);
        if live.rule.fits(facts) != Fit::Yes || !reads_no_more {
            return None;
        }
        count(rules, facts);
        Some(use_one(rules, at))
    }

    /// Once all of the request was read.
    pub fn at_body(&mut self, facts: &Facts) -> Option<Behaviour> {
        let rules = self.0.get_mut(facts.service)?;
        let found = requests(rules).find(|(_, live)| live.due() && live.rule.fits(facts) == Fit::Yes);
        let at = found.map(|(at, _)| at);
        count(rules, facts);
        at.map(|at| use_one(rules, at))
    }
}

fn requests(rules: &[Live]) -> impl Iterator<Item = (usize, &Live)> {
    rules
        .iter()
        .enumerate()
        .filter(|(_, live)| live.rule.behaviour.read != Read::Nothing)
}

fn count(rules: &mut [Live], facts: &Facts) {
    for live in rules.iter_mut().filter(|live| live.rule.fits(facts) == Fit::Yes) {
        live.fitted += 1;
    }
}

fn use_one(rules: &mut Vec<Live>, at: usize) -> Behaviour {
    rules[at].used += 1;
    let behaviour = rules[at].rule.behaviour.clone();
    rules.retain(|live| !live.used_up());
    behaviour
}
