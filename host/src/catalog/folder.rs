//! A folder describes an installation: reading it, saying what would change, and making the host match it.
//!
//! `read` takes the files, `plan` decides (pure: folder and ledger rows in, a plan or all errors out), `apply` carries
//! out. Everything is checked before anything is stored. What the folder no longer holds is deactivated, never deleted.

mod files;
mod plan;
mod planner;
mod say;
mod uses;

pub use files::{Folder, PARTS, read};
pub(crate) use plan::digest_of;
pub use plan::{Change, Plan, Subject, Verb, Waiting};
pub use planner::plan;

use super::{Catalog, CatalogError, Problem};
use std::fmt;
use std::path::Path;

/// Something wrong in a file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// The file, relative to the folder.
    pub file: String,
    /// What is wrong there.
    pub problem: Problem,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.problem.line == 0 {
            f.write_str(" ")?;
        }
        write!(f, "{}", self.problem)
    }
}

impl FileProblem {
    /// A problem with a file as a whole.
    pub(super) fn whole(file: &str, what: impl ToString, mend: impl Into<String>) -> FileProblem {
        let problem = Problem {
            line: 0,
            column: 0,
            what: what.to_string(),
            mend: mend.into(),
        };
        FileProblem {
            file: file.to_owned(),
            problem,
        }
    }

    /// A problem whose text says what and, after a semicolon, how to mend it.
    pub(super) fn said(file: &str, text: &str) -> FileProblem {
        let (what, mend) = text.split_once("; ").unwrap_or((text, ""));
        FileProblem::whole(file, what, mend)
    }
}

/// Why a folder was not applied. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Files are not right; all that is wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Problems(Vec<FileProblem>),
    /// Something was stored between plan and apply.
    #[error("not applied: the installation was changed since the plan was made; make the plan again")]
    Stale,
    /// The ledger, or a stored thing.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Catalog {
    /// What applying this folder would change. `approve` names connections that move on to the version of their connector
    /// that is there; all others keep the one they have.
    ///
    /// # Errors
    /// Everything that is wrong, with file, line and column.
    pub async fn plan(&self, dir: &Path, approve: &[String]) -> Result<Plan, FolderError> {
        let folder = read(dir).map_err(FolderError::Problems)?;
        let rows = self.inner.ledger.catalog_all().await.map_err(CatalogError::from)?;
        let plan = plan(&folder, &rows, approve).map_err(FolderError::Problems)?;
        // The last check: that the runtime takes what would be new. It compiles, so that apply finds it compiled.
        let mut problems = Vec::new();
        for connector in &plan.connectors {
            if let Err(error) = self.inner.runtime.load(&connector.bytes).await {
                problems.push(FileProblem::said(&connector.file, &error.to_string()));
            }
        }
        if problems.is_empty() {
            Ok(plan)
        } else {
            Err(FolderError::Problems(problems))
        }
    }

    /// Carries out a plan. Connectors first, then what uses them, so that one that stops half way leaves nothing dangling
    /// and can be applied again.
    ///
    /// # Errors
    /// The plan is out of date, or the ledger did not store it.
    pub async fn apply(&self, plan: Plan, who: &str, at_ms: i64) -> Result<(), FolderError> {
        let ledger = &self.inner.ledger;
        let rows = ledger.catalog_all().await.map_err(CatalogError::from)?;
        if plan::seen(&rows) != plan.seen {
            return Err(FolderError::Stale);
        }
        let change = plan.into_change(who, at_ms);
        ledger.save_installation(change).await.map_err(CatalogError::from)?;
        Ok(self.reload().await?)
    }
}

#[cfg(test)]
mod tests;
