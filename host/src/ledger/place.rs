//! The data directory: private, on a local disk, and one host's at a time.

use rustix::fs::{FlockOperation, flock, fstatfs};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// File systems whose locks and flushes cannot be trusted with a ledger, by the numbers of statfs(2).
const NETWORK_FILE_SYSTEMS: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFE53_4D42, "SMB 2"),
    (0xFF53_4D42, "CIFS"),
    (0x5346_414F, "AFS"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
];

/// Makes the directory if need be, closes it to others, and refuses one on a network.
pub(super) fn prepare(dir: &Path) -> Result<(), String> {
    if !dir.exists() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(|error| format!("the directory cannot be made: {error}"))?;
    }
    std::fs::set_permissions(dir, Permissions::from_mode(0o700))
        .map_err(|error| format!("the directory cannot be closed to others (mode 0700): {error}"))?;
    let handle = File::open(dir).map_err(|error| format!("the directory cannot be read: {error}"))?;
    let stat = fstatfs(&handle).map_err(|error| format!("its file system cannot be told: {error}"))?;
    match network_file_system(stat.f_type as u64) {
        Some(name) => Err(format!(
            "it is on a network file system ({name}), where SQLite can lose writes; use a local disk, or PostgreSQL"
        )),
        None => Ok(()),
    }
}

fn network_file_system(kind: u64) -> Option<&'static str> {
    // Some platforms sign-extend the 32-bit number.
    let kind = kind & 0xFFFF_FFFF;
    NETWORK_FILE_SYSTEMS
        .iter()
        .find(|(number, _)| *number == kind)
        .map(|(_, name)| *name)
}

/// Takes the advisory lock of the directory; it is free again when the file is closed, also by a crash.
pub(super) fn lock(dir: &Path) -> Result<Option<File>, String> {
    let path = dir.join("lock");
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path);
    let mut file = opened.map_err(|error| format!("{} cannot be opened: {error}", path.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => return Ok(None),
        Err(error) => return Err(format!("{} cannot be locked: {error}", path.display())),
    }
    // For people only; the lock is the kernel's.
    let noted = file
        .set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(format!("{}\n", std::process::id()).as_bytes()));
    match noted {
        // A host must come up on a full disk as well: only then can what it has begun end.
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {}
        noted => noted.map_err(|error| format!("{} cannot be written: {error}", path.display()))?,
    }
    Ok(Some(file))
}

/// Who holds the lock, as far as the file says.
pub(super) fn holder(dir: &Path) -> String {
    let mut text = String::new();
    let read = File::open(dir.join("lock")).and_then(|file| file.take(32).read_to_string(&mut text));
    let process: Option<u32> = read.ok().and_then(|_| text.trim().parse().ok());
    process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_made_private_and_one_lock_is_given() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("a/b");
        prepare(&dir).unwrap();
        assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        prepare(&dir).unwrap();
        assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);

        let held = lock(&dir).unwrap().unwrap();
        assert!(lock(&dir).unwrap().is_none());
        assert_eq!(holder(&dir), format!("process {}", std::process::id()));
        drop(held);
        assert!(lock(&dir).unwrap().is_some());
    }

    #[test]
    fn network_file_systems_are_known() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        assert_eq!(network_file_system(0xFFFF_FFFF_FF53_4D42), Some("CIFS"));
        assert_eq!(network_file_system(0xEF53), None); // ext4
    }
}
