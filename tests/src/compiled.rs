//! Compiled connectors, kept for all hosts and commands of one test process.

use oncegate::runtime::{Runtime, RuntimeLimits};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Compiled connectors of an earlier test of this process. A host of its own for each test is dear otherwise.
static COMPILED: Mutex<Option<TempDir>> = Mutex::new(None);

/// A runtime that keeps what it compiles for every host that this process starts from now on: a connector that brings an
/// interpreter takes longer to compile than a test waits for anything.
///
/// # Panics
/// There is none to be had.
pub fn runtime_ahead() -> Runtime {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = compiled.get_or_insert_with(private_dir);
    Runtime::new(RuntimeLimits::default(), Some(folder.path())).unwrap()
}

/// A user's cache folder, in which commands find what was compiled in this process so far.
///
/// # Panics
/// There is none to be had.
pub fn user_cache() -> TempDir {
    let caches = private_dir();
    give(&caches.path().join("oncegate-compiled"));
    caches
}

/// The runtime takes compiled code from nowhere else.
fn private_dir() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let private = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(private).tempdir().unwrap()
}

/// Copies what there is into a folder of compiled code.
pub(crate) fn give(cache: &Path) {
    let compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(from) = compiled.as_ref() {
        copy_folder(from.path(), cache);
    }
}

/// Keeps what a host has compiled, where nothing is kept yet.
pub(crate) fn keep(data: &Path) {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.is_none() {
        let kept = private_dir();
        copy_folder(&data.join("cache"), kept.path());
        *compiled = Some(kept);
    }
}

fn copy_folder(from: &Path, to: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    if !to.exists() {
        std::fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    }
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let target: PathBuf = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            // A file that the cache is just writing under another name may be gone by now.
            let _ = std::fs::copy(entry.path(), target);
        }
    }
}
