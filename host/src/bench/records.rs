//! What load and destination write down, and how it goes to the parent: as a line of numbers each. All times are those of the
//! machine's monotonic clock, so that what one process saw can be compared with what another did.

use std::fmt;

/// One webhook, as the load saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Which event.
    pub event: u64,
    /// Just before its first byte was written.
    pub sent_ns: u64,
    /// Just after its answer was read.
    pub answered_ns: u64,
    /// The status of the answer.
    pub status: u16,
}

/// One idempotency key, as the destination saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Which event.
    pub event: u64,
    /// Which step of it, from 1.
    pub step: u64,
    /// When the first request with this key was there as a whole.
    pub at_ns: u64,
    /// How many requests with this key came.
    pub times: u64,
}

impl Delivery {
    /// Taken in by the host.
    pub fn accepted(&self) -> bool {
        self.status == 202
    }

    /// Reads what is written by `Display`.
    pub fn parse(line: &str) -> Option<Self> {
        let [event, sent_ns, answered_ns, status] = numbers(line)?;
        let status = u16::try_from(status).ok()?;
        Some(Self {
            event,
            sent_ns,
            answered_ns,
            status,
        })
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {}",
            self.event, self.sent_ns, self.answered_ns, self.status
        )
    }
}

impl Effect {
    /// Reads what is written by `Display`.
    pub fn parse(line: &str) -> Option<Self> {
        let [event, step, at_ns, times] = numbers(line)?;
        Some(Self {
            event,
            step,
            at_ns,
            times,
        })
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.event, self.step, self.at_ns, self.times)
    }
}

/// Exactly four numbers.
fn numbers(line: &str) -> Option<[u64; 4]> {
    let numbers: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let delivery = Delivery {
            event: 1,
            sent_ns: 2,
            answered_ns: 3,
            status: 202,
        };
        assert_eq!(Delivery::parse(&delivery.to_string()), Some(delivery));
        let effect = Effect {
            event: 1,
            step: 2,
            at_ns: 3,
            times: 4,
        };
        assert_eq!(Effect::parse(&effect.to_string()), Some(effect));
        for line in ["", "1 2 3", "1 2 3 4 5", "1 2 3 x"] {
            assert_eq!((Delivery::parse(line), Effect::parse(line)), (None, None), "{line}");
        }
    }
}
