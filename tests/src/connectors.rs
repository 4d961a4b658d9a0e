//! Where the connectors under test come from.

use oncegate::catalog::section;
use serde_json::Value;
use std::path::PathBuf;

/// The built form of a connector: one of the host's own, or `puppet`.
///
/// # Panics
/// It is not there.
pub fn wasm(name: &str) -> Vec<u8> {
    let path = path(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("the connector under test {}: {error}", path.display()))
}

/// The same code with another manifest (and schemas): to a host that is another version.
///
/// # Panics
/// The connector describes itself otherwise than the build does it, or cannot with this change.
pub fn another_version(wasm: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let described = section::read(wasm).unwrap().json;
    // A component of nothing shows how long the section is that the build has put behind the code.
    let nothing = b"\0asm\x0d\0\x01\0";
    let section_bytes = section::embed(nothing, &described).unwrap().len() - nothing.len();
    let mut document = serde_json::from_str(&described).unwrap();
    change(&mut document);
    section::embed(&wasm[..wasm.len() - section_bytes], &document.to_string()).unwrap()
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
