//! The digest of the sources that make a first-party connector, for the repository's own script and test: a built file is
//! committed, and a stale one must be noticed without a wasm compiler.
//!
//! It covers everything that decides the bytes and is in the repository: the files of the local packages in the
//! dependency closure (plugin, SDK; not their tests and texts), `wit/`, the lock file's blocks of the closure, what the
//! workspace says about those dependencies, and the profile. Not the compiler: the same sources by another compiler are the same connector.

use super::cargo::PROFILE;
use crate::catalog::BUILTIN;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Folders of the connectors that are committed in built form, relative to the repository: those that are built into this
/// program, and the guest of the tests.
pub fn first_party() -> Vec<String> {
    let builtin = BUILTIN.iter().map(|connector| format!("plugins/{}", connector.name));
    builtin.chain(["tests/guests/puppet".to_owned()]).collect()
}

/// What lies in a package's folder and never enters the component: a changed text makes no built file stale.
const NOT_COMPILED: [&str; 5] = ["README.md", "CHANGELOG.md", "tests", "examples", "benches"];

/// Why a digest cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// A file cannot be read.
    #[error("{file} cannot be read: {why}")]
    Read {
        /// Which.
        file: String,
        /// Why.
        why: String,
    },
    /// A file of cargo's is not as expected.
    #[error("{file}: {what}")]
    Cargo {
        /// Which.
        file: String,
        /// What is wrong.
        what: String,
    },
}

/// Where the component and the digest of its sources are kept: `built/NAME.wasm` and `built/NAME.sources` in the
/// connector's folder, whose last part is its name.
pub fn built(root: &Path, connector: &str) -> (PathBuf, PathBuf) {
    let name = connector.rsplit('/').next().unwrap_or(connector);
    let folder = root.join(connector).join("built");
    (
        folder.join(format!("{name}.wasm")),
        folder.join(format!("{name}.sources")),
    )
}

/// Whether the committed component was made from other sources than these; `None`: it is up to date.
///
/// # Errors
/// The sources cannot be read.
pub fn stale(root: &Path, connector: &str) -> Result<Option<String>, SourcesError> {
    let (wasm, sources) = built(root, connector);
    let now = digest(root, connector)?;
    let then = std::fs::read_to_string(&sources).unwrap_or_default();
    if wasm.is_file() && then.trim() == now {
        return Ok(None);
    }
    let mend = "build it again: scripts/build-connectors";
    Ok(Some(format!(
        "{} was not made from these sources; {mend}",
        wasm.display()
    )))
}

/// `sha256:…` of the sources of a connector, given by its folder relative to the repository.
///
/// # Errors
/// The sources cannot be read.
pub fn digest(root: &Path, connector: &str) -> Result<String, SourcesError> {
    let mut hash = Hash(Sha256::new());
    let workspace = read_table(&root.join("Cargo.toml"))?;
    let local = local_packages(root, &workspace)?;
    let package = package_name(&root.join(connector).join("Cargo.toml"))?;
    let lock = Lock::read(&root.join("Cargo.lock"))?;
    let mut folders: BTreeSet<PathBuf> = BTreeSet::from([PathBuf::from("wit")]);
    for block in lock.closure(&package)? {
        hash.part("lock", block.to_string().as_bytes());
        let name = block.get("name").and_then(Value::as_str).unwrap_or_default();
        if let (Some(folder), None) = (local.get(name), block.get("source")) {
            folders.insert(folder.clone());
        }
    }
    let direct = direct_dependencies(root, &folders)?;
    let dependencies = workspace
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"));
    for (name, value) in dependencies.and_then(Value::as_table).into_iter().flatten() {
        if direct.contains(name) {
            hash.part(name, value.to_string().as_bytes());
        }
    }
    for folder in folders {
        let compiled = |file: &PathBuf| {
            let below = file.strip_prefix(&folder).ok().and_then(|below| below.iter().next());
            !NOT_COMPILED
                .iter()
                .any(|name| below.is_some_and(|below| below == *name))
        };
        for file in files(&root.join(&folder), &folder)?.into_iter().filter(compiled) {
            hash.part(&file.display().to_string(), &read(&root.join(&file))?);
        }
    }
    PROFILE
        .iter()
        .for_each(|setting| hash.part("profile", setting.as_bytes()));
    Ok(format!("sha256:{}", data_encoding::HEXLOWER.encode(&hash.0.finalize())))
}

struct Hash(Sha256);

impl Hash {
    /// Lengths go before, so that no two lists of parts are the same bytes.
    fn part(&mut self, name: &str, bytes: &[u8]) {
        for part in [name.as_bytes(), bytes] {
            self.0.update((part.len() as u64).to_be_bytes());
            self.0.update(part);
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>, SourcesError> {
    std::fs::read(file).map_err(|error| SourcesError::Read {
        file: file.display().to_string(),
        why: error.to_string(),
    })
}

fn read_table(file: &Path) -> Result<Table, SourcesError> {
    let text = String::from_utf8_lossy(&read(file)?).into_owned();
    text.parse()
        .map_err(|error: toml::de::Error| wrong(file, error.message()))
}

fn wrong(file: &Path, what: impl Into<String>) -> SourcesError {
    SourcesError::Cargo {
        file: file.display().to_string(),
        what: what.into(),
    }
}

fn package_name(file: &Path) -> Result<String, SourcesError> {
    let table = read_table(file)?;
    let name = table
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(Value::as_str);
    name.map(str::to_owned)
        .ok_or_else(|| wrong(file, "it names no package"))
}

/// The workspace's own packages: name and folder.
fn local_packages(root: &Path, workspace: &Table) -> Result<BTreeMap<String, PathBuf>, SourcesError> {
    let members = workspace
        .get("workspace")
        .and_then(|workspace| workspace.get("members"))
        .and_then(Value::as_array);
    let folders = members
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(PathBuf::from);
    folders
        .map(|folder| Ok((package_name(&root.join(&folder).join("Cargo.toml"))?, folder)))
        .collect()
}

/// Every name that one of these packages depends on.
fn direct_dependencies(root: &Path, folders: &BTreeSet<PathBuf>) -> Result<BTreeSet<String>, SourcesError> {
    let mut names = BTreeSet::new();
    for folder in folders {
        let file = root.join(folder).join("Cargo.toml");
        if !file.is_file() {
            continue;
        }
        let table = read_table(&file)?;
        let targets = table.get("target").and_then(Value::as_table);
        let targets = targets
            .into_iter()
            .flat_map(|targets| targets.values().filter_map(Value::as_table));
        for table in std::iter::once(&table).chain(targets) {
            let listed = ["dependencies", "build-dependencies"]
                .iter()
                .filter_map(|kind| table.get(*kind)?.as_table());
            names.extend(listed.flat_map(|table| table.keys().cloned()));
        }
    }
    Ok(names)
}

/// Files below a folder, sorted, without what builds leave there and without the built component itself.
fn files(folder: &Path, relative: &Path) -> Result<Vec<PathBuf>, SourcesError> {
    let unreadable = |error: std::io::Error| SourcesError::Read {
        file: folder.display().to_string(),
        why: error.to_string(),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') || name == "target" || name == "built" {
            continue;
        }
        let relative = relative.join(&name);
        if entry.path().is_dir() {
            found.extend(files(&entry.path(), &relative)?);
        } else {
            found.push(relative);
        }
    }
    found.sort();
    Ok(found)
}

/// `Cargo.lock`.
struct Lock {
    file: PathBuf,
    packages: Vec<Table>,
}

impl Lock {
    fn read(file: &Path) -> Result<Lock, SourcesError> {
        let table = read_table(file)?;
        let packages = table
            .get("package")
            .and_then(Value::as_array)
            .ok_or_else(|| wrong(file, "it lists no packages"))?;
        let packages = packages.iter().filter_map(Value::as_table).cloned().collect();
        Ok(Lock {
            file: file.to_owned(),
            packages,
        })
    }

    /// The blocks of a package and of everything below it, in the order of the file.
    fn closure(&self, root: &str) -> Result<Vec<&Table>, SourcesError> {
        let mut found = BTreeSet::new();
        let mut open = VecDeque::from([root.to_owned()]);
        while let Some(wanted) = open.pop_front() {
            let index = self
                .find(&wanted)
                .ok_or_else(|| wrong(&self.file, format!("it has no package {wanted:?}")))?;
            if found.insert(index) {
                let dependencies = self.packages[index].get("dependencies").and_then(Value::as_array);
                open.extend(
                    dependencies
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .map(str::to_owned),
                );
            }
        }
        Ok(found.into_iter().map(|index| &self.packages[index]).collect())
    }

    /// By `name`, or `name version` where the name alone would not do.
    fn find(&self, wanted: &str) -> Option<usize> {
        let mut words = wanted.split(' ');
        let (name, version) = (words.next()?, words.next());
        self.packages.iter().position(|package| {
            let is = |field: &str, wanted: &str| package.get(field).and_then(Value::as_str) == Some(wanted);
            is("name", name) && version.is_none_or(|version| is("version", version))
        })
    }
}

#[cfg(test)]
mod tests;
