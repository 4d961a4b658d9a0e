//! Calling cargo: which package it is, and its two builds.

use super::BuildError;
use super::toolchain::{TARGET, Toolchain};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How connectors are compiled. Given to cargo from outside, so that an author's `Cargo.toml` needs nothing.
pub(super) const PROFILE: [&str; 6] = [
    "profile.release.opt-level=\"s\"",
    "profile.release.lto=true",
    "profile.release.codegen-units=1",
    "profile.release.panic=\"abort\"",
    "profile.release.strip=true",
    "profile.release.debug=false",
];

/// The schemas' build need not be small, only soon done.
const DESCRIBING_PROFILE: [&str; 4] = [
    "profile.release.opt-level=0",
    "profile.release.lto=false",
    "profile.release.panic=\"abort\"",
    "profile.release.debug=false",
];

/// A package that cargo knows.
#[derive(Clone, Debug)]
pub(super) struct Package {
    manifest: PathBuf,
    name: String,
    workspace: PathBuf,
    /// Where the workspace's builds go.
    pub(super) target_dir: PathBuf,
}

/// Which of the two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The core module that tells the schemas.
    Describing,
    /// The core module that becomes the component.
    Component,
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn not_started(error: &std::io::Error) -> BuildError {
    BuildError::Program {
        program: cargo().to_string_lossy().into_owned(),
        why: error.to_string(),
    }
}

/// Asks cargo about the package in a folder.
pub(super) fn find(dir: &Path) -> Result<Package, BuildError> {
    let manifest = dir.join("Cargo.toml");
    let file = manifest.display().to_string();
    let manifest = manifest.canonicalize().map_err(|error| BuildError::Read {
        file: file.clone(),
        why: error.to_string(),
        mend: "name the folder of a connector, where Cargo.toml stands beside connector.toml",
    })?;
    let wrong = |what: String, mend: &str| BuildError::Package {
        file: file.clone(),
        what,
        mend: mend.to_owned(),
    };
    let output = Command::new(cargo())
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(&manifest)
        .output()
        .map_err(|error| not_started(&error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(wrong(format!("cargo cannot read it:\n{said}"), "what cargo says"));
    }
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        wrong(
            format!("what cargo says of it cannot be read: {error}"),
            "use a cargo of this year",
        )
    })?;
    let package = package_in(&answer, &manifest).ok_or_else(|| {
        wrong(
            "it is no package".into(),
            "name the folder of the connector itself, not of its workspace",
        )
    })?;
    if !makes_cdylib(package) {
        return Err(wrong(
            "its library is no `cdylib`".into(),
            "add to it:\n    [lib]\n    crate-type = [\"cdylib\", \"rlib\"]",
        ));
    }
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    Ok(Package {
        name: text(package, "name"),
        workspace: text(&answer, "workspace_root").into(),
        target_dir: text(&answer, "target_directory").into(),
        manifest,
    })
}

fn package_in<'a>(answer: &'a Value, manifest: &Path) -> Option<&'a Value> {
    let same = |package: &&Value| {
        let path = package["manifest_path"].as_str().map(PathBuf::from);
        path.and_then(|path| path.canonicalize().ok())
            .is_some_and(|path| path == manifest)
    };
    answer["packages"].as_array()?.iter().find(same)
}

fn makes_cdylib(package: &Value) -> bool {
    let lists = |value: &Value, word: &str| {
        value
            .as_array()
            .is_some_and(|items| items.iter().any(|item| item == word))
    };
    package["targets"]
        .as_array()
        .is_some_and(|targets| targets.iter().any(|target| lists(&target["crate_types"], "cdylib")))
}

/// Builds the core module and gives its bytes. Both builds share a folder beside the author's own, for compiler and flags
/// are not those of their other builds; cargo tells the two apart by their flags.
pub(super) fn build(package: &Package, toolchain: &Toolchain, which: Which) -> Result<Vec<u8>, BuildError> {
    let what = match which {
        Which::Describing => "the build that tells its schemas",
        Which::Component => "the build of the component",
    };
    let mut command = Command::new(cargo());
    command.args([
        "build",
        "--release",
        "--lib",
        "--target",
        TARGET,
        "--package",
        &package.name,
    ]);
    command.args(["--message-format", "json-render-diagnostics"]);
    command.arg("--manifest-path").arg(&package.manifest);
    command
        .arg("--target-dir")
        .arg(package.target_dir.join("connector-build"));
    let profile: &[&str] = if which == Which::Component {
        &PROFILE
    } else {
        &DESCRIBING_PROFILE
    };
    for setting in profile {
        command.args(["--config", setting]);
    }
    set_environment(&mut command, package, toolchain, which);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| not_started(&error))?;
    if !output.status.success() {
        return Err(BuildError::Compile { what });
    }
    let file = artifact(&output.stdout, &package.manifest).ok_or(BuildError::Compile { what })?;
    std::fs::read(&file).map_err(|error| BuildError::Read {
        file: file.display().to_string(),
        why: error.to_string(),
        mend: "build again; cargo said that it had made this file",
    })
}

fn set_environment(command: &mut Command, package: &Package, toolchain: &Toolchain, which: Which) {
    let mut flags = given_flags();
    if which == Which::Describing {
        flags.extend(["--cfg".into(), "oncegate_describe".into()]);
    }
    // Paths end up in panic messages; a connector's bytes must not tell who built it, nor depend on it.
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=/cargo", home.display())));
    flags.push(format!("--remap-path-prefix={}=/source", package.workspace.display()));
    command
        .env_remove("RUSTFLAGS")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    // Called from `cargo run` or `cargo test`, these speak of the host's own build.
    command.env_remove("CARGO_BUILD_TARGET").env_remove("CARGO_TARGET_DIR");
    if let Some(rustc) = &toolchain.rustc {
        command
            .env("RUSTC", rustc)
            .env_remove("RUSTC_WRAPPER")
            .env_remove("RUSTC_WORKSPACE_WRAPPER");
    }
    if let Some(linker) = &toolchain.linker {
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
}

/// The flags that the author's environment asks for.
fn given_flags() -> Vec<String> {
    let split = |text: String, by: &[char]| {
        text.split(by)
            .filter(|flag| !flag.is_empty())
            .map(str::to_owned)
            .collect()
    };
    match (std::env::var("CARGO_ENCODED_RUSTFLAGS"), std::env::var("RUSTFLAGS")) {
        (Ok(encoded), _) => split(encoded, &['\u{1f}']),
        (Err(_), Ok(flags)) => split(flags, &[' ']),
        (Err(_), Err(_)) => Vec::new(),
    }
}

/// The `.wasm` file of the package, from cargo's messages.
fn artifact(messages: &[u8], manifest: &Path) -> Option<PathBuf> {
    let messages = String::from_utf8_lossy(messages);
    let ours = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| {
            message["reason"] == "compiler-artifact"
                && message["manifest_path"]
                    .as_str()
                    .is_some_and(|path| Path::new(path) == manifest)
        });
    let files = ours
        .filter_map(|message| message["filenames"].as_array().cloned())
        .flatten();
    let mut files = files.filter_map(|file| file.as_str().map(PathBuf::from));
    files.rfind(|file| file.extension().is_some_and(|extension| extension == "wasm"))
}
