//! A server of our own.

use std::io::Write;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a server may take to answer.
const START_TRIES: u32 = 300;
const START_PAUSE: Duration = Duration::from_millis(100);

/// Whoever holds this shell's input holds the server: when the process of the tests is gone, however it went, the input
/// ends, and the server is stopped and its folder removed. It flushes like any other: a host refuses one that does not. Told to
/// crash, it goes at once and without a checkpoint, and comes up again when told to.
const HOLD: &str = r#"
begin() {
    "$BIN/postgres" -D "$DIR/data" -k "$DIR" -h '' -c max_connections=400 -c autovacuum=off >"$DIR/log" 2>&1 &
    server=$!
}
begin
while read -r word; do
    case $word in
        crash) kill -QUIT $server; wait $server; echo crashed >"$DIR/log" ;;
        begin) begin ;;
    esac
done
kill -INT $server
wait $server
rm -rf "$DIR"
"#;

/// A running server. Dropped, it goes, and its databases with it.
#[derive(Debug)]
pub struct Server {
    holder: Child,
    dir: PathBuf,
}

impl Server {
    /// Starts one.
    ///
    /// # Errors
    /// None is installed, or it does not come up.
    pub fn start() -> Result<Self, String> {
        let (bin, dir) = (bin()?, made()?);
        let mut holder = Command::new("sh");
        holder.args(["-c", HOLD]).stdin(Stdio::piped());
        holder.stdout(Stdio::null()).stderr(Stdio::null());
        holder.env("BIN", &bin).env("DIR", &dir).process_group(0);
        as_user(&mut holder, &dir);
        let holder = holder.spawn().map_err(|error| format!("no shell: {error}"))?;
        let server = Self { holder, dir };
        server.wait_for("ready to accept connections")?;
        Ok(server)
    }

    /// The address of its first database.
    pub fn address(&self) -> String {
        let socket = self.dir.display().to_string().replace('/', "%2F");
        format!("postgres://oncegate@{socket}/postgres")
    }

    /// Ends it as a loss of power would, but for what the system has in memory.
    ///
    /// # Errors
    /// It does not end.
    pub fn crash(&mut self) -> Result<(), String> {
        self.tell("crash")?;
        self.wait_for("crashed")
    }

    /// Starts it again after a crash; it recovers what was committed.
    ///
    /// # Errors
    /// It does not come up.
    pub fn come_up(&mut self) -> Result<(), String> {
        self.tell("begin")?;
        self.wait_for("ready to accept connections")
    }

    fn tell(&mut self, word: &str) -> Result<(), String> {
        let input = self.holder.stdin.as_mut().ok_or("the shell has no input")?;
        writeln!(input, "{word}").map_err(|error| format!("the shell is gone: {error}"))
    }

    fn wait_for(&self, word: &str) -> Result<(), String> {
        let log = self.dir.join("log");
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        for _ in 0..START_TRIES {
            if said().contains(word) {
                return Ok(());
            }
            std::thread::sleep(START_PAUSE);
        }
        Err(format!("the server does not say {word:?}: {}", said()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// A folder with a new cluster in it.
fn made() -> Result<PathBuf, String> {
    let dir = tempfile::Builder::new()
        .prefix("oncegate-postgres-")
        .tempdir()
        .map_err(|error| format!("no temporary folder: {error}"))?
        .keep();
    let user = user();
    if let Some(user) = user {
        // PostgreSQL refuses to run as root.
        chown(&dir, Some(user), Some(user)).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    let mut initdb = Command::new(bin()?.join("initdb"));
    initdb.args([
        "--no-sync",
        "--auth=trust",
        "--username=oncegate",
        "--encoding=UTF8",
        "-D",
    ]);
    initdb.arg(dir.join("data"));
    as_user(&mut initdb, &dir);
    let made = initdb
        .output()
        .map_err(|error| format!("initdb does not start: {error}"))?;
    if !made.status.success() {
        return Err(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr)));
    }
    Ok(dir)
}

fn as_user(command: &mut Command, dir: &Path) {
    command.current_dir(dir).env("LC_ALL", "C");
    if let Some(user) = user() {
        command.uid(user).gid(user);
    }
}

/// The folder of the server's programs: in PATH, else where Debian keeps each version.
fn bin() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    versions.sort();
    versions
        .into_iter()
        .rev()
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
        .ok_or_else(|| "initdb and postgres are neither in PATH nor below /usr/lib/postgresql".to_owned())
}

/// Who the server runs as where we are root: anybody else.
fn user() -> Option<u32> {
    const NOBODY: u32 = 65_534;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    is_root.then_some(NOBODY)
}
