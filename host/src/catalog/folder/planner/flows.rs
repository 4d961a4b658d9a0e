//! Flows in a plan: read, checked against the connections, and compared with what is in force.

use super::super::plan::{Change, PlannedFlow, Subject, Verb};
use super::super::{FileProblem, Folder, say, uses};
use super::{Planner, Version};
use crate::catalog::Problem;
use crate::flow::{Flow, StepPlan};
use crate::ledger::StoredFlow;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Said where a flow gets another event key.
const OTHER_KEY: &str =
    "its events get another key: one that has run before the change runs again if it is delivered once more";

impl Planner<'_> {
    pub(super) fn flows(&mut self, folder: &Folder) {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut paths: BTreeMap<String, String> = BTreeMap::new();
        for (file, source) in &folder.flows {
            let asked = RefCell::new(BTreeMap::new());
            let examples = |name: &str| {
                // One that is not UTF-8 is there all the same: that it is missing would be wrong.
                let not_text = || folder.not_text.get(&format!("flows/{name}"));
                let lossy = || Some(String::from_utf8_lossy(not_text()?).into_owned());
                let text = folder.examples.get(name).cloned().or_else(lossy)?;
                asked.borrow_mut().insert(name.to_owned(), text.clone());
                Some(text)
            };
            let flow = match Flow::parse(source, &examples) {
                Ok((flow, warnings)) => {
                    let warnings = warnings.into_iter().map(Problem::from);
                    self.plan.warnings.extend(warnings.map(|problem| FileProblem {
                        file: file.clone(),
                        problem,
                    }));
                    flow
                }
                Err(problems) => {
                    self.wrong(file, problems.into_iter().map(Problem::from).collect());
                    continue;
                }
            };
            if let Some(other) = names.insert(flow.name().to_owned(), file.clone()) {
                let what = format!("{other} has the name {:?} too", flow.name());
                self.problems
                    .push(FileProblem::whole(file, what, "give each flow its own name"));
            }
            if let Some(webhook) = flow.webhook()
                && let Some(other) = paths.insert(webhook.path.clone(), file.clone())
            {
                let what = format!("{other} has the webhook path {:?} too", webhook.path);
                self.problems
                    .push(FileProblem::whole(file, what, "give each flow its own path"));
            }
            self.check_uses(file, source, &flow);
            self.note_flow(&flow, source, asked.into_inner());
        }
    }

    fn check_uses(&mut self, file: &str, source: &str, flow: &Flow) {
        let (steps, notify) = uses::places(source);
        let plans = flow.steps().iter().zip(steps).chain(flow.notify().iter().zip(notify));
        for (step, (line, column)) in plans {
            if let Some((what, mend)) = self.unusable(flow.name(), step) {
                self.wrong(
                    file,
                    vec![Problem {
                        line,
                        column,
                        what,
                        mend,
                    }],
                );
            }
        }
    }

    fn unusable(&self, flow: &str, step: &StepPlan) -> Option<(String, String)> {
        let Some(connection) = self
            .plan
            .connections
            .iter()
            .find(|planned| planned.spec.name == step.connection)
        else {
            // Its own file is not right: that is reported there.
            if self.is_wrong("connections") {
                return None;
            }
            let known: Vec<_> = self
                .plan
                .connections
                .iter()
                .map(|planned| planned.spec.name.as_str())
                .collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            return Some((
                format!("there is no connection {:?}", step.connection),
                format!("the connections are: {known}"),
            ));
        };
        if !connection.spec.grants(flow) {
            let what = format!(
                "the connection {:?} is not granted to the flow {flow:?}",
                step.connection
            );
            return Some((what, format!("add {flow:?} to `flows` in {}", connection.file)));
        }
        if !connection.actions.contains_key(&step.action) {
            let known: Vec<_> = connection.actions.keys().map(String::as_str).collect();
            let what = format!(
                "the connection {:?} approves no action {:?}",
                step.connection, step.action
            );
            let mut mend = format!("it approves: {}", known.join(", "));
            let offers = |other: &&Version| other.description.manifest.actions.contains_key(&step.action);
            if let Some(other) = connection.waiting.as_ref().filter(offers) {
                mend += &format!("; {other} has it, use that with --approve {}", step.connection);
            }
            return Some((what, mend));
        }
        None
    }

    fn note_flow(&mut self, flow: &Flow, source: &str, examples: BTreeMap<String, String>) {
        let row = self.rows.flows.iter().find(|row| row.name == flow.name());
        let active = row.filter(|row| row.active);
        if !active.is_some_and(|row| row.source == source && row.examples == examples) {
            let renamed = flow.renamed_from().filter(|_| row.is_none());
            let verb = if active.is_some() || renamed.is_some() {
                Verb::Change
            } else {
                Verb::Add
            };
            let mut lines = say::flow(flow, renamed);
            let before = |row: &&StoredFlow| Some(row.name.as_str()) == renamed;
            let row = row.or_else(|| self.rows.flows.iter().find(before));
            if row.is_some_and(|row| key_of(&row.source) != key_of(source)) {
                lines.push(OTHER_KEY.to_owned());
            }
            self.plan.changes.push(Change {
                verb,
                subject: Subject::Flow,
                name: flow.name().to_owned(),
                lines,
            });
        }
        self.plan.flows.push(PlannedFlow {
            name: flow.name().to_owned(),
            renamed_from: flow.renamed_from().map(str::to_owned),
            source: source.to_owned(),
            examples,
        });
    }
}

/// As it is written; `None`: a scheme gives it.
fn key_of(source: &str) -> Option<toml::Value> {
    let flow: toml::Table = source.parse().ok()?;
    flow.get("trigger")?.get("webhook")?.get("key").cloned()
}
