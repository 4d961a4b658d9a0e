//! Finding a compiler for wasm32-unknown-unknown: the author's own, or the one that scripts/wasm-toolchain made.

use super::BuildError;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The target that connectors are compiled for.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";

/// What cargo must be told so that it can build for the target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Toolchain {
    /// `RUSTC`
    pub(super) rustc: Option<PathBuf>,
    /// `CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER`
    pub(super) linker: Option<PathBuf>,
}

/// Looks where it costs nothing first, and lets rustup download the target only when there is no other way.
pub(super) fn find(dir: &Path) -> Result<Toolchain, BuildError> {
    if let Some(toolchain) = find_here(dir)? {
        return Ok(toolchain);
    }
    let why = match add_target(dir) {
        Ok(()) if has_target(dir)? => return Ok(Toolchain::default()),
        Ok(()) => "it said it had, and the target is still not there".to_owned(),
        Err(why) => why,
    };
    let folder = made_folder().map_or("no folder, for HOME is not set".to_owned(), |folder| {
        folder.display().to_string()
    });
    Err(BuildError::NoTarget { why, folder })
}

/// What is on this machine already.
pub(super) fn find_here(dir: &Path) -> Result<Option<Toolchain>, BuildError> {
    if has_target(dir)? {
        return Ok(Some(Toolchain::default()));
    }
    Ok(made_folder().as_deref().and_then(made))
}

/// Whether the compiler that cargo would use in this folder has the target's standard library.
fn has_target(dir: &Path) -> Result<bool, BuildError> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&program)
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(dir)
        .output();
    let output = output.map_err(|error| BuildError::Program {
        program: program.to_string_lossy().into_owned(),
        why: error.to_string(),
    })?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let std_there = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("libstd-");
    Ok(output.status.success() && std::fs::read_dir(libraries).is_ok_and(|entries| entries.flatten().any(std_there)))
}

/// Where scripts/wasm-toolchain puts its result.
fn made_folder() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("ONCEGATE_WASM_TOOLCHAIN").or_else(|| {
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
        Some(cache.join("oncegate").join("wasm-toolchain"))
    })
}

/// The toolchain in such a folder; `recipe` is the file that the script writes last.
fn made(folder: &Path) -> Option<Toolchain> {
    let (rustc, linker) = (folder.join("bin/rustc"), folder.join("bin/rust-lld"));
    let whole = rustc.is_file() && linker.exists() && folder.join("recipe").is_file();
    whole.then_some(Toolchain {
        rustc: Some(rustc),
        linker: Some(linker),
    })
}

fn add_target(dir: &Path) -> Result<(), String> {
    eprintln!("the Rust target {TARGET} is missing; asking rustup to install it");
    let output = Command::new("rustup")
        .args(["target", "add", TARGET])
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`rustup` cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it failed without a word");
    Err(last.trim().chars().take(300).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_made_by_the_script_counts_only_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("bin")).unwrap();
        std::fs::write(dir.path().join("bin/rustc"), "").unwrap();
        std::fs::write(dir.path().join("bin/rust-lld"), "").unwrap();
        assert_eq!(made(dir.path()), None);
        std::fs::write(dir.path().join("recipe"), "1").unwrap();
        assert_eq!(made(dir.path()).unwrap().rustc.unwrap(), dir.path().join("bin/rustc"));
    }
}
