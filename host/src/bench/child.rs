//! Load and destination as processes of their own: this program again, with a command that `--help` does not show, as the
//! host is started too. So the host's CPU time and memory are the host's.

use super::load::Load;
use super::records::{Delivery, Effect};
use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// The load's command, and the destination's.
pub const LOAD: &str = "bench-load";
/// The same.
pub const DESTINATION: &str = "bench-destination";

/// A running destination. It ends with its standard input, so also when this process is killed.
pub struct Destination {
    child: Child,
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// `127.0.0.1:PORT`
    pub address: String,
}

impl Destination {
    /// Starts one.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(DESTINATION)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the destination")?;
        let piped = child.stdin.take().zip(child.stdout.take());
        let (words, answers) = piped.context("the destination has no pipes")?;
        let mut destination = Self {
            child,
            words,
            answers: BufReader::new(answers),
            address: String::new(),
        };
        destination.address = destination.line()?;
        Ok(destination)
    }

    /// How many requests came so far.
    ///
    /// # Errors
    /// It does not answer.
    pub fn count(&mut self) -> anyhow::Result<u64> {
        self.ask("count")
    }

    /// What came under each key; it is forgotten there.
    ///
    /// # Errors
    /// It does not answer.
    pub fn take(&mut self) -> anyhow::Result<Vec<Effect>> {
        let keys = self.ask("take")?;
        (0..keys)
            .map(|_| Effect::parse(&self.line()?).context("the destination does not say what happened"))
            .collect()
    }

    fn ask(&mut self, word: &str) -> anyhow::Result<u64> {
        writeln!(self.words, "{word}").context("the destination is gone")?;
        self.line()?.parse().context("the destination does not count")
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(line.ends_with('\n'), "the destination ended");
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a load and returns what became of each webhook. It ends by itself, for a load is bounded.
///
/// # Errors
/// It could not be sent.
pub fn send(load: &Load) -> anyhow::Result<Vec<Delivery>> {
    let output = sender(load)?.output().context("cannot start the load")?;
    ensure!(output.status.success(), "the load ended badly ({})", output.status);
    let lines = String::from_utf8(output.stdout).context("the load does not say what it saw")?;
    lines.lines().map(delivery).collect()
}

/// A load that is being sent.
pub struct Sending {
    child: Child,
    seen: Receiver<anyhow::Result<Delivery>>,
    reader: Option<JoinHandle<()>>,
}

impl Sending {
    /// Begins to send.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn begin(load: &Load) -> anyhow::Result<Self> {
        let mut child = sender(load)?
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the load")?;
        let lines = child.stdout.take().context("the load has no pipe")?;
        let (saw, seen) = channel();
        // It ends with the load, whose pipe must not fill.
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(lines).lines() {
                let seen = line.context("the load cannot be read").and_then(|line| delivery(&line));
                if saw.send(seen).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            seen,
            reader: Some(reader),
        })
    }

    /// What was answered since the last look.
    ///
    /// # Errors
    /// The load does not say what it saw.
    pub fn seen(&self) -> anyhow::Result<Vec<Delivery>> {
        self.seen.try_iter().collect()
    }

    /// Whether all is sent and told; ask before [`Sending::seen`] is called for the last time.
    ///
    /// # Errors
    /// It ended badly.
    pub fn is_over(&mut self) -> anyhow::Result<bool> {
        let Some(status) = self.child.try_wait()? else {
            return Ok(false);
        };
        ensure!(status.success(), "the load ended badly ({status})");
        // What it said last is still on its way.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        Ok(true)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sender(load: &Load) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(LOAD)
        .args(load.hosts.iter().map(|host| format!("--host={host}")))
        .args(["--hook", &load.hook])
        .args(["--first", &load.first.to_string()])
        .args(["--events", &load.events.to_string()])
        .args(["--concurrency", &load.concurrency.to_string()])
        .args(["--ms-max", &load.ms_max.to_string()])
        .args(["--per-s", &load.per_s.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    Ok(command)
}

fn delivery(line: &str) -> anyhow::Result<Delivery> {
    Delivery::parse(line).context("the load does not say what it saw")
}
