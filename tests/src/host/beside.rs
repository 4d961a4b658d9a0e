//! Hosts on one database.

use super::{START_MS, TestHost, client, serve};
use crate::data::{database, prepare_on};
use crate::folder::Folder;
use oncegate::clock::ManualClock;
use std::sync::Arc;

impl TestHost {
    /// The same on a server, whatever the others run on: for what hosts have in common that share a ledger.
    ///
    /// # Panics
    /// As [`TestHost::start`].
    pub async fn start_on_server(folder: &Folder) -> TestHost {
        TestHost::start_on_database(folder, &oncegate_test_database::new_database().await).await
    }

    /// The same on this database.
    ///
    /// # Panics
    /// As [`TestHost::start`].
    pub async fn start_on_database(folder: &Folder, address: &str) -> TestHost {
        let (data, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(START_MS)));
        prepare_on(data.path(), address);
        TestHost::start_on(data, folder, Arc::clone(&clock), clock).await
    }

    /// Another host on the same database, at the same time, with data of its own.
    ///
    /// # Panics
    /// This one is not on a server, or the other one does not come up.
    pub async fn beside(&self) -> TestHost {
        let data = tempfile::tempdir().unwrap();
        prepare_on(data.path(), &database(self.data()).unwrap());
        let server = serve(data.path(), &self.given_clock).await;
        TestHost {
            client: client(data.path(), &server),
            server: Some(server),
            data,
            clock: Arc::clone(&self.clock),
            given_clock: Arc::clone(&self.given_clock),
        }
    }
}
