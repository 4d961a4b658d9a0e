//! The files of a folder, bounded, nothing followed out of it.

use super::FileProblem;
use oncegate_domain::limits::COMPONENT_BYTES_MAX;
use std::collections::BTreeMap;
use std::path::Path;

/// Largest text file.
const TEXT_BYTES_MAX: u64 = 1024 * 1024;
/// Most files of one kind.
const FILES_MAX: usize = 2_000;

/// The folders that describe an installation.
pub const PARTS: [&str; 3] = ["connectors", "connections", "flows"];

/// What a folder holds, by file name relative to it.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    /// `connectors/*.wasm`
    pub connectors: BTreeMap<String, Vec<u8>>,
    /// `connections/*.toml`
    pub connections: BTreeMap<String, String>,
    /// `flows/*.toml`
    pub flows: BTreeMap<String, String>,
    /// Everything else beside the flows: their examples, by name relative to `flows`.
    pub examples: BTreeMap<String, String>,
    /// Texts of any kind that are not UTF-8. A plan says so of each, beside all that is wrong in the other files.
    pub not_text: BTreeMap<String, Vec<u8>>,
}

/// Reads a folder. `oncegate.toml` is not looked at: that is the host's own configuration.
///
/// # Errors
/// Every file that cannot be read.
pub fn read(dir: &Path) -> Result<Folder, Vec<FileProblem>> {
    let mut problems = Vec::new();
    if !dir.is_dir() {
        let mend = "name the folder that holds connectors, connections and flows";
        return Err(vec![FileProblem::whole(
            &dir.display().to_string(),
            "this is no folder",
            mend,
        )]);
    }
    if !PARTS.iter().any(|part| dir.join(part).is_dir()) {
        // A wrong folder would deactivate everything there is.
        let mend = "name the folder that holds them; to deactivate everything, name one with an empty folder `flows`";
        let what = format!("there is none of {} in it", PARTS.join(", "));
        return Err(vec![FileProblem::whole(&dir.display().to_string(), what, mend)]);
    }
    let mut folder = Folder::default();
    for file in list(dir, "connectors", &mut problems) {
        if file.ends_with(".wasm")
            && let Some(bytes) = read_bytes(dir, &file, COMPONENT_BYTES_MAX as u64, &mut problems)
        {
            folder.connectors.insert(file, bytes);
        }
    }
    for file in list(dir, "connections", &mut problems) {
        if file.ends_with(".toml")
            && let Some(text) = read_text(dir, &file, &mut folder.not_text, &mut problems)
        {
            folder.connections.insert(file, text);
        }
    }
    for file in list(dir, "flows", &mut problems) {
        let flow = file.ends_with(".toml");
        if !flow && !file.ends_with(".json") && !file.ends_with(".txt") {
            continue;
        }
        let Some(text) = read_text(dir, &file, &mut folder.not_text, &mut problems) else {
            continue;
        };
        if flow {
            folder.flows.insert(file, text);
        } else {
            folder
                .examples
                .insert(file.trim_start_matches("flows/").to_owned(), text);
        }
    }
    if problems.is_empty() { Ok(folder) } else { Err(problems) }
}

/// Names of the plain files in a subfolder, sorted; hidden ones are left out. A missing subfolder is empty.
fn list(dir: &Path, sub: &str, problems: &mut Vec<FileProblem>) -> Vec<String> {
    let entries = match std::fs::read_dir(dir.join(sub)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            problems.push(FileProblem::whole(
                sub,
                format!("cannot be read: {error}"),
                "make it readable",
            ));
            return Vec::new();
        }
    };
    let names = entries.flatten().filter(|entry| entry.path().is_file());
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names
        .filter(|name| !name.starts_with('.'))
        .map(|name| format!("{sub}/{name}"))
        .collect();
    names.sort();
    if names.len() > FILES_MAX {
        let what = format!("there are {} files, at most {FILES_MAX} are read", names.len());
        problems.push(FileProblem::whole(sub, what, "move files out of it"));
    }
    names
}

fn read_bytes(dir: &Path, file: &str, bytes_max: u64, problems: &mut Vec<FileProblem>) -> Option<Vec<u8>> {
    let path = dir.join(file);
    let length = std::fs::metadata(&path).map(|metadata| metadata.len());
    if let Ok(length) = length
        && length > bytes_max
    {
        let what = format!("it has {length} bytes, at most {bytes_max} are read");
        problems.push(FileProblem::whole(
            file,
            what,
            "make it smaller, or move it out of the folder",
        ));
        return None;
    }
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            problems.push(FileProblem::whole(
                file,
                format!("cannot be read: {error}"),
                "make it readable",
            ));
            None
        }
    }
}

fn read_text(
    dir: &Path,
    file: &str,
    not_text: &mut BTreeMap<String, Vec<u8>>,
    problems: &mut Vec<FileProblem>,
) -> Option<String> {
    let bytes = read_bytes(dir, file, TEXT_BYTES_MAX, problems)?;
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            not_text.insert(file.to_owned(), error.into_bytes());
            None
        }
    }
}
