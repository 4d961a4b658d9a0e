//! Where commands keep compiled connectors. A command that runs a connector for a moment has a data directory that goes with
//! it; compiling one that brings an interpreter takes most of a minute, and should be done once.

use crate::runtime::check_cache_folder;
use std::path::PathBuf;

/// Right below the user's cache folder, so that no folder between could be changed by somebody else.
const FOLDER: &str = "oncegate-compiled";

/// The folder, ready to be used; `None`, and a word about it, where there is none to be had.
pub fn folder() -> Option<PathBuf> {
    let caches = caches()?;
    let folder = caches.join(FOLDER);
    let made = std::fs::create_dir_all(&caches).map_err(|error| format!("{}: {error}", caches.display()));
    match made.and_then(|()| check_cache_folder(&folder).map_err(|error| error.to_string())) {
        Ok(()) => Some(folder),
        Err(why) => {
            eprintln!("Note: what is compiled is not kept for the next time: {why}");
            None
        }
    }
}

/// Of this user, by the XDG base directory specification: a relative path is none.
fn caches() -> Option<PathBuf> {
    let named = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")))
}
