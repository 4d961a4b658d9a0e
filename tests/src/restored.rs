//! A ledger that is copied, and put back when it is out of date.

use crate::data::database;
use crate::host::TestHost;
use std::path::PathBuf;

/// A copy of the ledger of a host that is down.
pub struct LedgerCopy(Copied);

enum Copied {
    File(Vec<u8>),
    Database(String),
}

impl TestHost {
    /// Copies the ledger; the host is down.
    ///
    /// # Panics
    /// It cannot be copied.
    pub async fn copy_ledger(&self) -> LedgerCopy {
        LedgerCopy(match database(self.data()) {
            Some(url) => Copied::Database(oncegate_test_database::copy_of(&url).await),
            None => Copied::File(std::fs::read(self.ledger_file()).unwrap()),
        })
    }

    /// Puts a copy in the place of the ledger; the host is down.
    ///
    /// # Panics
    /// It cannot be put there.
    pub async fn put_ledger_back(&self, copy: LedgerCopy) {
        match (copy.0, database(self.data())) {
            (Copied::File(bytes), None) => std::fs::write(self.ledger_file(), bytes).unwrap(),
            (Copied::Database(copy), Some(url)) => oncegate_test_database::put_back(&copy, &url).await,
            (Copied::File(_), Some(_)) | (Copied::Database(_), None) => panic!("a copy of another ledger"),
        }
    }

    /// The ledger becomes another file with the same content, as when it is moved to another disk; the host is down.
    ///
    /// # Panics
    /// It cannot be copied.
    pub fn move_ledger(&self) {
        let (file, moved) = (self.ledger_file(), self.data().join("moved.db"));
        std::fs::copy(&file, &moved).unwrap();
        std::fs::rename(moved, file).unwrap();
    }

    fn ledger_file(&self) -> PathBuf {
        self.data().join("ledger.db")
    }
}
