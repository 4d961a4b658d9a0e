//! Where a connector is written. A build is repeated often and its `--out` typed by hand, so what stands there is replaced
//! only where it is a WebAssembly file that was no part of the build: never a source, a device or somebody's notes.

use super::BuildError;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first bytes of every WebAssembly file, module or component.
const WASM_MAGIC: [u8; 4] = *b"\0asm";

/// A place that may be written to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutFile {
    /// As it was named.
    pub(super) named: PathBuf,
    /// Where a link leads: what is replaced is the file, and the link stays.
    real: PathBuf,
}

impl OutFile {
    /// Checked before the work is begun. `inputs` are what the connector is made of.
    ///
    /// # Errors
    /// Something stands there that must not be replaced, or its folder is not there.
    pub(super) fn at(named: PathBuf, inputs: &[&Path]) -> Result<OutFile, BuildError> {
        let real = match named.symlink_metadata() {
            Ok(_) => existing(&named, inputs)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => new(&named)?,
            Err(error) => return Err(cannot_write(&named, &error)),
        };
        Ok(OutFile { named, real })
    }

    /// In one step: the file is whole or as it was, and nothing else is left behind.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), BuildError> {
        let wrong = |error: std::io::Error| cannot_write(&self.named, &error);
        let mut part = tempfile::Builder::new()
            .prefix(".oncegate-")
            // As any new file; the umask takes its share.
            .permissions(std::fs::Permissions::from_mode(0o666))
            .tempfile_in(folder_of(&self.real))
            .map_err(wrong)?;
        part.write_all(bytes).map_err(wrong)?;
        part.persist(&self.real).map_err(|error| wrong(error.error))?;
        Ok(())
    }
}

fn existing(named: &Path, inputs: &[&Path]) -> Result<PathBuf, BuildError> {
    let occupied = |what| BuildError::Occupied {
        file: named.display().to_string(),
        what,
    };
    // A link that leads nowhere cannot be followed, and is not ours to replace.
    let real = named
        .canonicalize()
        .map_err(|_| occupied("is a link that leads to nothing"))?;
    let found = real.metadata().map_err(|error| cannot_write(named, &error))?;
    if found.is_dir() {
        return Err(occupied("is a folder"));
    }
    if !found.is_file() {
        return Err(occupied("is no regular file"));
    }
    if inputs
        .iter()
        .any(|input| input.canonicalize().is_ok_and(|input| input == real))
    {
        return Err(BuildError::OverInput {
            file: named.display().to_string(),
        });
    }
    // An empty file is one that somebody made for us, as `mktemp` does.
    if found.len() > 0 && !is_wasm(&real).map_err(|error| cannot_write(named, &error))? {
        return Err(occupied("is there already and is no WebAssembly"));
    }
    Ok(real)
}

fn new(named: &Path) -> Result<PathBuf, BuildError> {
    if named.file_name().is_none() {
        return Err(BuildError::Occupied {
            file: named.display().to_string(),
            what: "is a folder",
        });
    }
    if folder_of(named).is_dir() {
        return Ok(named.to_owned());
    }
    Err(BuildError::NoFolder {
        file: named.display().to_string(),
        folder: folder_of(named).display().to_string(),
    })
}

fn is_wasm(file: &Path) -> std::io::Result<bool> {
    let mut start = Vec::new();
    std::fs::File::open(file)?.take(4).read_to_end(&mut start)?;
    Ok(start == WASM_MAGIC)
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

fn cannot_write(file: &Path, error: &std::io::Error) -> BuildError {
    BuildError::Write {
        file: file.display().to_string(),
        why: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(file: &Path, inputs: &[&Path]) -> String {
        OutFile::at(file.to_owned(), inputs).unwrap_err().to_string()
    }

    #[test]
    fn only_what_is_webassembly_and_no_input_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("notes.txt"), "mine").unwrap();
        std::fs::write(at("old.wasm"), b"\0asm old").unwrap();
        std::fs::write(at("empty"), "").unwrap();
        std::os::unix::fs::symlink(at("old.wasm"), at("link.wasm")).unwrap();
        std::os::unix::fs::symlink(at("gone"), at("dangling.wasm")).unwrap();

        assert!(refused(dir.path(), &[]).contains("is a folder\n  to mend: name a file with --out"));
        assert!(refused(Path::new("/dev/null"), &[]).contains("is no regular file"));
        assert!(refused(&at("notes.txt"), &[]).contains("is there already and is no WebAssembly"));
        assert!(refused(&at("dangling.wasm"), &[]).contains("leads to nothing"));
        let missing = refused(&at("made/it.wasm"), &[]);
        assert!(
            missing.contains("there is no folder") && missing.contains("/made"),
            "{missing}"
        );
        for name in ["old.wasm", "link.wasm"] {
            let over = refused(&at(name), &[&at("old.wasm")]);
            assert!(
                over.contains("is one of the files that the connector is made of"),
                "{over}"
            );
        }
        for name in ["old.wasm", "link.wasm", "empty", "new.wasm"] {
            OutFile::at(at(name), &[&at("notes.txt")])
                .unwrap()
                .write(b"\0asm new")
                .unwrap();
            assert_eq!(std::fs::read(at(name)).unwrap(), b"\0asm new", "{name}");
        }
        assert!(at("link.wasm").symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(at("notes.txt")).unwrap(), "mine");
    }

    #[test]
    fn what_could_not_be_written_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("it.wasm");
        let out = OutFile::at(file.clone(), &[]).unwrap();
        // What came there meanwhile.
        std::fs::create_dir(&file).unwrap();
        assert!(out.write(b"\0asm").is_err());
        let left: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["it.wasm"]);
    }
}
