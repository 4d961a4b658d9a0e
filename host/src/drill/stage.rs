//! Everything that one drill needs, prepared: for each case a service of the scripted destination, a connection to it and a
//! flow with one step, so that all cases play at the same time and none sees another's requests.

use super::cases::Case;
use super::connection;
use super::expected::REFUSALS;
use crate::catalog::approved::approve;
use crate::catalog::manifest::{Example, ExampleAnswer, KEY_MARK, Reply, Says};
use crate::catalog::section::Description;
use crate::catalog::{Approved, ConnectionSpec, KeyPlace, RequestKind};
use crate::destination::{Dedup, Reaction, Route, Scripted, Service, Spoken};
use anyhow::{Context, anyhow, ensure};
use oncegate_domain::doubt;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;
use toml::Table;

/// What is drilled.
pub struct Subject {
    /// The connector's bytes.
    pub bytes: Vec<u8>,
    /// Their digest.
    pub digest: String,
    /// What it says about itself.
    pub description: Description,
    /// The operator's connection, and the examples in it; `None`: the manifest's proposals are taken.
    pub connection: Option<(Table, ConnectionSpec)>,
    /// Where compiled connectors are kept from one drill to the next; `None`: nowhere.
    pub cache: Option<PathBuf>,
}

/// One case, ready to be played. Service, connection, flow and hook have the same name.
pub struct Cell {
    /// That name.
    pub name: String,
    /// The case.
    pub case: Case,
    /// The action, and what is approved about it.
    pub approved: Arc<Approved>,
    /// What the flow gives it.
    pub input: Value,
    /// The destination.
    pub service: Service,
    /// Which one it is, where a case is played in several ways.
    pub note: Option<String>,
}

/// Somebody else's input, and how it differs from ours.
struct Stranger {
    input: Value,
    differs_in: Option<String>,
}

impl Subject {
    fn connection(&self) -> Table {
        match &self.connection {
            Some((table, _)) => table.clone(),
            None => connection::proposed(&self.description.manifest),
        }
    }

    /// The example of an action; the connection's own goes before.
    pub fn example(&self, action: &str) -> Option<&Example> {
        let own = self.connection.as_ref().and_then(|(_, spec)| spec.examples.get(action));
        let proposed = self.description.manifest.actions.get(action);
        own.or_else(|| proposed.and_then(|action| action.example.as_ref()))
    }

    /// The file of the connection with which `cell` is played.
    pub fn connection_file(&self, cell: &Cell, origin: &str, example: &Example) -> anyhow::Result<String> {
        let manifest = &self.description.manifest;
        let turned = connection::turned(&self.connection(), &cell.name, origin, manifest, example);
        toml::to_string(&turned).context("the drill's connection cannot be written")
    }

    /// What is approved, by action, once a connection is turned to the drill's destination.
    ///
    /// # Errors
    /// Manifest and connection do not fit.
    pub fn approved(&self) -> anyhow::Result<Vec<Arc<Approved>>> {
        let nothing = Example {
            input: Value::Object(Map::new()),
            settings: None,
            answers: Vec::new(),
        };
        let manifest = &self.description.manifest;
        let settings = manifest
            .actions
            .keys()
            .find_map(|action| self.example(action)?.settings.clone());
        let example = Example { settings, ..nothing };
        let turned = connection::turned(&self.connection(), "drill", "http://127.0.0.1:9", manifest, &example);
        let said = |problems: Vec<crate::catalog::Problem>| {
            let said: Vec<String> = problems
                .iter()
                .map(|problem| format!("{}; {}", problem.what, problem.mend))
                .collect();
            anyhow!("connector and connection do not fit: {}", said.join("\n"))
        };
        let spec = ConnectionSpec::parse(&toml::to_string(&turned)?).map_err(said)?;
        let approved = approve(&self.description, &self.digest, &spec, 1).map_err(said)?;
        ensure!(
            !approved.is_empty(),
            "the connection grants no action; list the requests of one in [[trust.actions.NAME.requests]]"
        );
        Ok(approved.into_values().collect())
    }

    /// The cases of one action.
    ///
    /// # Errors
    /// The example does not fit the action.
    pub fn cells(&self, approved: &Arc<Approved>, example: &Example, first: usize) -> anyhow::Result<Vec<Cell>> {
        let action = &approved.action;
        approved
            .check_input(&example.input)
            .map_err(|why| anyhow!("the example of {action:?} is no input of it: {why}"))?;
        let has_lookup = approved.terms.lookup_after_ms.is_some();
        let strangers = strangers(example, &approved.natural);
        let cases = Case::ALL.into_iter().filter(|case| case.is_about(has_lookup));
        let plays = cases.flat_map(|case| {
            let ways = match case {
                Case::StrangersRecord => &strangers[..],
                _ => &strangers[..1],
            };
            ways.iter().map(move |stranger| (case, stranger))
        });
        let cell = |(at, (case, stranger)): (usize, (Case, &Stranger))| {
            let name = format!("cell-{}", first + at);
            let scripted = script(approved, example, case, &stranger.input)?;
            let differs_in = stranger.differs_in.as_ref().filter(|_| case.shows_a_stranger());
            Ok(Cell {
                service: Service::of_script(&name, scripted).dedup(dedup(approved)),
                name,
                case,
                approved: Arc::clone(approved),
                input: example.input.clone(),
                note: differs_in.map(|field| format!("the record of somebody else differs only in {field:?}")),
            })
        };
        plays.enumerate().map(cell).collect()
    }
}

/// What the connection says that the destination does about duplicates, the drill's destination does.
fn dedup(approved: &Approved) -> Dedup {
    match (approved.terms.dedup, &approved.key) {
        (doubt::Dedup::Natural { .. }, _) => Dedup::Repeat,
        (doubt::Dedup::Key { .. }, KeyPlace::Header { name, .. }) => Dedup::Header(name.clone()),
        (doubt::Dedup::Key { .. }, KeyPlace::Field { pointer, .. }) => Dedup::Field(pointer.clone()),
        (doubt::Dedup::Key { .. }, KeyPlace::None) | (doubt::Dedup::None, _) => Dedup::None,
    }
}

/// The destination's answers, from the example.
fn script(approved: &Approved, example: &Example, case: Case, stranger: &Value) -> anyhow::Result<Vec<Scripted>> {
    let spoken = |reply: &Reply, input: &Value| Spoken {
        status: reply.status,
        body: reply.body_for(input),
    };
    let answer = |rule: &crate::catalog::manifest::RequestRule| {
        let request = rule.to_string();
        let found = example.answers.iter().find(|answer| answer.request == request);
        let ExampleAnswer { says, .. } = found.with_context(|| {
            format!(
                "the example of {:?} has no answer to {request}; add to `answers` one with request = {request:?} and a \
                 status, or with what is `found` and `absent`",
                approved.action
            )
        })?;
        let says = match (rule.kind, says) {
            (RequestKind::Write, Says::Always(reply)) => Reaction::Write(spoken(reply, &example.input)),
            (RequestKind::Read, Says::Always(reply)) => Reaction::Read(spoken(reply, &example.input)),
            (RequestKind::Read, Says::Lookup { found, absent }) => Reaction::Lookup {
                found: spoken(found, &example.input),
                absent: match case.shows_a_stranger() {
                    true => Spoken {
                        status: found.status,
                        body: found.body_for(stranger).replace(KEY_MARK, "somebody-elses-key"),
                    },
                    false => spoken(absent, &example.input),
                },
            },
            (RequestKind::Write, Says::Lookup { .. }) => {
                anyhow::bail!("the answer to {request} has `found` and `absent`, and it is a write; give it one status")
            }
        };
        let segments = rule.path_text();
        let path: Vec<&str> = segments
            .split('/')
            .map(|segment| if segment.starts_with('{') { "{}" } else { segment })
            .collect();
        Ok(Scripted {
            route: Route::new(&rule.method, &path.join("/")),
            says,
        })
    };
    approved.requests().iter().map(answer).collect()
}

/// Everybody else whose record a lookup could meet: first one that shares the natural key and nothing else, then for each
/// field that a found record shows one that differs in it alone. Who compares a field less takes one of them for ours.
fn strangers(example: &Example, natural: &[String]) -> Vec<Stranger> {
    let shown = |input: &Value| -> Vec<String> {
        let found = example.answers.iter().filter_map(|answer| match &answer.says {
            Says::Lookup { found, .. } => Some(found.body_for(input)),
            Says::Always(_) => None,
        });
        found.collect()
    };
    let mut strangers = vec![Stranger {
        input: stranger(&example.input, natural, ""),
        differs_in: None,
    }];
    for (name, value) in example.input.as_object().into_iter().flatten() {
        let below = name.replace('~', "~0").replace('/', "~1");
        let mut input = example.input.clone();
        input[name] = stranger(value, natural, &format!("/{below}"));
        if shown(&input) != shown(&example.input) {
            let differs_in = Some(name.clone());
            strangers.push(Stranger { input, differs_in });
        }
    }
    strangers
}

/// The input of somebody else whose record has the same natural key and nothing else in common.
fn stranger(value: &Value, natural: &[String], at: &str) -> Value {
    if natural.iter().any(|pointer| pointer == at) {
        return value.clone();
    }
    match value {
        Value::String(text) => Value::String(format!("{text} (of somebody else)")),
        Value::Number(_) => Value::from(4_711_004_711_u64),
        Value::Bool(flag) => Value::Bool(!flag),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| stranger(item, natural, &format!("{at}/{index}")))
            .collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, field)| {
                    let below = name.replace('~', "~0").replace('/', "~1");
                    (name.clone(), stranger(field, natural, &format!("{at}/{below}")))
                })
                .collect(),
        ),
        Value::Null => Value::Null,
    }
}

impl Cell {
    /// The flow: one step, whose input comes with the event, so that nothing of it is taken for a template.
    pub fn flow_file(&self) -> String {
        let name = &self.name;
        let fields = self.input.as_object().into_iter().flatten();
        let with: String = fields
            .filter(|(_, value)| !value.is_null())
            .map(|(field, _)| {
                let field = Value::from(field.as_str());
                let path = format!("{{{{ body.input[{field}] }}}}");
                format!("{field} = {}\n", Value::from(path))
            })
            .collect();
        format!(
            "name = \"{name}\"\ntitle = \"{}: {}\"\n\n[trigger.webhook]\npath = \"{name}\"\nverify = \"none\"\nkey = \"{{{{ \
             body.key }}}}\"\n\n[[steps]]\nid = \"step\"\nuse = \"{name}.{}\"\nretry = {{ attempts = 6, first = \
             \"300ms\", factor = 2, longest = \"2s\", refusals = {REFUSALS} }}\n[steps.with]\n{with}",
            self.approved.action,
            self.case.name(),
            self.approved.action,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stranger_is_made_for_each_field_that_a_found_record_shows() {
        let reply = |body| Reply { status: 200, body };
        let example = Example {
            input: json!({ "email": "a@b.c", "name": "Ada", "age": 7, "unseen": "x" }),
            settings: None,
            answers: vec![ExampleAnswer {
                request: "GET /people".to_owned(),
                says: Says::Lookup {
                    found: reply(json!([{ "mail": "{{input./email}}", "who": "{{input./name}}, {{input./age}}" }])),
                    absent: reply(json!([])),
                },
            }],
        };
        let strangers = strangers(&example, &["/email".to_owned()]);
        let differ: Vec<Option<&str>> = strangers
            .iter()
            .map(|stranger| stranger.differs_in.as_deref())
            .collect();
        assert_eq!(differ, [None, Some("age"), Some("name")]);
        assert_eq!(strangers[2].input["age"], 7);
    }

    #[test]
    fn a_stranger_shares_the_natural_key_and_nothing_else() {
        let input = json!({ "email": "a@b.c", "age": 7, "vip": true, "tags": ["x"], "none": null });
        assert_eq!(
            stranger(&input, &["/email".to_owned()], ""),
            json!({ "email": "a@b.c", "age": 4_711_004_711_u64, "vip": false, "tags": ["x (of somebody else)"], "none": null })
        );
    }
}
