//! Making the connectors under test, once for all tests of this process.

use crate::HOST;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tokio::sync::OnceCell;

/// How the example of one language becomes a component.
pub struct Language {
    /// Its folder in `sdk`.
    name: &'static str,
    /// Where its tool is, in the folder of the tools.
    tool: &'static str,
    /// The command that the SDK's folder has for it.
    build: [&'static str; 2],
    /// How its files end.
    ending: &'static str,
    /// What its authors may do by mistake, see `odd`.
    odd: &'static str,
    /// `None`: skipped.
    made: &'static OnceCell<Option<Vec<u8>>>,
}

static JAVASCRIPT: OnceCell<Option<Vec<u8>>> = OnceCell::const_new();
static PYTHON: OnceCell<Option<Vec<u8>>> = OnceCell::const_new();

/// `sdk/javascript`.
pub fn javascript() -> Language {
    Language {
        name: "javascript",
        tool: "javascript/node_modules/.bin/componentize-js",
        build: ["npm", "run build"],
        ending: "js",
        odd: include_str!("odd.js"),
        made: &JAVASCRIPT,
    }
}

/// `sdk/python`.
pub fn python() -> Language {
    Language {
        name: "python",
        tool: "python/bin/componentize-py",
        build: ["sh", "build.sh"],
        ending: "py",
        odd: include_str!("odd.py"),
        made: &PYTHON,
    }
}

/// The packed connector; `None`, and a word about it, where there is no tool to make it with.
pub async fn connector(language: &Language) -> Option<Vec<u8>> {
    language.made.get_or_init(|| make(language)).await.clone()
}

/// Past the capture of the test runner, which shows nothing of what a passing test prints.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

async fn make(language: &Language) -> Option<Vec<u8>> {
    let Some(tools) = std::env::var_os("ONCEGATE_GUEST_TOOLS").map(PathBuf::from) else {
        say(&format!(
            "SKIPPED: all tests of sdk/{}, for its tool is not there; set ONCEGATE_GUEST_TOOLS=$(scripts/guest-tools)",
            language.name
        ));
        return None;
    };
    let tool = tools.join(language.tool);
    assert!(
        tool.exists(),
        "{} is not there; run scripts/guest-tools",
        tool.display()
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let work = tempfile::tempdir().unwrap();
    let sdk = work.path().join("sdk").join(language.name);
    copy(&root.join("wit"), &work.path().join("wit"));
    copy(&root.join("sdk").join(language.name), &sdk);
    // One component for both: making and compiling one takes a minute.
    let source = |name: &str| sdk.join("example").join(name).with_extension(language.ending);
    std::fs::rename(source("invoices"), source("the_example")).unwrap();
    std::fs::write(source("invoices"), language.odd).unwrap();

    let began = Instant::now();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", tool.parent().unwrap().display());
    let [program, arguments] = language.build;
    done(
        Command::new(program)
            .args(arguments.split(' '))
            .current_dir(&sdk)
            .env("PATH", path),
    );
    let built = began.elapsed();
    let mut pack = Command::new(HOST);
    pack.args(["connector", "pack", "component.wasm"])
        .current_dir(sdk.join("example"));
    done(&mut pack);
    let wasm = std::fs::read(sdk.join("example/invoices.wasm")).unwrap();

    let began = Instant::now();
    oncegate_tests::compiled::runtime_ahead().load(&wasm).await.unwrap();
    let compiled = began.elapsed();
    let (name, bytes) = (language.name, wasm.len());
    say(&format!(
        "{name}: {bytes} bytes, made in {built:.1?}, compiled in {compiled:.1?}"
    ));
    Some(wasm)
}

fn done(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        said(&output.stdout),
        said(&output.stderr)
    );
}

/// What is in the repository, without what was installed or built beside it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path())).unwrap();
        if name == "node_modules" || name == ".venv" || name == "__pycache__" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(&name));
        } else {
            std::fs::copy(&path, to.join(&name)).unwrap();
        }
    }
}
