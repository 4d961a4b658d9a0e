//! The host as a process of its own, so that it can be killed in the middle of its work, and so that what
//! it uses is its own. For the demo, the drill and the bench.

use crate::clock::{Clock, SystemClock};
use crate::ledger::Database;
use anyhow::{Context, bail};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The variable that names a host's database.
pub const DATABASE: &str = "ONCEGATE_DATABASE";
/// How long the host may take to come up; the first start compiles a connector, which may bring an interpreter.
const UP_WITHIN: Duration = Duration::from_secs(300);
/// How often it is asked whether it is up: the bench measures by this how long a start takes.
const ASK_AGAIN: Duration = Duration::from_millis(5);
/// How long it may take to end in order: attempts in flight end first.
const STOP_WITHIN: Duration = Duration::from_secs(60);

/// What a host is started with.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Its data directory.
    pub data: &'a Path,
    /// Where its ledger is.
    pub database: &'a Database,
    /// The installation that it applies first.
    pub folder: &'a Path,
    /// Where it listens; port 0: a free one.
    pub listen: &'a str,
    /// In its environment.
    pub secrets: &'a [(&'a str, &'a str)],
    /// Where compiled connectors are kept; `None`: in the data directory.
    pub cache: Option<&'a Path>,
}

/// A running host.
pub struct HostProcess {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
    token: String,
    agent: ureq::Agent,
}

impl HostProcess {
    /// Starts this program as a host, and waits until it is ready. Its log goes to `host.log` in the data directory.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start(with: Start<'_>) -> anyhow::Result<Self> {
        let data = with.data;
        let mut child = spawned(&with)?;
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .build()
            .into();
        let until_ms = SystemClock.boot_ms() + UP_WITHIN.as_millis() as i64;
        loop {
            if let Some(status) = child.try_wait()? {
                bail!(
                    "the host ended at once ({status}); its log is {}",
                    data.join("host.log").display()
                );
            }
            match asked(data, &agent) {
                Asked::NotYet => {}
                Asked::Ready { address, token } => {
                    return Ok(Self {
                        child,
                        address,
                        token,
                        agent,
                    });
                }
                // Waiting would not help: what is wrong is outside of it.
                Asked::Unwell(why) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    bail!("the host came up and cannot work: {why}");
                }
            }
            if SystemClock.boot_ms() > until_ms {
                let _ = child.kill();
                bail!(
                    "the host did not come up in time; its log is {}",
                    data.join("host.log").display()
                );
            }
            thread::sleep(ASK_AGAIN);
        }
    }

    /// SIGKILL: no farewell, no flush.
    ///
    /// # Errors
    /// It cannot be killed.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Tells it to end in order, and waits until it has.
    ///
    /// # Errors
    /// It does not end in time, or not well.
    pub fn stop(mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        let until_ms = SystemClock.boot_ms() + STOP_WITHIN.as_millis() as i64;
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("the host ended badly ({status})"),
                None if SystemClock.boot_ms() > until_ms => bail!("the host did not stop within {STOP_WITHIN:?}"),
                None => thread::sleep(ASK_AGAIN),
            }
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Delivers an event to a hook.
    ///
    /// # Errors
    /// It was not taken in.
    pub fn deliver(&self, hook: &str, body: &Value) -> anyhow::Result<()> {
        let url = format!("http://{}/hooks/{hook}", self.address);
        let request = self.agent.post(&url).header("content-type", "application/json");
        request.send(body.to_string())?;
        Ok(())
    }

    /// What the API says; `path` begins after `/api/v1/`.
    ///
    /// # Errors
    /// It does not answer, or not with JSON.
    pub fn ask(&self, path: &str) -> anyhow::Result<Value> {
        let url = format!("http://{}/api/v1/{path}", self.address);
        let answer = self
            .agent
            .get(&url)
            .header("authorization", format!("Bearer {}", self.token))
            .call()?;
        Ok(serde_json::from_str(&answer.into_body().read_to_string()?)?)
    }
}

impl Drop for HostProcess {
    /// A demo that fails half way leaves no host behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process, which has yet to come up.
fn spawned(with: &Start<'_>) -> anyhow::Result<Child> {
    let data = with.data;
    let _ = std::fs::remove_file(data.join("address"));
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(data.join("host.log"))?;
    let mut command = Command::new(std::env::current_exe()?);
    // Never the database that our own environment may name: what is played here would stand in somebody's ledger.
    match with.database.address() {
        Some(address) => command.env(DATABASE, address),
        None => command.env_remove(DATABASE),
    };
    command
        .arg("serve")
        .arg("--data")
        .arg(data)
        .args(["--listen", with.listen, "--apply"])
        .arg(with.folder)
        .args(
            with.cache
                .into_iter()
                .flat_map(|cache| [OsStr::new("--cache"), cache.as_os_str()]),
        )
        .envs(with.secrets.iter().copied())
        // Its end tells the host that we are gone, however we went.
        .arg("--stop-with-stdin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .context("cannot start the host")
}

/// How a host that was started stands.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    NotYet,
    Ready {
        /// `127.0.0.1:PORT`
        address: String,
        token: String,
    },
    /// It answers that it takes nothing in, and why.
    Unwell(String),
}

fn asked(data: &Path, agent: &ureq::Agent) -> Asked {
    let read = |name: &str| -> Option<String> {
        let path: PathBuf = data.join(name);
        Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
    };
    let Some((address, token)) = read("address").zip(read("token")) else {
        return Asked::NotYet;
    };
    let request = agent.get(format!("http://{address}/readyz"));
    let Ok(answer) = request.config().http_status_as_error(false).build().call() else {
        return Asked::NotYet;
    };
    if answer.status().is_success() {
        return Asked::Ready { address, token };
    }
    let said = answer.into_body().read_to_string().unwrap_or_default();
    let problem: Value = serde_json::from_str(&said).unwrap_or_default();
    Asked::Unwell(problem["detail"].as_str().unwrap_or(&said).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// What is found out of a host that gives this answer.
    fn asked_of(answer: &'static str) -> Asked {
        let data = tempfile::tempdir().unwrap();
        let agent = ureq::Agent::new_with_defaults();
        assert_eq!(asked(data.path(), &agent), Asked::NotYet);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::fs::write(data.path().join("address"), &address).unwrap();
        std::fs::write(data.path().join("token"), "token\n").unwrap();
        let host = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let asked = asked(data.path(), &agent);
        host.join().unwrap();
        asked
    }

    #[test]
    fn a_host_that_is_up_and_takes_nothing_in_is_not_waited_for() {
        let full = "HTTP/1.1 503 x\r\ncontent-type: application/problem+json\r\ncontent-length: 25\r\n\r\n\
                    {\"detail\":\"no room left\"}";
        assert_eq!(asked_of(full), Asked::Unwell("no room left".to_owned()));
        let well = asked_of("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nready\n");
        assert!(matches!(well, Asked::Ready { token, .. } if token == "token"));
    }
}
