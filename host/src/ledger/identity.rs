//! Who this host is, over all its starts: an id of its own in the data directory, made at the first start. On a database that
//! several share it tells the intents of this host from those of another.

use oncegate_domain::id::Id;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const FILE: &str = "host";

/// The identity of the host of this data directory. `new` is its id where it has none yet.
///
/// # Errors
/// The file cannot be read or made, or holds something else. It is never guessed at: two hosts with one identity would
/// take each other's work.
pub(super) fn of(dir: &Path, new: Id) -> Result<Id, String> {
    let path = dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().map_err(|_| {
            format!(
                "{} does not hold the id of this host; bring it back, or remove it, and this is another host from now on",
                path.display()
            )
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => match keep(&path, new) {
            // A host must come up on a full disk as well: then only can what it has begun end. It has this id for one start.
            Err(error) if error.kind() == ErrorKind::StorageFull => Ok(new),
            Ok(()) => Ok(new),
            Err(error) => Err(format!("{} cannot be written: {error}", path.display())),
        },
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

/// Written whole or not at all.
fn keep(path: &Path, id: Id) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)?;
    file.write_all(format!("{id}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_keeps_its_id_and_what_is_none_is_not_guessed_at() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (Id::from_bytes([1; 16]), Id::from_bytes([2; 16]));
        assert_eq!(of(dir.path(), first), Ok(first));
        assert_eq!(of(dir.path(), second), Ok(first));
        fs::write(dir.path().join(FILE), "somebody").unwrap();
        assert!(of(dir.path(), second).unwrap_err().contains("bring it back"));
        fs::remove_file(dir.path().join(FILE)).unwrap();
        assert_eq!(of(dir.path(), second), Ok(second));
    }
}
