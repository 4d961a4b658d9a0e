#![allow(clippy::unwrap_used)]

use super::*;

const LOCK: &str = r#"
version = 4
[[package]]
name = "plug"
version = "0.1.0"
dependencies = ["kit", "twice 2.0.0"]
[[package]]
name = "kit"
version = "0.1.0"
[[package]]
name = "twice"
version = "1.0.0"
source = "registry+x"
[[package]]
name = "twice"
version = "2.0.0"
source = "registry+x"
[[package]]
name = "other"
version = "1.0.0"
source = "registry+x"
"#;

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let file = dir.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"plugins/plug\", \"kit\"]\n[workspace.dependencies]\ntwice = \"2\"\nother = \"1\"\n",
    );
    write("Cargo.lock", LOCK);
    write("wit/world.wit", "package a:b;");
    write(
        "plugins/plug/Cargo.toml",
        "[package]\nname = \"plug\"\n[dependencies]\ntwice.workspace = true\n",
    );
    write("plugins/plug/src/lib.rs", "");
    write("kit/Cargo.toml", "[package]\nname = \"kit\"\n");
    write("kit/src/lib.rs", "");
    dir
}

#[test]
fn what_decides_the_bytes_changes_the_digest_and_nothing_else_does() {
    let dir = repository();
    let root = dir.path();
    let now = || digest(root, "plugins/plug").unwrap();
    let edit = |file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        std::fs::write(root.join(file), text.replacen(from, to, 1)).unwrap();
    };
    let first = now();
    assert_eq!(first, now());
    edit(
        "Cargo.lock",
        "name = \"other\"\nversion = \"1.0.0\"",
        "name = \"other\"\nversion = \"1.0.1\"",
    );
    edit(
        "Cargo.lock",
        "name = \"twice\"\nversion = \"1.0.0\"",
        "name = \"twice\"\nversion = \"1.0.1\"",
    );
    edit("Cargo.toml", "other = \"1\"", "other = \"3\"");
    std::fs::create_dir(root.join("plugins/plug/built")).unwrap();
    std::fs::write(root.join("plugins/plug/built/plug.wasm"), "x").unwrap();
    std::fs::write(root.join("kit/README.md"), "x").unwrap();
    std::fs::create_dir(root.join("plugins/plug/tests")).unwrap();
    std::fs::write(root.join("plugins/plug/tests/send.rs"), "x").unwrap();
    assert_eq!(
        first,
        now(),
        "another package's lines, the built file, tests and texts do not count"
    );
    for (file, from, to) in [
        (
            "Cargo.lock",
            "version = \"2.0.0\"\nsource",
            "version = \"2.0.0\"\nchecksum = \"1\"\nsource",
        ),
        ("Cargo.toml", "twice = \"2\"", "twice = \"2.0\""),
        ("wit/world.wit", "a:b", "a:c"),
        ("plugins/plug/src/lib.rs", "", "//"),
        ("kit/src/lib.rs", "", "//"),
    ] {
        let before = now();
        edit(file, from, to);
        assert_ne!(before, now(), "{file}");
    }
}

#[test]
fn a_built_file_is_stale_until_its_digest_is_that_of_the_sources() {
    let dir = repository();
    let (wasm, sources) = built(dir.path(), "plugins/plug");
    assert!(
        stale(dir.path(), "plugins/plug")
            .unwrap()
            .unwrap()
            .contains("was not made from these sources")
    );
    std::fs::create_dir_all(wasm.parent().unwrap()).unwrap();
    std::fs::write(&wasm, "x").unwrap();
    std::fs::write(&sources, digest(dir.path(), "plugins/plug").unwrap()).unwrap();
    assert_eq!(stale(dir.path(), "plugins/plug").unwrap(), None);
}
