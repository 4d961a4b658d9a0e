//! Where the file of an embedded ledger lies, so that a copy of it that is started somewhere else is noticed: its lock, its
//! witness and its rows all agree, for they were copied with it.

use rustix::fs::statfs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// File systems on which a file keeps its number and its time of birth for as long as it is that file, whatever is restarted,
/// by the numbers of statfs(2). On any other nothing is noticed, rather than at every start.
const STEADY_FILE_SYSTEMS: &[u64] = &[
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0x2FC1_2FC1, // ZFS
    0xF2F5_2010, // F2FS
    0x0102_1994, // tmpfs
    0x794C_7630, // overlayfs
];

/// What tells this file from any copy of it; `None`: nothing does here. Not the device: its number may be another after each
/// boot. Moving the file within its file system keeps it, moving it to another one makes a new file.
pub(super) fn of(file: &Path) -> Option<String> {
    let kind = statfs(file).ok()?.f_type as u64 & 0xFFFF_FFFF;
    if !STEADY_FILE_SYSTEMS.contains(&kind) {
        return None;
    }
    let stat = file.metadata().ok()?;
    // Not every one keeps the time of birth.
    let born = stat
        .created()
        .ok()
        .and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    let born = born.map(|born| format!("-{}", born.as_nanos()));
    Some(format!("{}{}", stat.ino(), born.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_whereabouts_and_a_copy_has_others() {
        let dir = tempfile::tempdir().unwrap();
        let (file, moved, copy) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
        std::fs::write(&file, "1").unwrap();
        let Some(first) = of(&file) else { return };
        std::fs::write(&file, "another content").unwrap();
        assert_eq!(of(&file).as_ref(), Some(&first));
        std::fs::rename(&file, &moved).unwrap();
        assert_eq!(of(&moved).as_ref(), Some(&first));
        std::fs::copy(&moved, &copy).unwrap();
        assert_ne!(of(&copy), Some(first));
    }
}
