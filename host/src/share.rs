//! Places of which there are so many, shared out so that no one holder can have them all.
//!
//! Whoever is slow keeps a place for long. Were the places simply taken one after the other, one slow holder would soon have
//! every one of them, and everybody else would wait at its pace. So somebody gets one more only while they have fewer than
//! three times as many as are free, an eighth of all not counted: that is for those who have none. One alone gets two thirds,
//! two who want all get three eighths each. Whoever comes new finds a place, unless many others have come to want all at the
//! same moment: then once their places have gone round.
//!
//! It must not know what the places are, nor who takes them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// So many places somebody may have for each that is free.
const FOR_EACH_FREE: usize = 3;
/// One place in so many is kept for those who have none: else four who come one after the other and never go have all.
const FOR_NEW: usize = 8;

/// A number of places. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct Shares(Arc<Mutex<State>>);

/// A place. Dropped, it is free.
pub struct Share {
    shares: Shares,
    line: usize,
}

struct State {
    free: usize,
    for_new: usize,
    lines: Vec<Line>,
    by_holder: HashMap<String, usize>,
}

/// One holder's places, and who waits for one more in its name.
#[derive(Default)]
struct Line {
    held: usize,
    waiting: VecDeque<oneshot::Sender<Share>>,
}

impl Shares {
    /// So many places, at least one.
    pub fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: places.max(1),
            for_new: places / FOR_NEW,
            lines: Vec::new(),
            by_holder: HashMap::new(),
        })))
    }

    /// A place for this holder, if it may have one now. Holders are remembered, so their names must be bounded in number.
    pub fn try_take(&self, holder: &str) -> Option<Share> {
        let mut state = self.state();
        let line = state.line(holder);
        state.take(line).then(|| self.share(line))
    }

    /// Waits for a place. Of those who wait, whoever has the fewest goes first, and of one holder's who came first.
    pub async fn take(&self, holder: &str) -> Share {
        let given = {
            let mut state = self.state();
            let line = state.line(holder);
            if state.take(line) {
                return self.share(line);
            }
            let (give, given) = oneshot::channel();
            state.lines[line].waiting.push_back(give);
            given
        };
        given
            .await
            .expect("who waits is forgotten with the last handle only, and this one is still there")
    }

    fn share(&self, line: usize) -> Share {
        Share {
            shares: self.clone(),
            line,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn line(&mut self, holder: &str) -> usize {
        if let Some(line) = self.by_holder.get(holder) {
            return *line;
        }
        self.lines.push(Line::default());
        let line = self.lines.len() - 1;
        self.by_holder.insert(holder.to_owned(), line);
        line
    }

    fn may_take(&self, line: &Line) -> bool {
        match line.held {
            0 => self.free > 0,
            held => held < FOR_EACH_FREE * self.free.saturating_sub(self.for_new),
        }
    }

    fn take(&mut self, line: usize) -> bool {
        let takes = self.may_take(&self.lines[line]);
        if takes {
            self.lines[line].held += 1;
            self.free -= 1;
        }
        takes
    }

    /// Who gets a place that has become free.
    fn next(&mut self) -> Option<(usize, oneshot::Sender<Share>)> {
        let lines = self.lines.iter().enumerate();
        let (line, _) = lines
            .filter(|(_, line)| !line.waiting.is_empty() && self.may_take(line))
            .min_by_key(|(_, line)| line.held)?;
        let give = self.lines[line].waiting.pop_front()?;
        self.take(line);
        Some((line, give))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut gifts = Vec::new();
        {
            let mut state = self.shares.state();
            state.lines[self.line].held -= 1;
            state.free += 1;
            while let Some(gift) = state.next() {
                gifts.push(gift);
            }
        }
        // After the lock is given back: a place for somebody who waits no longer is dropped on the spot, which takes it.
        for (line, give) in gifts {
            drop(give.send(self.shares.share(line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn take_all(shares: &Shares, holder: &str) -> Vec<Share> {
        std::iter::from_fn(|| shares.try_take(holder)).collect()
    }

    #[test]
    fn one_who_wants_all_leaves_a_third_and_two_leave_a_quarter() {
        let shares = Shares::new(64);
        let slow = take_all(&shares, "slow");
        assert_eq!(slow.len(), 42);
        assert_eq!(
            take_all(&shares, "other").len(),
            11,
            "three for each free one but the eight"
        );
        drop(slow);
        let (mut slow, mut other) = (Vec::new(), Vec::new());
        loop {
            let (one, two) = (shares.try_take("slow"), shares.try_take("other"));
            if one.is_none() && two.is_none() {
                break;
            }
            slow.extend(one);
            other.extend(two);
        }
        assert_eq!((slow.len(), other.len()), (24, 24));
        assert!(shares.try_take("quick").is_some());
    }

    #[test]
    fn however_few_there_are_one_can_be_had() {
        for places in [0, 1, 2, 3] {
            assert!(!take_all(&Shares::new(places), "only").is_empty(), "{places}");
        }
    }

    #[test]
    fn many_who_want_all_keep_the_next_one_out_until_their_places_have_gone_round_once() {
        let shares = Shares::new(64);
        let take_all = |n: usize| take_all(&shares, &format!("slow-{n}"));
        let mut held: Vec<_> = (0..12).map(take_all).collect();
        assert!(shares.try_take("quick").is_none());
        for _ in 0..64 {
            for (n, held) in held.iter_mut().enumerate() {
                drop(held.pop());
                held.extend(take_all(n));
            }
        }
        let counts: Vec<usize> = held.iter().map(Vec::len).collect();
        assert!(counts.iter().all(|count| (3..=6).contains(count)), "{counts:?}");
        assert!(shares.try_take("quick").is_some());
    }

    #[test]
    fn several_who_come_one_after_the_other_and_never_go_leave_some_for_those_who_have_none() {
        let shares = Shares::new(64);
        let held: Vec<_> = (0..4).map(|n| take_all(&shares, &format!("slow-{n}"))).collect();
        let counts: Vec<usize> = held.iter().map(Vec::len).collect();
        assert_eq!(counts, [42, 11, 3, 1]);
        let new: Vec<_> = (0..7).filter_map(|n| shares.try_take(&format!("quick-{n}"))).collect();
        assert_eq!(new.len(), 7);
        assert!(shares.try_take("one more").is_none());
    }

    #[test]
    fn a_place_that_becomes_free_goes_to_whoever_has_the_fewest() {
        let shares = Shares::new(4);
        let mut slow = take_all(&shares, "slow");
        let quick = shares.try_take("quick");
        assert_eq!((slow.len(), quick.is_some()), (3, true));
        let mut slow_waits = Box::pin(shares.take("slow"));
        let mut given_up = Box::pin(shares.take("new"));
        let mut new_waits = Box::pin(shares.take("new"));
        for waits in [&mut slow_waits, &mut given_up, &mut new_waits] {
            assert!(waits.now_or_never().is_none());
        }
        drop(given_up);
        drop(slow.pop());
        assert!((&mut slow_waits).now_or_never().is_none());
        let new = new_waits.now_or_never();
        assert!(new.is_some(), "and not to somebody who waits no longer");
        drop((new, slow, quick));
        assert!(slow_waits.now_or_never().is_some());
    }
}
