//! A host in a process of its own, on the machine's clock, so that it can be killed and stopped.

use crate::client::{Answer, Client};
use crate::data::{database, prepare, prepare_embedded, prepare_sharing};
use crate::disk::Disk;
use crate::flushes;
use crate::folder::{Folder, HOOK_SECRET};
use crate::wait::{LOOK_EVERY, PATIENCE, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// A host process and its data.
pub struct ChildHost {
    program: PathBuf,
    data: TempDir,
    /// Where it and a [`Disk`] speak to each other.
    disk: Option<PathBuf>,
    child: Option<Child>,
    /// Speaks to it, as long as it is up.
    pub client: Client,
}

impl ChildHost {
    /// Starts `program` (the path that cargo tells an integration test: `env!("CARGO_BIN_EXE_host-under-test")`) on new
    /// data, with this folder.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn start(program: &str, folder: &Folder) -> ChildHost {
        ChildHost::start_with(program, folder, None).await
    }

    /// The same on a disk that flushes as the test lets it.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn start_on(disk: &Disk, program: &str, folder: &Folder) -> ChildHost {
        ChildHost::start_with(program, folder, Some(disk.folder().to_owned())).await
    }

    async fn start_with(program: &str, folder: &Folder, disk: Option<PathBuf>) -> ChildHost {
        let data = tempfile::tempdir().unwrap();
        match disk {
            // The disk of the embedded ledger, whatever the other tests run on.
            Some(_) => prepare_embedded(data.path()),
            None => prepare(data.path()).await,
        }
        ChildHost::start_on_data(data, program, folder, disk).await
    }

    /// One of several hosts: on new data, and a database that others have as well.
    pub async fn start_sharing(program: &str, folder: &Folder, database: &str, lease_ms: u64) -> ChildHost {
        let data = tempfile::tempdir().unwrap();
        prepare_sharing(data.path(), database, lease_ms);
        ChildHost::start_on_data(data, program, folder, None).await
    }

    async fn start_on_data(data: TempDir, program: &str, folder: &Folder, disk: Option<PathBuf>) -> ChildHost {
        let program = PathBuf::from(program);
        let (child, client) = come_up(&program, data.path(), Some(folder.path()), disk.as_deref()).await;
        ChildHost {
            program,
            data,
            disk,
            child: Some(child),
            client,
        }
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// SIGKILL: no farewell, no flush.
    ///
    /// # Panics
    /// It is not up.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// SIGTERM, and waits for its end; whether it ended well.
    ///
    /// # Panics
    /// It is not up, or does not end.
    pub async fn terminate(&mut self) -> bool {
        self.signal(Signal::TERM);
        let child = Mutex::new(self.child.take().unwrap());
        let ended = || std::future::ready(child.lock().unwrap().try_wait().unwrap());
        eventually("the host ends", ended).await.success()
    }

    /// How much memory it has (`VmRSS`), in megabytes of 10⁶ bytes.
    ///
    /// # Panics
    /// It is not up.
    pub fn memory_mb(&self) -> u64 {
        let id = self.child.as_ref().map(Child::id).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        kib.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024 / 1_000_000
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// It is not up.
    pub fn signal(&self, signal: Signal) {
        let pid = self.child.as_ref().map(Child::id).and_then(|id| i32::try_from(id).ok());
        kill_process(pid.and_then(Pid::from_raw).unwrap(), signal).unwrap();
    }

    /// Comes up again on the same data.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn come_up(&mut self) {
        let (child, client) = come_up(&self.program, self.data.path(), None, self.disk.as_deref()).await;
        (self.child, self.client) = (Some(child), client);
    }

    /// Delivers an order to a verified hook.
    ///
    /// # Errors
    /// No whole answer came.
    pub async fn order(&self, hook: &str, id: &str) -> io::Result<Answer> {
        let body = json!({ "order": { "id": id } }).to_string();
        self.client.deliver(hook, Some(HOOK_SECRET), &body).await
    }

    /// Waits until the run of a key is done or in front of a person; the run as the API shows it.
    ///
    /// # Panics
    /// It does not get there.
    pub async fn settled(&self, key: &str) -> Value {
        eventually("the run has come to an end or to a person", || async {
            let runs = self.client.get(&format!("runs?text={key}")).await;
            let run = runs["items"].as_array()?.iter().find(|run| run["key"] == key)?.clone();
            let settled = ["completed", "failed", "cancelled", "needs_review"];
            if !settled.contains(&run["state"].as_str()?) {
                return None;
            }
            Some(self.client.get(&format!("runs/{}", run["id"].as_str()?)).await)
        })
        .await
    }
}

impl Drop for ChildHost {
    /// A test that fails half way leaves no host behind.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

async fn come_up(program: &Path, data: &Path, folder: Option<&Path>, disk: Option<&Path>) -> (Child, Client) {
    let _ = std::fs::remove_file(data.join("address"));
    let log_path = data.join("host.log");
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&log_path)
        .unwrap();
    let mut command = Command::new(program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    if let Some(folder) = folder {
        command.arg("--apply").arg(folder);
    }
    command.envs(disk.map(|disk| (flushes::FOLDER, disk)));
    if let Some(database) = database(data) {
        command.env("ONCEGATE_DATABASE", database);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child = command.spawn().unwrap();
    let up = async {
        loop {
            let ended = child.try_wait().unwrap();
            if let Some(client) = ready(data, folder.is_some()).await {
                return Ok(client);
            }
            if let Some(status) = ended {
                return Err(status);
            }
            sleep(LOOK_EVERY).await;
        }
    };
    match timeout(PATIENCE, up).await {
        Ok(Ok(client)) => (child, client),
        failed => {
            let _ = child.kill();
            let log = std::fs::read_to_string(&log_path).unwrap_or_default();
            panic!("the host does not come up ({failed:?}):\n{log}");
        }
    }
}

/// The host answers, and, where it was given some, its hooks are there.
async fn ready(data: &Path, with_flows: bool) -> Option<Client> {
    let read = |name: &str| Some(std::fs::read_to_string(data.join(name)).ok()?.trim().to_owned());
    let client = Client {
        address: read("address")?.parse().ok()?,
        token: read("token")?,
    };
    let answer = crate::client::request(client.address, "GET", "/readyz", &[], b"")
        .await
        .ok()?;
    if answer.status != 200 {
        return None;
    }
    let flows = client.get("flows").await;
    let hooks = flows["items"]
        .as_array()?
        .iter()
        .filter(|flow| flow["hook"].is_string())
        .count();
    (!with_flows || hooks > 0).then_some(client)
}
