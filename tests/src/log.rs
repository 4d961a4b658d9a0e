//! What the hosts of this process say in their log, from warnings on: the lines for which somebody is woken at night.

use serde_json::Value;
use std::io;
use std::sync::{Mutex, Once, PoisonError};
use tracing_subscriber::EnvFilter;

static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Ear;

impl io::Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins to listen. Tests of one process share the log: give the connection a name of its own.
///
/// # Panics
/// Something else listens already.
pub fn listen() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_env_filter(EnvFilter::new("off,oncegate=warn"))
            .with_writer(|| Ear)
            .init();
    });
}

/// The level and the message of each line about a connection, in order.
pub fn lines_about(connection: &str) -> Vec<(String, String)> {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = said.split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let about = lines.filter(|line| line["connection"] == connection);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    about
        .map(|line| (text(&line["level"]), text(&line["message"])))
        .collect()
}
