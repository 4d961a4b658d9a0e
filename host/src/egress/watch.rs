//! What one exchange did on the wire, counted: the facts from which evidence is made.
//!
//! The stream reports every byte in both directions here. Must not know sockets, TLS or the HTTP client: it sees plain
//! bytes, and trusts nobody's error kinds.

use crate::clock::SharedClock;

/// Interim (1xx) answers that are skipped before one exchange is given up.
const INTERIM_ANSWERS_MAX: u32 = 16;

/// Until when bytes may leave. Asked before every write, because a process can be stopped between any two of them.
pub(super) struct Gate {
    pub clock: SharedClock,
    /// `send_by` of the intent, on the wall and the boot clock: no first byte from then on. `None` for reads.
    pub send_by: Option<(i64, i64)>,
    /// The exchange's timeout on the boot clock: no byte at all from then on. A host that was stopped in the middle of a
    /// request must not finish it an hour later, when others have long concluded what became of it.
    pub over_boot_ms: i64,
}

/// A write that came too late, or without an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Closed {
    #[error("its last moment to be sent (`send_by`) had passed; the host was stopped or very slow")]
    SendBy,
    #[error("its time was over before the rest of it could be sent")]
    Over,
    #[error("nothing may be sent outside of an exchange")]
    Idle,
}

/// The counts of one exchange.
#[derive(Default)]
pub(super) struct Watch {
    gate: Option<Gate>,
    closed: Option<Closed>,
    handed: u64,
    head: EndOfHead,
    head_bytes: Option<u64>,
    body_bytes: u64,
    header_bytes_max: u64,
    read: u64,
    answer: AnswerHead,
}

impl Watch {
    /// Starts counting for a request with a body of `body_bytes`, whose answer may have heads of `header_bytes_max`.
    pub fn begin(&mut self, gate: Gate, body_bytes: u64, header_bytes_max: usize) {
        *self = Self {
            gate: Some(gate),
            body_bytes,
            header_bytes_max: header_bytes_max as u64,
            ..Self::default()
        };
    }

    /// Ends the exchange: from now on nothing may be written.
    pub fn end(&mut self) {
        self.gate = None;
    }

    /// Whether bytes may be handed over now.
    pub fn may_write(&mut self) -> Result<(), Closed> {
        let verdict = match &self.gate {
            None => Err(Closed::Idle),
            Some(gate) => gate.check(self.handed == 0),
        };
        self.closed = verdict.err().or(self.closed);
        verdict
    }

    /// Why a write was refused, where one was.
    pub fn refused(&self) -> Option<Closed> {
        self.closed
    }

    /// Bytes of the request were handed over.
    pub fn handed_over(&mut self, bytes: &[u8]) {
        if self.head_bytes.is_none() {
            self.head_bytes = self.head.find(bytes).map(|within| self.handed + within as u64);
        }
        self.handed += bytes.len() as u64;
    }

    /// Bytes of the request handed to the transport.
    pub fn handed(&self) -> u64 {
        self.handed
    }

    /// Whether head and body were wholly handed over.
    pub fn whole(&self) -> bool {
        self.head_bytes
            .is_some_and(|head| self.handed >= head + self.body_bytes)
    }

    /// Bytes of an answer were read.
    pub fn received(&mut self, bytes: &[u8]) {
        let whole = self.whole();
        self.read += bytes.len() as u64;
        self.answer.read(bytes, whole);
    }

    /// Bytes of the answer read since its final head began.
    pub fn answer_bytes(&self) -> u64 {
        if matches!(self.answer.part, Part::Final | Part::Body) {
            self.read
        } else {
            0
        }
    }

    /// Whether the final answer began before the request was whole.
    pub fn is_answered_early(&self) -> bool {
        self.answer.early || !self.whole()
    }

    /// Whether the answer's heads are larger than they may be, or interim answers do not end.
    pub fn head_too_large(&self) -> bool {
        self.answer.head_bytes > self.header_bytes_max || self.answer.interim > INTERIM_ANSWERS_MAX
    }
}

impl Gate {
    fn check(&self, first: bool) -> Result<(), Closed> {
        let boot_ms = self.clock.boot_ms();
        if first && let Some((wall_by_ms, boot_by_ms)) = self.send_by {
            // Both: the boot clock knows of time suspended or stopped, the wall clock of another machine's view.
            if self.clock.now_ms() >= wall_by_ms || boot_ms >= boot_by_ms {
                return Err(Closed::SendBy);
            }
        }
        if boot_ms >= self.over_boot_ms {
            Err(Closed::Over)
        } else {
            Ok(())
        }
    }
}

/// Finds the empty line that ends a request's head, across writes.
#[derive(Default)]
struct EndOfHead {
    matched: usize,
}

impl EndOfHead {
    /// How many of `bytes` belong to the head, where it ends within them.
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        const END: &[u8; 4] = b"\r\n\r\n";
        for (at, byte) in bytes.iter().enumerate() {
            self.matched = match (*byte == END[self.matched], *byte) {
                (true, _) => self.matched + 1,
                (false, b'\r') => 1,
                (false, _) => 0,
            };
            if self.matched == END.len() {
                return Some(at + 1);
            }
        }
        None
    }
}

/// Follows an answer far enough to tell interim heads from the final one.
#[derive(Default)]
struct AnswerHead {
    part: Part,
    line: Vec<u8>,
    empty_line: bool,
    interim: u32,
    head_bytes: u64,
    began_early: bool,
    early: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    /// Within the first bytes of a status line, `HTTP/1.1 200`.
    #[default]
    Status,
    Interim,
    Final,
    Body,
}

impl AnswerHead {
    /// `HTTP/1.1 ` and three digits.
    const STATUS_BYTES: usize = 12;

    fn read(&mut self, bytes: &[u8], request_whole: bool) {
        for byte in bytes {
            match self.part {
                Part::Body => return,
                Part::Status => self.status(*byte, request_whole),
                Part::Interim | Part::Final => self.header(*byte),
            }
        }
    }

    fn status(&mut self, byte: u8, request_whole: bool) {
        if self.line.is_empty() {
            if matches!(byte, b'\r' | b'\n') {
                return;
            }
            self.began_early = !request_whole;
        }
        self.line.push(byte);
        self.head_bytes += 1;
        if self.line.len() < Self::STATUS_BYTES {
            return;
        }
        let interim = self.line[9] == b'1' && !self.line.ends_with(b"101");
        self.part = if interim { Part::Interim } else { Part::Final };
        self.early = !interim && self.began_early;
        self.interim += u32::from(interim);
        self.empty_line = false;
        self.line.clear();
    }

    fn header(&mut self, byte: u8) {
        self.head_bytes += 1;
        match byte {
            b'\n' if self.empty_line => {
                self.part = if self.part == Part::Interim {
                    Part::Status
                } else {
                    Part::Body
                };
            }
            b'\n' => self.empty_line = true,
            b'\r' => {}
            _ => self.empty_line = false,
        }
    }
}

#[cfg(test)]
mod tests;
