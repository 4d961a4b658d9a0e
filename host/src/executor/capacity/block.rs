//! The block of one connection: while its credentials are missing or refused, its steps wait and burn nothing; every minute
//! one finds out whether they work again.
//!
//! Pure, as the breaker beside it: it is told what happened and when. What a refusal means is the domain's
//! (`oncegate_domain::credentials`); here is only what that decision counts.

use oncegate_domain::credentials::{self, Probe, Verdict};
use oncegate_domain::id::Id;
use oncegate_domain::limits;
use std::collections::{BTreeMap, BTreeSet};

/// Steps remembered of each kind; a block of weeks tries few more.
const REMEMBERED_MAX: usize = 10_000;

/// Looks in a row to which the destination says neither yes nor no before a step is sent to find out.
const NO_VERDICT_MAX: u32 = 3;

/// Why a connection is blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It was when an earlier process of this host looked last; what the step that tells so was told, in words.
    Earlier(Option<String>),
    /// A secret cannot be used; the reason in words.
    Secrets(String),
    /// The destination does not accept the credentials; how it said so.
    Refused(String),
    /// Another host found out that they are not accepted, and how that was said there.
    Elsewhere(String),
}

/// A connection that is blocked, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Why.
    pub why: String,
    /// Since when, as far as this process knows.
    pub since_ms: i64,
    /// When the next look is taken, by the first step that waits for it.
    pub next_look_ms: i64,
}

/// A 401, and what is known beside it.
pub struct Refusal {
    /// The run that got it.
    pub run: Id,
    /// The step.
    pub step: Id,
    /// What the connection's probe said about it.
    pub probe: Probe,
    /// How the destination refused, for people.
    pub why: String,
}

/// What is known of a connection's credentials.
#[derive(Debug, Default)]
pub struct Credentials {
    /// The different runs that were refused in a row, with the steps that were.
    refused_runs: BTreeMap<Id, BTreeSet<Id>>,
    /// Steps that were refused before another one was accepted, and have not been accepted since: it may be about them
    /// alone, so they say nothing about the credentials.
    refused_alone: BTreeSet<Id>,
    block: Option<Block>,
}

#[derive(Debug)]
struct Block {
    cause: Cause,
    since_ms: i64,
    next_look_ms: i64,
    /// The step that is finding out; all others stand in the queue meanwhile.
    looking: Option<Id>,
    /// Steps that found out in vain: the refusal may be about them alone, so others are asked first.
    in_vain: BTreeSet<Id>,
    /// How often in a row the connection's read was asked, and the destination did not deal with it.
    without_verdict: u32,
}

/// Who is finding out, and when the next one may: all of a block that decides who may go.
pub(super) type Terms = Option<(Option<Id>, i64)>;

impl Credentials {
    pub(super) fn terms(&self) -> Terms {
        self.block.as_ref().map(|block| (block.looking, block.next_look_ms))
    }

    /// Whether the connection is blocked.
    pub fn is_blocked(&self) -> bool {
        self.block.is_some()
    }

    /// Why and since when.
    pub fn blocked(&self) -> Option<Blocked> {
        self.block.as_ref().map(|block| Blocked {
            why: match &block.cause {
                Cause::Earlier(None) => "it was blocked when this host went down, and is looked at again".to_owned(),
                Cause::Earlier(Some(why)) => {
                    format!("{why} (so it was when this host went down; it is looked at again)")
                }
                Cause::Secrets(why) | Cause::Refused(why) | Cause::Elsewhere(why) => why.clone(),
            },
            since_ms: block.since_ms,
            next_look_ms: block.next_look_ms,
        })
    }

    /// What to tell those who wait; `None`: they know it from before.
    pub fn news(&self) -> Option<&str> {
        match &self.block.as_ref()?.cause {
            Cause::Earlier(_) => None,
            Cause::Secrets(why) | Cause::Refused(why) | Cause::Elsewhere(why) => Some(why),
        }
    }

    /// Until when nobody may go.
    pub fn closed_until(&self, now_ms: i64) -> Option<i64> {
        let block = self.block.as_ref()?;
        (block.looking.is_none() && now_ms < block.next_look_ms).then_some(block.next_look_ms)
    }

    /// Whether one more may go, as far as this decides: under a block one at a time.
    pub fn has_room(&self) -> bool {
        self.block.as_ref().is_none_or(|block| block.looking.is_none())
    }

    /// Whether this step has found out in vain that the block still holds.
    pub fn looked_in_vain(&self, step: Id) -> bool {
        self.block.as_ref().is_some_and(|block| block.in_vain.contains(&step))
    }

    /// How many have found out in vain.
    pub fn in_vain_count(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.in_vain.len())
    }

    /// Whether this step was refused while others were accepted.
    pub fn refused_alone(&self, step: Id) -> bool {
        self.refused_alone.contains(&step)
    }

    /// The step goes; under a block it goes to find out.
    pub fn begin(&mut self, step: Id) {
        if let Some(block) = &mut self.block {
            block.looking = Some(step);
        }
    }

    /// Whether the connection's read is to be asked in place of a step. Not where it was asked again and again and the
    /// destination never dealt with it: what never gives a verdict must not block for ever.
    pub fn asks_first(&mut self) -> bool {
        let is_hopeless = |block: &&mut Block| block.without_verdict >= NO_VERDICT_MAX;
        match self.block.as_mut().filter(is_hopeless) {
            Some(block) => {
                block.without_verdict = 0;
                false
            }
            None => true,
        }
    }

    /// The connection's read was asked, and the destination is busy or away: somebody looks again in a minute.
    pub fn no_verdict(&mut self, now_ms: i64) {
        if let Some(block) = &mut self.block {
            block.without_verdict += 1;
            block.look_again(now_ms);
        }
    }

    /// The step came back. Where it did not find out, somebody looks again in a minute.
    pub fn end(&mut self, step: Id, now_ms: i64) {
        if let Some(block) = self.block.as_mut().filter(|block| block.looking == Some(step)) {
            block.look_again(now_ms);
        }
    }

    /// Blocks the connection, until somebody finds out that it can be used; `true`: that is news.
    pub fn block(&mut self, cause: Cause, now_ms: i64) -> bool {
        let refused = std::mem::take(&mut self.refused_runs).into_values().flatten();
        let Some(block) = &mut self.block else {
            self.block = Some(Block {
                cause,
                since_ms: now_ms,
                next_look_ms: next_look_ms(now_ms),
                looking: None,
                in_vain: refused.collect(),
                without_verdict: 0,
            });
            return true;
        };
        block.look_again(now_ms);
        // Two refusals seldom have the same words: an id of the request stands in many.
        let known = match (&block.cause, &cause) {
            (Cause::Refused(_) | Cause::Elsewhere(_), Cause::Refused(_)) => true,
            (before, now) => before == now,
        };
        block.cause = cause;
        !known
    }

    /// An earlier process left a step that waits until then because the connection was blocked; `why`, as that step was told.
    pub fn was_blocked(&mut self, why: Option<String>, until_ms: i64, now_ms: i64) {
        if self.block.is_none() {
            self.block(Cause::Earlier(why), now_ms);
        }
        if let Some(block) = &mut self.block {
            // A clock that was set back must not make it wait for longer than a minute.
            block.next_look_ms = until_ms.min(next_look_ms(now_ms));
        }
    }

    /// What other hosts should know. Secrets are each host's own affair, and what an earlier process left is found out first.
    pub fn to_tell(&self) -> Option<Blocked> {
        match self.block.as_ref()?.cause {
            Cause::Refused(_) | Cause::Elsewhere(_) => self.blocked(),
            Cause::Secrets(_) | Cause::Earlier(_) => None,
        }
    }

    /// Another host found that the credentials are refused; `true`: that is news here. This host looks so much later.
    pub fn heard_blocked(&mut self, heard: Blocked, later_ms: i64, now_ms: i64) -> bool {
        let look_ms = heard.next_look_ms.min(next_look_ms(now_ms)) + later_ms;
        let is_news = self.block.is_none();
        if is_news {
            self.block(Cause::Elsewhere(heard.why.clone()), now_ms);
        }
        if let Some(block) = &mut self.block {
            block.next_look_ms = match is_news {
                true => look_ms,
                false => look_ms.max(block.next_look_ms),
            };
            match block.cause {
                Cause::Earlier(_) | Cause::Elsewhere(_) => {
                    block.cause = Cause::Elsewhere(heard.why);
                    block.since_ms = heard.since_ms;
                }
                Cause::Refused(_) | Cause::Secrets(_) => {}
            }
        }
        is_news
    }

    /// Another host found that the credentials work; `true`: that is news here. Its secrets are not ours.
    pub fn heard_usable(&mut self) -> bool {
        let is_theirs = |block: &mut Block| match block.cause {
            Cause::Earlier(_) | Cause::Refused(_) | Cause::Elsewhere(_) => true,
            Cause::Secrets(_) => false,
        };
        self.refused_runs.clear();
        self.block.take_if(is_theirs).is_some()
    }

    /// The operator has changed the connection: whoever comes next finds out at once.
    pub fn look_now(&mut self, now_ms: i64) {
        if let Some(block) = &mut self.block {
            block.next_look_ms = now_ms;
        }
    }

    /// Takes note of a 401: what follows for its step, and whether it is news that the connection is blocked.
    pub fn refused(&mut self, refusal: Refusal, now_ms: i64) -> (Verdict, bool) {
        let was_blocked = self.is_blocked();
        let is_new = !self.refused_alone(refusal.step);
        if is_new && refusal.probe.leaves_it_open() {
            self.refused_runs.entry(refusal.run).or_default().insert(refusal.step);
        }
        let runs = match is_new {
            true => u32::try_from(self.refused_runs.len()).unwrap_or(u32::MAX),
            false => 0,
        };
        let verdict = credentials::after_refusal(was_blocked, refusal.probe, runs);
        let news = match verdict {
            Verdict::Block if self.is_another_ones(refusal.step) => false,
            Verdict::Block => self.block(Cause::Refused(refusal.why), now_ms),
            Verdict::AboutStep | Verdict::Backoff => false,
        };
        if let Some(block) = self.block.as_mut().filter(|block| block.in_vain.len() < REMEMBERED_MAX) {
            block.in_vain.insert(refusal.step);
        }
        (verdict, news)
    }

    /// Blocked, and this step was sent before that or without being asked to find out.
    fn is_another_ones(&self, step: Id) -> bool {
        self.block.as_ref().is_some_and(|block| block.looking != Some(step))
    }

    /// Takes note that the destination dealt with a request of `step`; `true`: the connection was blocked until now. What
    /// was sent before the block says nothing about now.
    pub fn accepted(&mut self, step: Id) -> bool {
        if self.is_another_ones(step) {
            self.refused_runs.clear();
            return false;
        }
        let in_vain = self.block.as_mut().map(|block| std::mem::take(&mut block.in_vain));
        let refused = std::mem::take(&mut self.refused_runs).into_values();
        self.refused_alone.extend(refused.chain(in_vain).flatten());
        self.refused_alone.remove(&step);
        while self.refused_alone.len() > REMEMBERED_MAX {
            // Ids begin with their time: the oldest has most likely come to its end.
            self.refused_alone.pop_first();
        }
        self.block.take().is_some()
    }

    /// All secrets can be read; `true`: that is what the connection was blocked for.
    pub fn secrets_are_there(&mut self) -> bool {
        let missing = |block: &mut Block| matches!(block.cause, Cause::Secrets(_));
        self.block.take_if(missing).is_some()
    }
}

impl Block {
    fn look_again(&mut self, now_ms: i64) {
        self.looking = None;
        self.next_look_ms = next_look_ms(now_ms);
    }
}

fn next_look_ms(now_ms: i64) -> i64 {
    now_ms.saturating_add_unsigned(limits::PROBE_EVERY_MS)
}

#[cfg(test)]
mod tests;
