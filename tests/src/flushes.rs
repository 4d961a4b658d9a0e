//! Inside a host under test: every flush of the ledger's log is written down and, where a test wants it, held up. The test's
//! side is [`crate::Disk`].
//!
//! SQLite reaches the disk through a table of functions; the one that flushes is put behind another. Nothing of the host is
//! changed for it, so what is counted is what a disk would see.
#![allow(unsafe_code, reason = "SQLite's table of functions is that of a C library")]

use libsqlite3_sys::{
    SQLITE_OK, SQLITE_OPEN_WAL, sqlite3_file, sqlite3_filename, sqlite3_initialize, sqlite3_io_methods, sqlite3_vfs,
    sqlite3_vfs_find,
};
use std::ffi::c_int;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::ptr::null;
use std::sync::OnceLock;
use std::time::Duration;

/// Names the folder over which test and host speak.
pub const FOLDER: &str = "ONCEGATE_TEST_FLUSHES";
/// In it: how many flushes may happen in all; without the file, any number.
pub const ALLOWED: &str = "allowed";
/// Exists while a flush is held up; holds its number, from 1.
pub const ASKED: &str = "asked";
/// One line per flush that is done: how long the log was.
pub const DONE: &str = "done";

/// How often the test is asked again.
const LOOK_EVERY: Duration = Duration::from_millis(1);

static PLACES: OnceLock<Places> = OnceLock::new();

type Open = unsafe extern "C" fn(*mut sqlite3_vfs, sqlite3_filename, *mut sqlite3_file, c_int, *mut c_int) -> c_int;
type Sync = unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int;

struct Places {
    folder: PathBuf,
    open: Open,
    /// All logs are opened through the same functions.
    methods: OnceLock<sqlite3_io_methods>,
}

/// Puts itself between SQLite and the disk, if the environment says so. To be called before anything else.
///
/// # Panics
/// SQLite has no file system.
pub fn watch() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    // SAFETY: the library is initialised, nobody else uses it yet, and its default file system lives as long as it does.
    unsafe {
        assert_eq!(sqlite3_initialize(), SQLITE_OK);
        let vfs = sqlite3_vfs_find(null()).as_mut().expect("SQLite has a file system");
        let open = vfs.xOpen.replace(open).expect("which opens files");
        let _ = PLACES.set(Places {
            folder: folder.into(),
            open,
            methods: OnceLock::new(),
        });
    }
}

fn places() -> &'static Places {
    PLACES.get().expect("they are set before anything is opened")
}

/// Opens a file; the log gets functions of its own.
unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let places = places();
    // SAFETY: the arguments are SQLite's own. A file that was opened has functions, and they are never freed.
    unsafe {
        let opened = (places.open)(vfs, name, file, flags, flags_out);
        if opened == SQLITE_OK && flags & SQLITE_OPEN_WAL != 0 {
            let methods = places.methods.get_or_init(|| *(*file).pMethods);
            let watched = sqlite3_io_methods {
                xSync: Some(flush as Sync),
                ..*methods
            };
            (*file).pMethods = Box::leak(Box::new(watched));
        }
        opened
    }
}

/// Flushes the log once the test allows it, and says so.
unsafe extern "C" fn flush(file: *mut sqlite3_file, flags: c_int) -> c_int {
    let places = places();
    let methods = places.methods.get().expect("a log was opened");
    places.wait_for_leave();
    // SAFETY: the arguments are SQLite's own, and so are the functions.
    unsafe {
        let flushed = methods.xSync.map_or(SQLITE_OK, |sync| sync(file, flags));
        let mut bytes = 0;
        if flushed == SQLITE_OK
            && methods
                .xFileSize
                .is_some_and(|size| size(file, &raw mut bytes) == SQLITE_OK)
        {
            places.done(bytes);
        }
        flushed
    }
}

impl Places {
    /// Only the writer flushes, so there is one flush at a time.
    fn wait_for_leave(&self) {
        let number = 1 + fs::read_to_string(self.folder.join(DONE)).map_or(0, |done| done.lines().count());
        let asked = self.folder.join(ASKED);
        while self.allowed().is_some_and(|allowed| number > allowed) {
            fs::write(&asked, number.to_string()).expect("the test's folder can be written");
            std::thread::sleep(LOOK_EVERY);
        }
        let _ = fs::remove_file(&asked);
    }

    fn allowed(&self) -> Option<usize> {
        fs::read_to_string(self.folder.join(ALLOWED)).ok()?.trim().parse().ok()
    }

    fn done(&self, log_bytes: i64) {
        let file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(DONE));
        let written = file.and_then(|mut file| writeln!(file, "{log_bytes}"));
        written.expect("the test's folder can be written");
    }
}
