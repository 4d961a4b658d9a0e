//! `oncegate connector new`: a connector that builds, passes its tests and its drill at once, for its author to change.
//!
//! The SDK comes along in `vendor/`, out of this very binary: it is of the same version, and nothing needs to be found.

use super::BuildError;
use crate::catalog::is_connector_name;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Every file of the SDK, relative to the repository; a test compares the list with the folder.
const SDK: [(&str, &str); 16] = [
    ("wit/connector.wit", include_str!("../../../wit/connector.wit")),
    ("sdk/rust/README.md", include_str!("../../../sdk/rust/README.md")),
    (
        "sdk/rust/src/action.rs",
        include_str!("../../../sdk/rust/src/action.rs"),
    ),
    (
        "sdk/rust/src/answer.rs",
        include_str!("../../../sdk/rust/src/answer.rs"),
    ),
    (
        "sdk/rust/src/bindings.rs",
        include_str!("../../../sdk/rust/src/bindings.rs"),
    ),
    (
        "sdk/rust/src/export.rs",
        include_str!("../../../sdk/rust/src/export.rs"),
    ),
    (
        "sdk/rust/src/failure.rs",
        include_str!("../../../sdk/rust/src/failure.rs"),
    ),
    ("sdk/rust/src/host.rs", include_str!("../../../sdk/rust/src/host.rs")),
    ("sdk/rust/src/http.rs", include_str!("../../../sdk/rust/src/http.rs")),
    ("sdk/rust/src/json.rs", include_str!("../../../sdk/rust/src/json.rs")),
    ("sdk/rust/src/lib.rs", include_str!("../../../sdk/rust/src/lib.rs")),
    ("sdk/rust/src/log.rs", include_str!("../../../sdk/rust/src/log.rs")),
    ("sdk/rust/src/mock.rs", include_str!("../../../sdk/rust/src/mock.rs")),
    (
        "sdk/rust/src/mock/replay.rs",
        include_str!("../../../sdk/rust/src/mock/replay.rs"),
    ),
    ("sdk/rust/src/path.rs", include_str!("../../../sdk/rust/src/path.rs")),
    ("sdk/rust/src/raw.rs", include_str!("../../../sdk/rust/src/raw.rs")),
];
const SDK_CARGO: &str = include_str!("../../../sdk/rust/Cargo.toml");
const WORKSPACE_CARGO: &str = include_str!("../../../Cargo.toml");

const CARGO: &str = include_str!("../../../sdk/templates/Cargo.toml.txt");
const README: &str = include_str!("../../../sdk/templates/README.md.txt");
const GITIGNORE: &str = include_str!("../../../sdk/templates/gitignore.txt");

/// What a new connector begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Template {
    /// An action that changes something, with a key and a lookup.
    Write,
    /// An action that only reads.
    Read,
}

impl Template {
    /// `connector.toml` and `src/lib.rs`.
    fn files(self) -> [(&'static str, &'static str); 2] {
        match self {
            Template::Write => [
                (
                    "connector.toml",
                    include_str!("../../../sdk/templates/write/connector.toml"),
                ),
                ("src/lib.rs", include_str!("../../../sdk/templates/write/src/lib.rs")),
            ],
            Template::Read => [
                (
                    "connector.toml",
                    include_str!("../../../sdk/templates/read/connector.toml"),
                ),
                ("src/lib.rs", include_str!("../../../sdk/templates/read/src/lib.rs")),
            ],
        }
    }
}

/// Makes a crate in a new folder of the connector's name below `parent`; the folder. With `sdk` its `oncegate-sdk` is the
/// one in that folder, and none is brought along.
///
/// # Errors
/// The name is none, the folder exists, or something cannot be written.
pub fn new(parent: &Path, name: &str, template: Template, sdk: Option<&Path>) -> Result<PathBuf, BuildError> {
    if !is_connector_name(name) {
        return Err(BuildError::Name(name.to_owned()));
    }
    let folder = parent.join(name);
    if folder.exists() {
        return Err(BuildError::Exists(folder.display().to_string()));
    }
    let sdk_path = match sdk {
        Some(sdk) => sdk.canonicalize().map_err(|error| BuildError::Read {
            file: sdk.display().to_string(),
            why: error.to_string(),
            mend: "name the folder sdk/rust of the Oncegate repository, or leave --sdk out",
        })?,
        None => PathBuf::from("vendor/sdk/rust"),
    };
    let named = |text: &str| text.replace("my-connector", name).replace("My connector", &title(name));
    let cargo = CARGO.replace(
        "\"SDK_PATH\"",
        &Value::from(sdk_path.to_string_lossy().as_ref()).to_string(),
    );
    write(&folder.join("Cargo.toml"), &named(&cargo))?;
    write(&folder.join("README.md"), &named(README))?;
    write(&folder.join(".gitignore"), GITIGNORE)?;
    for (file, text) in template.files() {
        write(&folder.join(file), &named(text))?;
    }
    if sdk.is_none() {
        let vendor = folder.join("vendor");
        for (file, text) in SDK {
            write(&vendor.join(file), text)?;
        }
        write(&vendor.join("sdk/rust/Cargo.toml"), &sdk_cargo())?;
    }
    Ok(folder)
}

fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut letters = words.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        .unwrap_or_default()
}

fn write(file: &Path, text: &str) -> Result<(), BuildError> {
    let wrong = |error: std::io::Error| BuildError::Write {
        file: file.display().to_string(),
        why: error.to_string(),
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(wrong)?;
    }
    std::fs::write(file, text).map_err(wrong)
}

/// The SDK's `Cargo.toml` for a place outside of this workspace: what it takes from the workspace is written out.
fn sdk_cargo() -> String {
    let parsed = |text: &str| -> Table { text.parse().expect("the repository's own Cargo.toml is right") };
    let (mut own, workspace) = (parsed(SDK_CARGO), parsed(WORKSPACE_CARGO));
    own.insert("lints".to_owned(), Value::Table(cfg_lint(&workspace)));
    let shared = |part: &str, name: &str| workspace["workspace"][part].get(name).cloned();
    if let Some(Value::Table(package)) = own.get_mut("package") {
        written_out(package, &|name| shared("package", name));
    }
    let natural = own.get_mut("dependencies").into_iter();
    let dependencies = |name: &str| shared("dependencies", name);
    natural
        .filter_map(Value::as_table_mut)
        .for_each(|table| written_out(table, &dependencies));
    let targets = own
        .get_mut("target")
        .and_then(Value::as_table_mut)
        .into_iter()
        .flat_map(|targets| targets.iter_mut());
    for (_, target) in targets {
        if let Some(Value::Table(table)) = target.get_mut("dependencies") {
            written_out(table, &dependencies);
        }
    }
    toml::to_string(&own).expect("what was read can be written")
}

/// Of the workspace's lints the one that knows the build's own `cfg`: else an author's every build begins with a warning
/// about the SDK.
fn cfg_lint(workspace: &Table) -> Table {
    let name = "unexpected_cfgs";
    let known = workspace["workspace"]["lints"]["rust"][name].clone();
    let rust = Table::from_iter([(name.to_owned(), known)]);
    Table::from_iter([("rust".to_owned(), Value::Table(rust))])
}

fn written_out(table: &mut Table, shared: &dyn Fn(&str) -> Option<Value>) {
    for (name, value) in table.iter_mut() {
        if value.get("workspace").is_some()
            && let Some(said) = shared(name)
        {
            *value = said;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::manifest::Manifest;
    use std::collections::BTreeSet;

    #[test]
    fn the_sdk_comes_along_whole() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/rust/src");
        let mut there = BTreeSet::new();
        let mut folders = vec![(sources, "sdk/rust/src".to_owned())];
        while let Some((folder, named)) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("the SDK is there") {
                let path = entry.expect("readable").path();
                let name = format!("{named}/{}", path.file_name().expect("named").to_string_lossy());
                if path.is_dir() {
                    folders.push((path, name));
                } else {
                    there.insert(name);
                }
            }
        }
        let listed: BTreeSet<String> = SDK
            .iter()
            .map(|(file, _)| (*file).to_owned())
            .filter(|file| file.starts_with("sdk/rust/src/"))
            .collect();
        assert_eq!(listed, there);
        let cargo = sdk_cargo();
        assert!(!cargo.contains("workspace"), "{cargo}");
        assert!(cargo.contains("cfg(oncegate_describe)"), "{cargo}");
        assert!(
            cargo.contains("wit-bindgen") && cargo.contains("version = \"0.1.0\""),
            "{cargo}"
        );
    }

    #[test]
    fn a_new_connector_has_a_right_manifest_with_an_example_under_its_own_name() {
        for template in [Template::Write, Template::Read] {
            let parent = tempfile::tempdir().expect("a folder");
            let folder = new(parent.path(), "ticket-desk", template, None).expect("made");
            let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect("written");
            let manifest = Manifest::parse(&read("connector.toml")).expect("right");
            assert_eq!(
                (manifest.name.as_str(), manifest.title.as_str()),
                ("ticket-desk", "Ticket desk")
            );
            assert!(manifest.actions.values().all(|action| action.example.is_some()));
            for file in ["Cargo.toml", "README.md", "src/lib.rs", "connector.toml"] {
                assert!(!read(file).contains("my-connector"), "{file}");
            }
            let again = new(parent.path(), "ticket-desk", template, None).expect_err("it exists");
            assert!(again.to_string().contains("ticket-desk"), "{again}");
        }
    }

    #[test]
    fn a_name_that_no_connector_can_have_is_refused_before_anything_is_written() {
        let parent = tempfile::tempdir().expect("a folder");
        for name in ["", "x", "Ticket", "../ticket", "a b"] {
            assert!(
                matches!(
                    new(parent.path(), name, Template::Write, None),
                    Err(BuildError::Name(_))
                ),
                "{name:?}"
            );
        }
        assert_eq!(std::fs::read_dir(parent.path()).expect("readable").count(), 0);
    }
}
