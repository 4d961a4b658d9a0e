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
