//! The folder with compiled code. Whoever can write there runs code as this process, so it must be this user's alone.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use wasmtime::{Cache, CacheConfig};

use super::RuntimeError;

/// All compiled code together; the oldest goes first. A component with an interpreter takes 40 MB.
const CACHE_BYTES_MAX: u64 = 1 << 30;

pub(super) fn open(path: &Path) -> Result<Cache, RuntimeError> {
    let absolute = checked(path)?;
    let mut config = CacheConfig::new();
    config
        .with_directory(absolute)
        .with_files_total_size_soft_limit(CACHE_BYTES_MAX);
    Cache::new(config).map_err(|error| RuntimeError::CacheFolder {
        path: path.to_owned(),
        why: format!("{error:#}"),
        mend: "Remove it; the host makes it anew and fills it again",
    })
}

/// The folder, made where it is missing, and found to be this user's alone.
pub(super) fn checked(path: &Path) -> Result<PathBuf, RuntimeError> {
    let refuse = |why: String, mend: &'static str| RuntimeError::CacheFolder {
        path: path.to_owned(),
        why,
        mend,
    };
    let failed = |error: std::io::Error| refuse(error.to_string(), "Make it possible to create and read this folder");
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    let found = path.symlink_metadata().map_err(failed)?;
    let user = rustix::process::geteuid().as_raw();
    if !found.is_dir() {
        return Err(refuse(
            "it is not a folder".to_owned(),
            "Move away what is there; the host makes the folder anew",
        ));
    }
    if found.uid() != user {
        return Err(refuse(
            format!(
                "it belongs to user {} and this process runs as user {user}",
                found.uid()
            ),
            "Remove it, or run as its owner; the host makes it anew and fills it again",
        ));
    }
    if found.mode() & 0o077 != 0 {
        return Err(refuse(
            format!("others may use it (mode {:03o})", found.mode() & 0o777),
            "Remove it: others may have put machine code there; the host makes it anew with mode 700 and fills it again",
        ));
    }
    path.canonicalize().map_err(failed)
}
