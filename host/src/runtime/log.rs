//! The log of one call, bounded: a guest in a loop must not fill the disk through the log.

use super::door::AnyDoor;
use super::{LogLevel, RuntimeLimits};

/// Bytes of one line: message and fields together.
const LINE_BYTES_MAX: usize = 4 << 10;
/// Fields of one line.
const FIELDS_MAX: usize = 32;

/// What one call may still log.
pub(super) struct LogBudget {
    lines_max: u32,
    bytes_max: usize,
    lines: u32,
    bytes: usize,
    dropped: u64,
}

impl LogBudget {
    pub(super) fn new(limits: &RuntimeLimits) -> LogBudget {
        LogBudget {
            lines_max: limits.log_lines_max,
            bytes_max: limits.log_bytes_max,
            lines: 0,
            bytes: 0,
            dropped: 0,
        }
    }

    /// Hands a line to the door, shortened where it is long; drops it where the call has said enough.
    pub(super) fn say(&mut self, door: &mut dyn AnyDoor, level: LogLevel, message: String, fields: Fields) {
        let mut room = LINE_BYTES_MAX.min(self.bytes_max - self.bytes);
        if self.lines >= self.lines_max || room == 0 {
            self.dropped += 1;
            return;
        }
        let line_room = room;
        let message = fit(message, &mut room);
        let fields = fields
            .into_iter()
            .take(FIELDS_MAX)
            .map_while(|(name, value)| (room > 0).then(|| (fit(name, &mut room), fit(value, &mut room))))
            .collect();
        self.lines += 1;
        self.bytes += line_room - room;
        door.log(level, message, fields);
    }

    /// Says how many lines are missing, once, at the end of the call.
    pub(super) fn end(self, door: &mut dyn AnyDoor) {
        if self.dropped > 0 {
            let message = format!(
                "{} more lines were dropped: one call may log {} lines and {} bytes",
                self.dropped, self.lines_max, self.bytes_max
            );
            door.log(LogLevel::Warn, message, Vec::new());
        }
    }
}

/// Names and values beside a message.
pub(super) type Fields = Vec<(String, String)>;

/// Shortens `text` to the room that is left, at a character's end, and takes that room.
pub(super) fn fit(mut text: String, room: &mut usize) -> String {
    if text.len() > *room {
        text.truncate(text.floor_char_boundary(*room));
        *room = 0;
    } else {
        *room -= text.len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{Door, Request, Response, SendError};

    #[derive(Default)]
    struct Lines(Vec<(String, Fields)>);

    impl Door for Lines {
        async fn send(&mut self, _: Request) -> Result<Response, SendError> {
            Err(SendError::Denied("only lines".to_owned()))
        }

        fn log(&mut self, _: LogLevel, message: String, fields: Fields) {
            self.0.push((message, fields));
        }
    }

    /// What of these lines comes to the log of one call.
    fn logged(lines: impl IntoIterator<Item = (String, Fields)>) -> Vec<(String, Fields)> {
        let (mut door, mut budget) = (Lines::default(), LogBudget::new(&RuntimeLimits::default()));
        for (message, fields) in lines {
            budget.say(&mut door, LogLevel::Info, message, fields);
        }
        budget.end(&mut door);
        door.0
    }

    /// The bytes of each line that comes to the log, where lines of so many come.
    fn bytes(lines: &[usize]) -> Vec<usize> {
        let lines = lines.iter().map(|bytes| ("a".repeat(*bytes), Vec::new()));
        logged(lines).iter().map(|(message, _)| message.len()).collect()
    }

    const DROPPED: &str = "1 more lines were dropped: one call may log 200 lines and 65536 bytes";

    #[test]
    fn lines_are_kept_up_to_their_limit_and_what_is_dropped_is_counted() {
        assert_eq!(bytes(&[1; 200]), [1; 200]);
        let lines = logged(vec![("a".to_owned(), Vec::new()); 201]);
        assert_eq!((lines.len(), lines[200].0.as_str()), (201, DROPPED));
    }

    #[test]
    fn a_line_is_cut_at_its_limit_and_never_within_a_character() {
        assert_eq!(bytes(&[4_096, 4_097]), [4_096, 4_096]);
        let cut = |from: usize| logged([(format!("{}ä", "a".repeat(from)), Vec::new())])[0].0.len();
        assert_eq!((cut(4_094), cut(4_095)), (4_096, 4_095));
    }

    #[test]
    fn fields_are_kept_up_to_their_limit_and_have_no_bytes_of_their_own() {
        let fields = |count: usize| (0..count).map(|n| (n.to_string(), "v".to_owned())).collect::<Fields>();
        let kept = |message: usize, count: usize| logged([("a".repeat(message), fields(count))]).remove(0).1;
        assert_eq!(kept(1, 32), fields(32));
        assert_eq!(kept(1, 33), fields(32));
        assert_eq!(kept(4_094, 2), fields(1));
        assert_eq!(kept(4_096, 2), []);
    }

    #[test]
    fn all_lines_of_a_call_together_have_so_many_bytes() {
        assert_eq!(bytes(&[4_096; 16]), [4_096; 16]);
        let full = [[4_096; 16].as_slice(), &[1]].concat();
        assert_eq!(bytes(&full), [[4_096; 16].as_slice(), &[DROPPED.len()]].concat());
        let last = [[4_096; 15].as_slice(), &[4_095, 2]].concat();
        assert_eq!(bytes(&last), [[4_096; 15].as_slice(), &[4_095, 1]].concat());
    }
}
