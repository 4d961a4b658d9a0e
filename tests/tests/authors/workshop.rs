//! Where the connectors of these tests are made, one after the other in one folder: a connector's path is part of how its
//! dependencies are compiled, so that each folder of its own would compile them all once more.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

const PROGRAM: &str = env!("CARGO_BIN_EXE_host-under-test");
/// What every connector made here is called, for the same reason.
pub const NAME: &str = "invoices";

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A connector that is being made. While it is held, no other is.
pub struct Workshop {
    _turn: MutexGuard<'static, ()>,
}

/// Whether connectors can be compiled here; says so where they cannot.
///
/// # Panics
/// They cannot, and must.
pub fn can_compile() -> bool {
    let can = oncegate::build::can_build(Path::new(env!("CARGO_MANIFEST_DIR")));
    let must = std::env::var("ONCEGATE_TEST_AUTHORS").is_ok_and(|value| value == "1");
    assert!(
        can || !must,
        "ONCEGATE_TEST_AUTHORS=1, and there is no compiler for WebAssembly; scripts/build-connectors makes one"
    );
    if !can {
        // Not `eprintln`, whose words a test that passes keeps to itself.
        let said = "SKIPPED: there is no compiler for WebAssembly here; `rustup target add wasm32-unknown-unknown` installs one\n";
        std::io::stderr().write_all(said.as_bytes()).unwrap();
    }
    can
}

impl Workshop {
    /// Begins a connector as `connector new` does.
    pub fn begin(template: &str) -> Workshop {
        // Another test that failed leaves nothing behind that this one would use.
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = fs::remove_dir_all(crate_folder());
        fs::create_dir_all(bench()).unwrap();
        let mut command = oncegate(&["connector", "new", NAME, "--template", template, "--in"]);
        succeeded(command.arg(bench()).output().unwrap());
        // The versions that this workspace uses: nothing is resolved anew, and nothing else needs to be downloaded.
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
        fs::copy(lock, crate_folder().join("Cargo.lock")).unwrap();
        Workshop { _turn: turn }
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(crate_folder().join(file)).unwrap()
    }

    pub fn write(&self, file: &str, text: &str) {
        fs::write(crate_folder().join(file), text).unwrap();
    }

    /// `cargo test`, as an author runs it; no warning either.
    pub fn test(&self) {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.arg("test").current_dir(crate_folder());
        let output = succeeded(in_target(command).output().unwrap());
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("test tests::"), "it has no tests of its own: {said}");
        let warned = String::from_utf8_lossy(&output.stderr);
        assert!(!warned.contains("warning"), "{warned}");
    }

    /// `connector build`: the component, under a name of its own, and what was said.
    pub fn build(&self, kept_as: &str) -> (PathBuf, String) {
        let file = bench().join(kept_as).with_extension("wasm");
        let mut command = oncegate(&["connector", "build", ".", "--out"]);
        command.arg(&file).current_dir(crate_folder());
        let output = succeeded(in_target(command).output().unwrap());
        (file, String::from_utf8(output.stdout).unwrap())
    }
}

/// `drill`: whether every case passed, and what was said.
pub fn drill(file: &Path) -> (bool, String) {
    let output = oncegate(&["drill", "--connector"]).arg(file).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.success(), said)
}

fn bench() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("authors")
}

fn crate_folder() -> PathBuf {
    bench().join(NAME)
}

fn oncegate(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// One target folder for all, kept from one run of the tests to the next.
fn in_target(mut command: Command) -> Command {
    command.env("CARGO_TARGET_DIR", bench().join("target"));
    command
}

fn succeeded(output: Output) -> Output {
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
