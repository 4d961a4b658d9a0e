//! Where the connectors under test come from.

use std::path::PathBuf;

/// The built form of a connector: one of the host's own, or `puppet`.
///
/// # Panics
/// It is not there.
pub fn wasm(name: &str) -> Vec<u8> {
    let path = path(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("the connector under test {}: {error}", path.display()))
}

fn path(name: &str) -> PathBuf {
    if let Some(dir) = std::env::var_os("ONCEGATE_TEST_CONNECTORS") {
        return PathBuf::from(dir).join(name).with_extension("wasm");
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = match name {
        "puppet" => root.join("tests/guests/puppet"),
        _ => root.join("plugins").join(name),
    };
    folder.join("built").join(name).with_extension("wasm")
}
