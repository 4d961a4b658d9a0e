//! What applying a folder would change. Pure: files and ledger rows in, a plan or everything that is wrong out.

use super::super::approved::{self, approve};
use super::super::connection::ConnectionSpec;
use super::super::section::{self, Description};
use super::super::{Approved, Problem, builtin, rights};
use super::{FileProblem, Folder, uses};
use crate::flow::{Flow, StepPlan};
use crate::ledger::{CatalogRows, Ledger, LedgerError, NewConnection, NewConnector, NewFlow, StoredConnection};
use crate::runtime::check_interface;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What would change, and all that it takes to do it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In words, connectors first.
    pub changes: Vec<Change>,
    /// Doubtful, not wrong.
    pub warnings: Vec<FileProblem>,
    /// Connections whose connector changed without approval; nothing is applied while there are any.
    pub unapproved: Vec<String>,
    pub(super) connectors: Vec<PlannedConnector>,
    pub(super) seen: Vec<String>,
    connections: Vec<PlannedConnection>,
    flows: Vec<PlannedFlow>,
    gone: Vec<(Subject, String)>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What happens.
    pub verb: Verb,
    /// To what kind of thing.
    pub subject: Subject,
    /// To which.
    pub name: String,
    /// More about it, a sentence a line.
    pub lines: Vec<String>,
}

/// What happens to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It is new.
    Add,
    /// It gets a new revision.
    Change,
    /// It is not used any more; its records stay.
    Deactivate,
}

/// Kinds of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A connector.
    Connector,
    /// A connection.
    Connection,
    /// A flow.
    Flow,
}

#[derive(Clone, Debug)]
pub(super) struct PlannedConnector {
    pub(super) file: String,
    pub(super) bytes: Arc<[u8]>,
    digest: String,
    description: Arc<Description>,
}

#[derive(Clone, Debug)]
struct PlannedConnection {
    file: String,
    source: String,
    spec: ConnectionSpec,
    digest: String,
    actions: BTreeMap<String, Arc<Approved>>,
}

#[derive(Clone, Debug)]
struct PlannedFlow {
    name: String,
    renamed_from: Option<String>,
    source: String,
    examples: BTreeMap<String, String>,
}

/// `sha256:` and the lower-case hexadecimal digest.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(bytes)))
}

/// What a plan rests on, to be compared before it is carried out.
pub(super) fn seen(rows: &CatalogRows) -> Vec<String> {
    let flows = rows
        .flows
        .iter()
        .map(|row| format!("flow {} {} {}", row.name, row.revision, row.active));
    let connections = rows.connections.iter();
    let connections = connections.map(|row| format!("connection {} {} {}", row.name, row.revision, row.active));
    let mut seen: Vec<String> = flows.chain(connections).collect();
    seen.sort();
    seen
}

/// Makes the plan.
///
/// # Errors
/// Everything that is wrong in the folder.
pub fn plan(folder: &Folder, rows: &CatalogRows, approve: &[String]) -> Result<Plan, Vec<FileProblem>> {
    let mut planner = Planner {
        rows,
        problems: Vec::new(),
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

struct Planner<'r> {
    rows: &'r CatalogRows,
    problems: Vec<FileProblem>,
    plan: Plan,
}

impl Planner<'_> {
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
        for (name, bytes) in builtin() {
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

    fn connections(&mut self, folder: &Folder, available: &BTreeMap<String, PlannedConnector>, approve: &[String]) {
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
        let approved_here = spec.digest.is_some() || approve_names.contains(&spec.name);
        self.note_connection(&spec, source, before, &digest, &description, &actions, approved_here);
        self.plan.connections.push(PlannedConnection {
            file: file.to_owned(),
            source: source.to_owned(),
            spec,
            digest,
            actions,
        });
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

    #[allow(
        clippy::too_many_arguments,
        reason = "one line of the plan; each is a plain fact about it"
    )]
    fn note_connection(
        &mut self,
        spec: &ConnectionSpec,
        source: &str,
        before: Option<&StoredConnection>,
        digest: &str,
        description: &Description,
        actions: &BTreeMap<String, Arc<Approved>>,
        approved_here: bool,
    ) {
        let mut lines = Vec::new();
        let active = before.filter(|before| before.active);
        if let Some(before) = before
            && before.digest != digest
        {
            lines.push(format!("its connector changes from {} to {digest}:", before.digest));
            lines.extend(self.rights_difference(before, description));
            if !approved_here {
                self.plan.unapproved.push(spec.name.clone());
                lines.push(format!("this needs your approval: --approve {}", spec.name));
            }
        }
        if let Some(before) = before
            && ConnectionSpec::parse(&before.source).is_ok_and(|before| approved::moves(&before, spec))
        {
            lines.push(
                "it goes to another place: steps in doubt at the old one are not asked or sent again, a person decides"
                    .into(),
            );
        }
        let patterns: Vec<String> = spec.flows.iter().map(|pattern| pattern.0.clone()).collect();
        let same = active.is_some_and(|row| row.source == source && row.digest == digest && row.flows == patterns);
        if same {
            return;
        }
        lines.extend(super::say::connection(spec, actions));
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

    fn flows(&mut self, folder: &Folder) {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut paths: BTreeMap<String, String> = BTreeMap::new();
        for (file, source) in &folder.flows {
            let asked = RefCell::new(BTreeMap::new());
            let examples = |name: &str| {
                let text = folder.examples.get(name).cloned()?;
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
            if self
                .problems
                .iter()
                .any(|problem| problem.file.starts_with("connections/"))
            {
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
            return Some((what, format!("it approves: {}", known.join(", "))));
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
            let lines = super::say::flow(flow, renamed);
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

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) async fn store(self, ledger: &Ledger, who: &str, at_ms: i64) -> Result<(), LedgerError> {
        let who = || who.to_owned();
        for connector in self.connectors {
            let manifest = &connector.description.manifest;
            let (name, version) = (manifest.name.clone(), manifest.version.clone());
            let (bytes, json) = (connector.bytes.to_vec(), connector.description.json.clone());
            let new = NewConnector {
                digest: connector.digest,
                name,
                version,
                bytes,
                manifest: json,
                at_ms,
                who: who(),
            };
            ledger.save_connector(new).await?;
        }
        for planned in self.connections {
            let flows = planned.spec.flows.iter().map(|pattern| pattern.0.clone()).collect();
            let (name, source, digest) = (planned.spec.name, planned.source, planned.digest);
            ledger
                .save_connection(NewConnection {
                    name,
                    source,
                    digest,
                    flows,
                    at_ms,
                    who: who(),
                })
                .await?;
        }
        for flow in self.flows {
            let PlannedFlow {
                name,
                renamed_from,
                source,
                examples,
            } = flow;
            ledger
                .save_flow(NewFlow {
                    name,
                    renamed_from,
                    source,
                    examples,
                    at_ms,
                    who: who(),
                })
                .await?;
        }
        for (subject, name) in self.gone {
            match subject {
                Subject::Flow => ledger.deactivate_flow(&name, &who(), at_ms).await?,
                Subject::Connection => ledger.deactivate_connection(&name, &who(), at_ms).await?,
                Subject::Connector => {}
            }
        }
        Ok(())
    }
}
