//! A file that remembers effects, one JSON line each, so that a destination in a process of its own can be killed,
//! started again and still counts right.
//!
//! The line is handed to the operating system before the effect shows; a killed process loses nothing by that. A power cut
//! may, and no test cuts the power.

use super::judge::Effect;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

pub(super) struct Journal(File);

impl Journal {
    /// Opens or makes the file and reads what it remembers. A last line that a kill has cut off is dropped: its effect
    /// never showed.
    ///
    /// # Errors
    /// Where the file cannot be opened or read, or a line other than the last makes no sense.
    pub fn open(path: &Path) -> io::Result<(Journal, Vec<Effect>)> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut effects = Vec::new();
        let mut reader = BufReader::new(&file);
        let (mut line, mut whole_bytes) = (Vec::new(), 0_u64);
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            effects.push(serde_json::from_slice(&line)?);
            whole_bytes += line.len() as u64;
            line.clear();
        }
        file.set_len(whole_bytes)?;
        Ok((Journal(file), effects))
    }

    /// # Errors
    /// Where the line cannot be written.
    pub fn append(&mut self, effect: &Effect) -> io::Result<()> {
        let mut line = serde_json::to_vec(effect)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }
}
