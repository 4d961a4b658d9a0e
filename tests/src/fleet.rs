//! Several hosts on one PostgreSQL database, each in a process and a data directory of its own.

use crate::child::ChildHost;
use crate::data::with_lease;
use crate::folder::Folder;
use oncegate_test_database::new_database;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// How long the lease of a host of a fleet is: as short as it may be.
pub const LEASE_MS: u64 = 2_000;

/// See the module's words.
pub struct Fleet {
    hosts: Vec<ChildHost>,
    /// The address of their database.
    pub database: String,
}

impl Fleet {
    /// So many hosts of `program` that match `folder`.
    ///
    /// # Panics
    /// One does not come up.
    pub async fn start(program: &str, folder: &Folder, count: usize) -> Fleet {
        let database = new_database().await;
        let addresses = vec![database.as_str(); count];
        Self::start_at(program, folder, &database, &addresses).await
    }

    /// Hosts of `program` that match `folder`, each of which reaches the one `database` at an address of its own.
    ///
    /// # Panics
    /// One does not come up.
    pub async fn start_at(program: &str, folder: &Folder, database: &str, addresses: &[&str]) -> Fleet {
        folder.write("oncegate.toml", with_lease(LEASE_MS).as_bytes());
        let mut hosts = Vec::new();
        for address in addresses {
            hosts.push(ChildHost::start_sharing(program, folder, address, LEASE_MS).await);
        }
        Fleet {
            hosts,
            database: database.to_owned(),
        }
    }

    /// A host comes up again on the same data.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn come_up(&mut self, which: usize) {
        self.hosts[which].come_up().await;
    }
}

impl Index<usize> for Fleet {
    type Output = ChildHost;

    fn index(&self, which: usize) -> &ChildHost {
        &self.hosts[which]
    }
}

impl IndexMut<usize> for Fleet {
    fn index_mut(&mut self, which: usize) -> &mut ChildHost {
        &mut self.hosts[which]
    }
}

impl Deref for Fleet {
    type Target = [ChildHost];

    fn deref(&self) -> &[ChildHost] {
        &self.hosts
    }
}

impl DerefMut for Fleet {
    fn deref_mut(&mut self) -> &mut [ChildHost] {
        &mut self.hosts
    }
}
