//! The connection with which a case is played: the operator's own file, or one made of the manifest's proposals, turned to
//! the scripted destination and to times that a drill can wait for.

use super::cases::{LOOKUP_AFTER_MS, TIMEOUT_MS};
use crate::catalog::manifest::{Example, Manifest, Says};
use serde_json::Value as Json;
use toml::{Table, Value};

/// The variable that holds every secret while the drill plays.
pub const SECRET_VARIABLE: &str = "ONCEGATE_SECRET_DRILL";

/// A connection as an operator would write it who approves what the manifest proposes.
pub fn proposed(manifest: &Manifest) -> Table {
    let mut connection = Table::new();
    set(&mut connection, "connector", manifest.name.as_str());
    set(&mut connection, "account", "drill");
    let mut secrets = Table::new();
    for name in manifest.auth.secrets() {
        secrets.insert(name.to_owned(), Value::Table(Table::new()));
    }
    connection.insert("secrets".to_owned(), Value::Table(secrets));
    if let Some(proposal) = &manifest.refused_before_effect {
        let statuses = proposal.statuses.iter().map(|status| Value::from(i64::from(*status)));
        let trust = table(&mut connection, "trust");
        trust.insert("refused_before_effect".to_owned(), Value::Array(statuses.collect()));
    }
    for (name, action) in &manifest.actions {
        let absent = action.example.as_ref().and_then(absent_status);
        if let (Some(_), Some(status)) = (action.lookup_after_ms, absent) {
            let actions = table(table(&mut connection, "trust"), "actions");
            let statuses = vec![Value::from(i64::from(status))];
            table(actions, name).insert("absent_on".to_owned(), Value::Array(statuses));
        }
    }
    connection
}

/// Turns a connection to the scripted destination. What it says about the destination stays as it is, but for times: the
/// drill's destination is faster than any real one.
pub fn turned(connection: &Table, name: &str, origin: &str, manifest: &Manifest, example: &Example) -> Table {
    let mut connection = connection.clone();
    for unwanted in ["digest", "examples"] {
        connection.remove(unwanted);
    }
    set(&mut connection, "name", name);
    connection.insert("flows".to_owned(), Value::Array(vec![Value::from(name)]));
    let mut endpoints = Table::new();
    for endpoint in manifest.endpoints.keys() {
        set(&mut endpoints, endpoint, origin);
    }
    endpoints.insert("plain_http".to_owned(), Value::Boolean(true));
    let loopback = Value::Array(vec![Value::from("127.0.0.1/32")]);
    endpoints.insert("allow_addresses".to_owned(), loopback);
    connection.insert("endpoints".to_owned(), Value::Table(endpoints));
    for (_, secret) in table(&mut connection, "secrets").iter_mut() {
        let mut place = Table::new();
        set(&mut place, "env", SECRET_VARIABLE);
        *secret = Value::Table(place);
    }
    let mut limits = Table::new();
    set(&mut limits, "timeout", format!("{TIMEOUT_MS}ms").as_str());
    connection.insert("limits".to_owned(), Value::Table(limits));
    if let Some(Json::Object(settings)) = &example.settings {
        let own = table(&mut connection, "settings");
        own.extend(
            settings
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), to_toml(value)?))),
        );
    }
    quick_lookups(table(&mut connection, "trust"), manifest);
    connection
}

fn quick_lookups(trust: &mut Table, manifest: &Manifest) {
    let quick = Value::from(format!("{LOOKUP_AFTER_MS}ms"));
    if let Some(said) = trust.get_mut("lookup_after") {
        *said = quick.clone();
    }
    let actions = table(trust, "actions");
    for (name, action) in &manifest.actions {
        if action.lookup_after_ms.is_some() {
            table(actions, name);
        }
    }
    for (name, action) in actions.iter_mut() {
        let proposed = manifest.actions.get(name).and_then(|action| action.lookup_after_ms);
        if let Value::Table(action) = action
            && (proposed.is_some() || action.contains_key("lookup_after"))
        {
            action.insert("lookup_after".to_owned(), quick.clone());
        }
    }
}

/// The status with which a lookup says *not there*, where it is not a 2xx.
fn absent_status(example: &Example) -> Option<u16> {
    example.answers.iter().find_map(|answer| match &answer.says {
        Says::Lookup { absent, .. } => (absent.status >= 300).then_some(absent.status),
        Says::Always(_) => None,
    })
}

fn set(table: &mut Table, name: &str, text: &str) {
    table.insert(name.to_owned(), Value::from(text));
}

/// The table of that name, made where there is none.
fn table<'t>(outer: &'t mut Table, name: &str) -> &'t mut Table {
    let value = outer.entry(name).or_insert_with(|| Value::Table(Table::new()));
    if !value.is_table() {
        *value = Value::Table(Table::new());
    }
    value.as_table_mut().expect("it was made a table just now")
}

/// JSON as TOML; what TOML has no word for (`null`, numbers beyond 64 bits) is left out.
fn to_toml(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(flag) => Value::Boolean(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => Value::Float(number.as_f64()?),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::Array(items.iter().filter_map(to_toml).collect()),
        Json::Object(fields) => Value::Table(
            fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), to_toml(value)?)))
                .collect(),
        ),
    })
}
