//! Builds the repository's own connectors from their sources. For maintainers and CI, who call it by
//! `scripts/build-connectors`:
//!
//! * without arguments: into their `built/` folders, with the digest of the sources that made them;
//! * with a folder: into that folder, as `NAME.wasm`;
//! * with `--check`: builds nothing and says whether the committed ones were made from these sources.

use anyhow::{Context, bail};
use oncegate::build::{self, BuildOptions, sources};
use std::path::{Path, PathBuf};

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the host has a folder around it")?;
    let argument = std::env::args_os().nth(1).map(PathBuf::from);
    for connector in &sources::first_party() {
        match &argument {
            Some(check) if check == Path::new("--check") => {
                if let Some(stale) = sources::stale(root, connector)? {
                    bail!(stale);
                }
            }
            Some(folder) => {
                std::fs::create_dir_all(folder)?;
                build(root, connector, folder.join(wasm_name(connector)))?;
            }
            None => {
                let (wasm, digest) = sources::built(root, connector);
                build(root, connector, wasm)?;
                std::fs::write(&digest, format!("{}\n", sources::digest(root, connector)?))?;
            }
        }
    }
    Ok(())
}

fn wasm_name(connector: &str) -> PathBuf {
    let (wasm, _) = sources::built(Path::new(""), connector);
    wasm.file_name().map(PathBuf::from).unwrap_or_default()
}

fn build(root: &Path, connector: &str, wasm: PathBuf) -> anyhow::Result<()> {
    let report = build::run(BuildOptions {
        path: root.join(connector),
        out: Some(wasm),
    })?;
    println!("{report}");
    Ok(())
}
