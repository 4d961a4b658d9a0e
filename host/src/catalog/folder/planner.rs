//! Deciding what applying a folder would change. Pure: files and ledger rows in, a plan or everything that is wrong out.

mod connections;
mod flows;
mod version;

pub(super) use version::Version;

use super::plan::{Change, Plan, PlannedConnector, Subject, Verb, digest_of, seen};
use super::{FileProblem, Folder};
use crate::catalog::section;
use crate::catalog::{BUILTIN, Builtin, Problem, rights};
use crate::ledger::CatalogRows;
use crate::runtime::check_interface;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Makes the plan.
///
/// # Errors
/// Everything that is wrong in the folder.
pub fn plan(folder: &Folder, rows: &CatalogRows, approve: &[String]) -> Result<Plan, Vec<FileProblem>> {
    let mut planner = Planner {
        rows,
        problems: not_text(folder),
        plan: Plan {
            seen: seen(rows),
            ..Plan::default()
        },
    };
    let available = planner.connectors(folder);
    planner.connections(folder, &available, approve);
    planner.flows(folder);
    planner.used_connectors(&available);
    planner.gone();
    if !planner.problems.is_empty() {
        return Err(planner.problems);
    }
    Ok(planner.plan)
}

fn not_text(folder: &Folder) -> Vec<FileProblem> {
    let files = folder.not_text.keys();
    files
        .map(|file| FileProblem::whole(file, "it is not UTF-8", "save it as UTF-8"))
        .collect()
}

struct Planner<'r> {
    rows: &'r CatalogRows,
    problems: Vec<FileProblem>,
    plan: Plan,
}

impl Planner<'_> {
    /// Whether a file of this part is not right. Then what it would have held is not missed once more elsewhere.
    fn is_wrong(&self, part: &str) -> bool {
        let of_part = |problem: &FileProblem| problem.file.split('/').next() == Some(part);
        self.problems.iter().any(of_part)
    }

    fn wrong(&mut self, file: &str, problems: Vec<Problem>) {
        self.problems.extend(problems.into_iter().map(|problem| FileProblem {
            file: file.to_owned(),
            problem,
        }));
    }

    /// The connectors of the folder and of the host itself, by name. The folder's go before.
    fn connectors(&mut self, folder: &Folder) -> BTreeMap<String, PlannedConnector> {
        let mut available: BTreeMap<String, PlannedConnector> = BTreeMap::new();
        for (file, bytes) in &folder.connectors {
            let checked = check_interface(bytes).map_err(|error| error.to_string());
            let description = checked.and_then(|()| section::read(bytes).map_err(|error| error.to_string()));
            let description = match description {
                Ok(description) => Arc::new(description),
                Err(text) => {
                    self.problems.push(FileProblem::said(file, &text));
                    continue;
                }
            };
            let name = description.manifest.name.clone();
            if let Some(other) = available.get(&name) {
                let what = format!("this connector and {} are both called {name:?}", other.file);
                self.problems.push(FileProblem::whole(file, what, "keep one of them"));
                continue;
            }
            let digest = digest_of(bytes);
            available.insert(
                name,
                PlannedConnector {
                    file: file.clone(),
                    bytes: bytes.as_slice().into(),
                    digest,
                    description,
                },
            );
        }
        for Builtin { name, bytes } in &BUILTIN {
            if available.contains_key(*name) {
                continue;
            }
            if let Ok(description) = section::read(bytes) {
                let (file, digest) = (format!("built-in {name}"), digest_of(bytes));
                let description = Arc::new(description);
                available.insert(
                    (*name).to_owned(),
                    PlannedConnector {
                        file,
                        bytes: (*bytes).into(),
                        digest,
                        description,
                    },
                );
            }
        }
        available
    }

    /// The folder's connectors, and of the host's own those that are used, as far as the ledger has them not.
    fn used_connectors(&mut self, available: &BTreeMap<String, PlannedConnector>) {
        let known: BTreeSet<&str> = self.rows.connectors.iter().map(|row| row.digest.as_str()).collect();
        let mut changes = Vec::new();
        for connector in available
            .values()
            .filter(|connector| !known.contains(connector.digest.as_str()))
        {
            let used = self
                .plan
                .connections
                .iter()
                .any(|planned| planned.digest == connector.digest);
            if connector.file.starts_with("built-in") && !used {
                continue;
            }
            let manifest = &connector.description.manifest;
            let mut lines = vec![connector.digest.clone()];
            lines.extend(rights::of(manifest));
            let name = format!("{} {}", manifest.name, manifest.version);
            changes.push(Change {
                verb: Verb::Add,
                subject: Subject::Connector,
                name,
                lines,
            });
            self.plan.connectors.push(connector.clone());
        }
        changes.append(&mut self.plan.changes);
        self.plan.changes = changes;
    }

    fn gone(&mut self) {
        let renamed: BTreeSet<_> = self
            .plan
            .flows
            .iter()
            .filter_map(|flow| flow.renamed_from.clone())
            .collect();
        let flows: BTreeSet<_> = self.plan.flows.iter().map(|flow| flow.name.clone()).collect();
        let connections: BTreeSet<_> = self
            .plan
            .connections
            .iter()
            .map(|planned| planned.spec.name.clone())
            .collect();
        let rows = self
            .rows
            .flows
            .iter()
            .filter(|row| row.active && !flows.contains(&row.name) && !renamed.contains(&row.name));
        let mut gone: Vec<_> = rows.map(|row| (Subject::Flow, row.name.clone())).collect();
        let rows = self
            .rows
            .connections
            .iter()
            .filter(|row| row.active && !connections.contains(&row.name));
        gone.extend(rows.map(|row| (Subject::Connection, row.name.clone())));
        for (subject, name) in &gone {
            let line = match subject {
                Subject::Flow => "it takes no more events; its runs go on, its records and keys stay",
                Subject::Connection | Subject::Connector => "no step can use it any more; its records stay",
            };
            let lines = vec![line.to_owned()];
            self.plan.changes.push(Change {
                verb: Verb::Deactivate,
                subject: *subject,
                name: name.clone(),
                lines,
            });
        }
        self.plan.gone = gone;
    }
}
