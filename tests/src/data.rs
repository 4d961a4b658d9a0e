//! A host's data directory, before its first start and of its database.

use crate::compiled;
use crate::folder::HOOK_SECRET;
use std::path::Path;

/// Where a data directory keeps the address of its host's database.
const DATABASE: &str = "database-of-test";

/// A data directory before its first start: the secret of the hooks, and what was compiled for the test before.
pub(crate) fn prepare_embedded(data: &Path) {
    std::fs::create_dir_all(data.join("secrets")).unwrap();
    std::fs::write(data.join("secrets/hook"), HOOK_SECRET).unwrap();
    compiled::give(&data.join("cache"));
}

/// The same, and a database where these tests run on PostgreSQL.
pub(crate) async fn prepare(data: &Path) {
    match oncegate_test_database::is_asked_for() {
        true => prepare_on(data, &oncegate_test_database::new_database().await),
        false => prepare_embedded(data),
    }
}

/// The same on a database that other hosts have as well, with leases of this length.
pub(crate) fn prepare_sharing(data: &Path, database: &str, lease_ms: u64) {
    prepare_on(data, database);
    std::fs::write(data.join("oncegate.toml"), with_lease(lease_ms)).unwrap();
}

/// An `oncegate.toml` with leases of this length.
pub(crate) fn with_lease(lease_ms: u64) -> String {
    format!("[hosts]\nlease_ms = {lease_ms}\n")
}

/// The same, and this database.
pub(crate) fn prepare_on(data: &Path, address: &str) {
    prepare_embedded(data);
    std::fs::write(data.join(DATABASE), address).unwrap();
}

/// The database of a host, where tests run on PostgreSQL.
pub(crate) fn database(data: &Path) -> Option<String> {
    std::fs::read_to_string(data.join(DATABASE)).ok()
}
