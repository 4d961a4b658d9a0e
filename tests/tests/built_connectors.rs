//! The connectors that are committed in built form are those of the sources beside them.

use std::path::Path;

use oncegate::build::sources;

#[test]
fn the_committed_connectors_were_made_from_these_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this crate lies in a folder of the repository");
    for connector in &sources::first_party() {
        let stale = sources::stale(root, connector).expect("the sources can be read");
        assert_eq!(stale, None);
    }
}

#[test]
fn the_committed_connectors_are_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this crate lies in a folder of the repository");
    for connector in &sources::first_party() {
        let (wasm, _) = sources::built(root, connector);
        let report = oncegate::build::check(&wasm).unwrap_or_else(|error| panic!("{error}"));
        assert!(connector.ends_with(&report.manifest.name), "{connector}: {report}");
    }
}
