//! One look at a secret's file: it lies below the folder, is a regular file of a possible length, and no more than that is
//! read.

use super::{CredentialError, SECRET_BYTES_MAX};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, FileType};
use std::io::{Error, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path};

/// A secret of the longest length with a line end behind it.
const FILE_BYTES_MAX: u64 = SECRET_BYTES_MAX as u64 + 2;

/// What a look at a file came to.
pub(super) struct Looked {
    /// Its text.
    pub(super) text: Result<String, CredentialError>,
    /// It is on a disk of this machine (or in its memory); where it is missing, its folder is.
    pub(super) is_local: bool,
}

/// Looks at a file, named relative to the folder. On a file system that does not answer this may never return.
pub(super) fn look(path: &Path, folder: &Path) -> Looked {
    match open(path, folder) {
        Ok(file) => Looked {
            is_local: is_local(&file),
            text: read(file, path),
        },
        Err(error) => Looked {
            is_local: File::open(folder).is_ok_and(|folder| is_local(&folder)),
            text: Err(error),
        },
    }
}

/// A link inside the folder that leads out of it is outside as well, so the real places are compared.
fn open(path: &Path, folder: &Path) -> Result<File, CredentialError> {
    let outside = || CredentialError::Outside(path.to_owned());
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(outside());
    }
    let folder = folder.canonicalize().map_err(|source| unreadable(path, source))?;
    let real = folder
        .join(path)
        .canonicalize()
        .map_err(|source| unreadable(path, source))?;
    if !real.starts_with(&folder) {
        return Err(outside());
    }
    // Opening a pipe that nobody writes to would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::open(&real, flags, Mode::empty()) {
        Ok(opened) => Ok(File::from(opened)),
        Err(Errno::NXIO) => Err(no_file(path, "a socket, or a device that is not there")),
        Err(errno) => Err(unreadable(path, errno.into())),
    }
}

fn read(file: File, path: &Path) -> Result<String, CredentialError> {
    let failed = |source| unreadable(path, source);
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(no_file(path, kind(found.file_type())));
    }
    let too_long = |bytes| CredentialError::Length {
        place: path.display().to_string(),
        bytes,
    };
    if found.len() > FILE_BYTES_MAX {
        return Err(too_long(found.len()));
    }
    // It may grow while it is read.
    let mut text = String::with_capacity(found.len() as usize + 1);
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    match read.map_err(failed)? as u64 {
        bytes if bytes > FILE_BYTES_MAX => Err(too_long(bytes)),
        _ => Ok(text),
    }
}

fn unreadable(path: &Path, source: Error) -> CredentialError {
    CredentialError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

fn no_file(path: &Path, kind: &'static str) -> CredentialError {
    CredentialError::NoFile {
        path: path.to_owned(),
        kind,
    }
}

fn kind(found: FileType) -> &'static str {
    if found.is_dir() {
        "a folder"
    } else if found.is_fifo() {
        "a pipe (FIFO)"
    } else if found.is_char_device() || found.is_block_device() {
        "a device"
    } else {
        "no regular file"
    }
}

/// File systems that answer as fast as this machine's own disk or memory, by the numbers of statfs(2). A list of these and
/// not of networked ones: what is not known may hang.
#[cfg(target_os = "linux")]
const LOCAL_FILE_SYSTEMS: [u64; 10] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0x2FC1_2FC1, // ZFS
    0xF2F5_2010, // F2FS
    0xCA45_1A4E, // bcachefs
    0x0102_1994, // tmpfs: secrets of Kubernetes and systemd
    0x8584_58F6, // ramfs
    0x794C_7630, // overlayfs: the folders of containers
    0x7371_7368, // SquashFS
];

#[cfg(target_os = "linux")]
fn is_local(file: impl AsFd) -> bool {
    // Some platforms sign-extend the 32-bit number.
    rustix::fs::fstatfs(file).is_ok_and(|stat| LOCAL_FILE_SYSTEMS.contains(&(stat.f_type as u64 & 0xFFFF_FFFF)))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_: impl AsFd) -> bool {
    false
}
