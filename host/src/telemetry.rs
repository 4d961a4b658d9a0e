//! The log: one line per thing that happened, in business words. Text from outside is escaped by the formatter.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line, for machines.
    Json,
}

/// Starts the log on standard error. `ONCEGATE_LOG` chooses what is shown (default: `info` of this program, `warn` of
/// everything else). A second call changes nothing.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_env("ONCEGATE_LOG").unwrap_or_else(|_| EnvFilter::new("warn,oncegate=info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let started = match format {
        // Colours are for eyes: in a file they hide words from every search.
        LogFormat::Text => builder
            .with_target(false)
            .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
            .try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if started.is_err() {
        tracing::debug!("the log was started before");
    }
}
