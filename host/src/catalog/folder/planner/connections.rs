//! Connections in a plan: which bytes each is for, what it approves, and what changes under it.

use super::super::plan::{Change, PlannedConnection, PlannedConnector, Subject, Verb};
use super::super::{FileProblem, Folder, say};
use super::Planner;
use crate::catalog::approved::{approve, moves};
use crate::catalog::connection::ConnectionSpec;
use crate::catalog::rights;
use crate::catalog::section::{self, Description};
use crate::ledger::StoredConnection;
use std::collections::BTreeMap;
use std::sync::Arc;

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
        let Some((digest, description)) = self.choose(file, &spec, before, available) else {
            return;
        };
        let actions = match approve(&description, &digest, &spec, 0) {
            Ok(actions) => actions,
            Err(problems) => return self.wrong(file, problems),
        };
        let mut lines = Vec::new();
        if let Some(before) = before.filter(|before| before.digest != digest) {
            lines.push(format!("its connector changes from {} to {digest}:", before.digest));
            lines.extend(self.rights_difference(before, &description));
            // A digest that is written in the file is an approval of its own.
            if spec.digest.is_none() && !approve_names.contains(&spec.name) {
                self.plan.unapproved.push(spec.name.clone());
                lines.push(format!("this needs your approval: --approve {}", spec.name));
            }
        }
        let planned = PlannedConnection {
            file: file.to_owned(),
            source: source.to_owned(),
            spec,
            digest,
            actions,
        };
        self.note_connection(&planned, before, lines);
        self.plan.connections.push(planned);
    }

    /// The bytes that a connection is for: those it names; else the folder's; else those it had.
    fn choose(
        &mut self,
        file: &str,
        spec: &ConnectionSpec,
        before: Option<&StoredConnection>,
        available: &BTreeMap<String, PlannedConnector>,
    ) -> Option<(String, Arc<Description>)> {
        let found = available.get(&spec.connector);
        let pinned = match (&spec.digest, found, before) {
            (Some(digest), ..) => digest.clone(),
            (None, Some(found), _) => found.digest.clone(),
            (None, None, Some(before)) => before.digest.clone(),
            (None, None, None) => {
                let known: Vec<_> = available.keys().map(String::as_str).collect();
                let mend = format!(
                    "put its .wasm into connectors/; there are: {}",
                    if known.is_empty() {
                        "none".into()
                    } else {
                        known.join(", ")
                    }
                );
                self.wrong(
                    file,
                    vec![spec.problem("connector", format!("there is no connector {:?}", spec.connector), mend)],
                );
                return None;
            }
        };
        if let Some(found) = available.values().find(|connector| connector.digest == pinned) {
            return Some((pinned, found.description.clone()));
        }
        let stored = self.rows.connectors.iter().find(|row| row.digest == pinned);
        match stored.map(|stored| section::describe(&stored.manifest)) {
            Some(Ok(description)) => Some((pinned, Arc::new(description))),
            Some(Err(error)) => {
                self.problems.push(FileProblem::said(file, &error.to_string()));
                None
            }
            None => {
                let has = found.map_or("nobody has those bytes".to_owned(), |found| {
                    format!("{} is {}", found.file, found.digest)
                });
                let mend = "read what the connector may do, then write its digest here, or leave `digest` out";
                self.wrong(
                    file,
                    vec![spec.problem("digest", format!("the approved bytes are {pinned}, and {has}"), mend)],
                );
                None
            }
        }
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

    fn rights_difference(&self, before: &StoredConnection, description: &Description) -> Vec<String> {
        let old = self.rows.connectors.iter().find(|row| row.digest == before.digest);
        let Some(Ok(old)) = old.map(|row| section::describe(&row.manifest)) else {
            return rights::of(&description.manifest);
        };
        let lines = rights::difference(&old.manifest, &description.manifest);
        if lines.is_empty() {
            vec!["what it may do stays the same".into()]
        } else {
            lines
        }
    }
}
