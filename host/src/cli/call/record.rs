//! The file that a call is written to.

use crate::call::Report;
use anyhow::{Context, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that the call is written to, opened before it is made; an old one stays until there is a new one.
pub struct Record {
    path: PathBuf,
    part: tempfile::NamedTempFile,
}

impl Record {
    /// `inputs` are the files that the call is made of.
    ///
    /// # Errors
    /// It could not be written, or stands for something else.
    pub fn open(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        let named = path.display();
        let real = path.canonicalize().ok();
        ensure!(
            real.as_ref().is_none_or(|real| real.is_file()),
            "{named} is no regular file; nothing was sent. Name another with --record"
        );
        let is_input = |input: &PathBuf| real.is_some() && input.canonicalize().ok() == real;
        ensure!(
            !inputs.iter().any(is_input),
            "{named} is one of the files that the call is made of; nothing was sent. Name another with --record"
        );
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            Some(_) | None => Path::new("."),
        };
        let part = tempfile::NamedTempFile::new_in(folder)
            .with_context(|| format!("{} cannot be written; nothing was sent", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            part,
        })
    }

    /// Writes it.
    ///
    /// # Errors
    /// It could not be written.
    pub fn keep(mut self, report: &Report) -> anyhow::Result<()> {
        let path = self.path.display().to_string();
        let failed = || format!("the call was made, and its record {path} could not be written");
        let text = serde_json::to_string_pretty(&report.json)?;
        writeln!(self.part, "{text}").with_context(failed)?;
        self.part.persist(&self.path).with_context(failed)?;
        eprintln!("Recorded in {path}.");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_replaces_neither_a_device_nor_what_the_call_is_made_of() {
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("input.json");
        std::fs::write(&input, "{}").unwrap();
        let refused = |path: &Path| match Record::open(path, std::slice::from_ref(&input)) {
            Ok(_) => "it is taken".to_owned(),
            Err(why) => why.to_string(),
        };
        assert!(refused(&input).contains("is one of the files that the call is made of; nothing was sent"));
        assert!(refused(Path::new("/dev/null")).contains("is no regular file"));
        assert!(refused(dir.path()).contains("is no regular file"));
        assert_eq!(refused(&dir.path().join("new.json")), "it is taken");
    }
}
