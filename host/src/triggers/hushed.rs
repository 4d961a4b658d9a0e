//! Lines about what strangers do: a few in a while, then only how many more. Each could be had for a request, and the disk
//! that they are written to may be the one that is full.

use std::sync::{Mutex, PoisonError};

/// Lines in one window.
const LINES_MAX: u64 = 10;
/// Its length, in milliseconds.
const WINDOW_MS: i64 = 10_000;

/// Counts lines.
#[derive(Default)]
pub struct Hushed(Mutex<Window>);

#[derive(Default)]
struct Window {
    ends_ms: i64,
    lines: u64,
    left_out: u64,
}

impl Hushed {
    /// Whether one more line is written, and how many were left out since the last one.
    pub fn line(&self, now_ms: i64) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.ends_ms <= now_ms {
            window.ends_ms = now_ms.saturating_add(WINDOW_MS);
            window.lines = 0;
        }
        if window.lines >= LINES_MAX {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_a_few_lines_and_a_count() {
        let hushed = Hushed::default();
        let written = (0..1_000).filter(|_| hushed.line(0).is_some()).count();
        assert_eq!(written, 10);
        assert_eq!(hushed.line(WINDOW_MS - 1), None);
        assert_eq!(hushed.line(WINDOW_MS), Some(991));
        assert_eq!(hushed.line(WINDOW_MS), Some(0));
    }
}
