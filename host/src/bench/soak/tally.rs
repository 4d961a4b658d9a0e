//! What both ends of a soak saw, kept small: a soak has millions of events.

use crate::bench::records::{Delivery, Effect};

/// Marks an event that was taken in; the bits below are its steps, of which a flow has 20 at most.
const ACCEPTED: u32 = 1 << 31;

/// The events of one soak.
pub struct Tally {
    first: u64,
    all_steps: u32,
    events: Vec<u32>,
    taken_us: Vec<u32>,
    duplicates: u64,
    refused: u64,
}

impl Tally {
    /// Nothing happened yet; events have numbers from `first` on.
    pub fn new(first: u64, steps: u64) -> Self {
        Self {
            first,
            all_steps: (1 << steps) - 1,
            events: Vec::new(),
            taken_us: Vec::new(),
            duplicates: 0,
            refused: 0,
        }
    }

    /// A webhook was answered.
    pub fn delivered(&mut self, delivery: &Delivery) {
        if !delivery.accepted() {
            self.refused += 1;
            return;
        }
        let us = (delivery.answered_ns - delivery.sent_ns) / 1_000;
        self.taken_us.push(u32::try_from(us).unwrap_or(u32::MAX));
        if let Some(event) = self.event(delivery.event) {
            *event |= ACCEPTED;
        }
    }

    /// A step took effect, once or more often.
    pub fn happened(&mut self, effect: &Effect) {
        let bit = 1 << (effect.step - 1);
        let Some(event) = self.event(effect.event) else { return };
        let is_again = *event & bit != 0;
        *event |= bit;
        self.duplicates += effect.times - 1 + u64::from(is_again);
    }

    /// How long each answer took, in microseconds, in their order.
    pub fn taken_us(&self) -> &[u32] {
        &self.taken_us
    }

    /// Webhooks answered 202.
    pub fn accepted(&self) -> u64 {
        self.taken_us.len() as u64
    }

    /// Webhooks answered otherwise.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Effects too many.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Effects missing of events that were taken in.
    pub fn lost(&self) -> u64 {
        let accepted = self.events.iter().filter(|event| **event & ACCEPTED != 0);
        accepted
            .map(|event| u64::from((self.all_steps & !event).count_ones()))
            .sum()
    }

    /// `None`: it is of an earlier row.
    fn event(&mut self, number: u64) -> Option<&mut u32> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        if place >= self.events.len() {
            self.events.resize(place + 1, 0);
        }
        self.events.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(event: u64, status: u16) -> Delivery {
        Delivery {
            event,
            sent_ns: 1_000_000,
            answered_ns: 1_000_000 + event * 1_000_000,
            status,
        }
    }

    fn effect(event: u64, step: u64, times: u64) -> Effect {
        Effect {
            event,
            step,
            at_ns: 0,
            times,
        }
    }

    #[test]
    fn each_effect_of_each_event_counts_once() {
        let mut tally = Tally::new(10, 2);
        // The effect may be seen before the answer.
        tally.happened(&effect(10, 1, 1));
        for event in [10, 11] {
            tally.delivered(&delivery(event, 202));
        }
        assert_eq!((tally.accepted(), tally.lost()), (2, 3));
        for (event, step) in [(10, 2), (11, 1), (11, 2), (9, 1)] {
            tally.happened(&effect(event, step, 1));
        }
        assert_eq!((tally.lost(), tally.duplicates(), tally.refused()), (0, 0, 0));
        assert_eq!(tally.taken_us(), [10_000, 11_000]);
        tally.happened(&effect(11, 2, 1));
        tally.happened(&effect(12, 1, 3));
        tally.delivered(&delivery(12, 429));
        assert_eq!((tally.lost(), tally.duplicates(), tally.refused()), (0, 3, 1));
    }
}
