//! Connections in a plan: which bytes each is for, what it approves, and what changes under it.

use super::super::plan::{Change, PlannedConnection, PlannedConnector, Subject, Verb, Waiting};
use super::super::{FileProblem, Folder, say};
use super::Planner;
use super::version::{Chosen, Version};
use crate::catalog::approved::{approve, moves};
use crate::catalog::connection::ConnectionSpec;
use crate::catalog::{Problem, rights};
use crate::ledger::StoredConnection;
use std::collections::BTreeMap;

impl Planner<'_> {
    pub(super) fn connections(
        &mut self,
        folder: &Folder,
        available: &BTreeMap<String, PlannedConnector>,
        approve: &[String],
    ) {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for (file, source) in &folder.connections {
            let spec = match ConnectionSpec::parse(source) {
                Ok(spec) => spec,
                Err(problems) => {
                    self.wrong(file, problems);
                    continue;
                }
            };
            if let Some(other) = names.insert(spec.name.clone(), file.clone()) {
                let problem = spec.problem(
                    "name",
                    format!("{other} has the name {:?} too", spec.name),
                    "give each its own name",
                );
                self.wrong(file, vec![problem]);
                continue;
            }
            self.connection(file, source, spec, available, approve);
        }
        for name in approve.iter().filter(|name| !names.contains_key(*name)) {
            let mend = "name a connection of this folder";
            self.problems.push(FileProblem::whole(
                "connections",
                format!("--approve {name}: there is no such connection"),
                mend,
            ));
        }
    }

    fn connection(
        &mut self,
        file: &str,
        source: &str,
        spec: ConnectionSpec,
        available: &BTreeMap<String, PlannedConnector>,
        approve_names: &[String],
    ) {
        let before = self.rows.connections.iter().find(|row| row.name == spec.name);
        let Some(Chosen { version, waiting }) = self.choose(file, &spec, before, available, approve_names) else {
            return;
        };
        let actions = match approve(&version.description, &version.digest, &spec, 0) {
            Ok(actions) => actions,
            Err(problems) => return self.wrong(file, with_way_out(problems, &spec, waiting.as_ref())),
        };
        let lines = match before.filter(|before| before.digest != version.digest) {
            Some(before) => self.upgrade(&before.digest, &version),
            None => Vec::new(),
        };
        if let Some(other) = &waiting {
            self.plan.waiting.push(Waiting {
                connection: spec.name.clone(),
                lines: waits(&spec.name, &version, other),
            });
        }
        let planned = PlannedConnection {
            file: file.to_owned(),
            source: source.to_owned(),
            spec,
            digest: version.digest,
            actions,
            waiting,
        };
        self.note_connection(&planned, before, lines);
        self.plan.connections.push(planned);
    }

    /// Says what changes, if anything does.
    fn note_connection(
        &mut self,
        planned: &PlannedConnection,
        before: Option<&StoredConnection>,
        mut lines: Vec<String>,
    ) {
        let PlannedConnection {
            source,
            spec,
            digest,
            actions,
            ..
        } = planned;
        let active = before.filter(|before| before.active);
        let patterns: Vec<String> = spec.flows.iter().map(|pattern| pattern.0.clone()).collect();
        if active.is_some_and(|row| row.source == *source && row.digest == *digest && row.flows == patterns) {
            return;
        }
        let old = before.and_then(|before| ConnectionSpec::parse(&before.source).ok());
        if old.is_some_and(|old| moves(&old, spec)) {
            let line = "it goes to another place: steps in doubt at the old one are not asked for or sent again, a person decides";
            lines.push(line.to_owned());
        }
        lines.extend(say::connection(spec, actions));
        let verb = if active.is_some() { Verb::Change } else { Verb::Add };
        self.plan.changes.push(Change {
            verb,
            subject: Subject::Connection,
            name: spec.name.clone(),
            lines,
        });
    }

    /// What an approved change of the bytes means.
    fn upgrade(&self, before: &str, after: &Version) -> Vec<String> {
        let (old, rights) = match self.stored_version(before) {
            Some(Ok(old)) => (old.to_string(), difference(&old, after)),
            Some(Err(_)) | None => (before.to_owned(), rights::of(&after.description.manifest)),
        };
        let mut lines = vec![format!("its connector changes from {old} to {after}:")];
        lines.extend(rights);
        lines.push(
            "steps in doubt are settled with the bytes that sent them, all others go on with the new ones".into(),
        );
        lines
    }
}

/// Why a connection does not use what is there, and what that may do.
fn waits(connection: &str, version: &Version, other: &Version) -> Vec<String> {
    let mut lines = vec![format!("it stays with {version}; {other} is there and not approved:")];
    lines.extend(difference(version, other));
    lines.push(format!("apply with --approve {connection} to use it"));
    lines
}

fn difference(old: &Version, new: &Version) -> Vec<String> {
    let lines = rights::difference(&old.description.manifest, &new.description.manifest);
    if lines.is_empty() {
        vec!["what it may do stays the same".into()]
    } else {
        lines
    }
}

/// Where a file does not fit the approved bytes, but those that wait, it was probably written for them.
fn with_way_out(problems: Vec<Problem>, spec: &ConnectionSpec, waiting: Option<&Version>) -> Vec<Problem> {
    let Some(other) = waiting.filter(|other| approve(&other.description, &other.digest, spec, 0).is_ok()) else {
        return problems;
    };
    let way_out = |problem: Problem| Problem {
        mend: format!(
            "{}; or use {other}, which it fits, with --approve {}",
            problem.mend, spec.name
        ),
        ..problem
    };
    problems.into_iter().map(way_out).collect()
}
