//! A server of our own.

use std::io::Read;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a server may take to answer.
const START_TRIES: u32 = 300;
const START_PAUSE: Duration = Duration::from_millis(100);

/// Whoever holds this shell's input holds the server: when the process of the tests is gone, however it went, the input
/// ends, and the server is stopped and its folder removed. It flushes like any other: a host refuses one that does not.
const HOLD: &str = r#"
"$BIN/postgres" -D "$DIR/data" -k "$DIR" -h '' -c max_connections=400 -c autovacuum=off >"$DIR/log" 2>&1 &
server=$!
cat >/dev/null
kill -INT $server
wait $server
rm -rf "$DIR"
"#;

/// Starts a server and returns its address.
pub(crate) fn start() -> Result<String, String> {
    let bin = bin()?;
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
    let as_user = |command: &mut Command| {
        command.current_dir(&dir).env("LC_ALL", "C");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
    };
    let mut initdb = Command::new(bin.join("initdb"));
    initdb.args([
        "--no-sync",
        "--auth=trust",
        "--username=oncegate",
        "--encoding=UTF8",
        "-D",
    ]);
    initdb.arg(dir.join("data"));
    as_user(&mut initdb);
    let made = initdb
        .output()
        .map_err(|error| format!("initdb does not start: {error}"))?;
    if !made.status.success() {
        return Err(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr)));
    }
    let mut shell = Command::new("sh");
    shell
        .args(["-c", HOLD])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    shell.env("BIN", &bin).env("DIR", &dir).process_group(0);
    as_user(&mut shell);
    let shell = shell.spawn().map_err(|error| format!("no shell: {error}"))?;
    // Kept open until this process ends.
    std::mem::forget(shell);
    wait_for(&dir)?;
    let socket = dir.display().to_string().replace('/', "%2F");
    Ok(format!("postgres://oncegate@{socket}/postgres"))
}

fn wait_for(dir: &Path) -> Result<(), String> {
    let log = dir.join("log");
    for _ in 0..START_TRIES {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        if said.contains("ready to accept connections") {
            return Ok(());
        }
        std::thread::sleep(START_PAUSE);
    }
    let mut said = String::new();
    // Whatever it is, an empty log says less than the error above it.
    let _ = std::fs::File::open(log).and_then(|mut log| log.read_to_string(&mut said));
    Err(format!("the server does not come up: {said}"))
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
