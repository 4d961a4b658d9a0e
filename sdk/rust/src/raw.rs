//! Below the typed actions: calls as the host makes them, with JSON text. [`crate::export!`] writes a [`RawConnector`] for
//! an author; one who must return what the typed side never would (a hostile test guest) writes it by hand and uses
//! [`crate::export_raw!`].

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::any::TypeId;

use crate::action::{Action, Call, Doubt, NoSettings};
use crate::answer::Answer;
use crate::failure::{Effect, Failure, Finding};
use crate::host;
use crate::http::{SendError, Wire};

/// One call, as it came.
#[derive(Clone, Debug, Default)]
pub struct RawCall {
    /// The action's name.
    pub action: String,
    /// The input as JSON.
    pub input: String,
    /// The step key.
    pub key: String,
    /// The settings as JSON.
    pub settings: String,
}

/// A connector without types.
pub trait RawConnector {
    /// Does the action; the text is its output as JSON.
    fn perform(call: RawCall) -> Result<String, Failure>;

    /// Looks for the effect; the output in what it found is JSON text.
    fn lookup(call: RawCall, doubt: Doubt) -> Finding<String>;

    /// What `oncegate_describe` returns: `{"actions": {NAME: {"input": SCHEMA, "output": SCHEMA}}, "settings": SCHEMA or null}`.
    fn describe() -> String;
}

/// Sends a request as it is, without the builder's checks.
pub fn send(wire: Wire) -> Result<Answer, SendError> {
    host::send(wire)
}

/// Calls `perform` with types read from the text.
pub fn perform<A: Action>(call: &RawCall) -> Result<String, Failure> {
    let output = A::perform(&typed::<A>(call)?)?;
    write(&output).map_err(|error| Failure::unsure("output", error))
}

/// Calls `lookup` with types read from the text.
pub fn lookup<A: Action>(call: &RawCall, doubt: &Doubt) -> Finding<String> {
    let found = typed::<A>(call).and_then(|call| A::lookup(&call, doubt));
    match found {
        Ok(Finding::Found(Effect {
            output,
            reference,
            matched,
        })) => match write(&output) {
            Ok(output) => Finding::Found(Effect {
                output,
                reference,
                matched,
            }),
            Err(why) => Finding::Unsure(why),
        },
        Ok(Finding::Absent) => Finding::Absent,
        Ok(Finding::Unsure(why)) => Finding::Unsure(why),
        Err(failure) => Finding::Unsure(failure.problem().message.clone()),
    }
}

fn typed<A: Action>(call: &RawCall) -> Result<Call<A>, Failure> {
    let input = read("input", &call.input)?;
    let settings = read("settings", &call.settings)?;
    Ok(Call {
        input,
        settings,
        key: call.key.clone(),
    })
}

/// The host checks inputs against the schema first, so this speaks only where type and schema say different things.
fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::rejected(what, format!("the {what} cannot be read: {error}")))
}

fn write(output: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(output).map_err(|error| format!("the output cannot be written as JSON: {error}"))
}

/// What a connector knows no action for.
pub fn unknown_action(name: &str) -> Failure {
    Failure::rejected("unknown_action", format!("this connector has no action `{name}`"))
}

/// Collects the schemas of the actions of one connector.
#[derive(Debug)]
pub struct Description {
    actions: Map<String, Value>,
    settings: Value,
}

impl Description {
    /// Begins with the type of the settings. [`NoSettings`] is `null`.
    pub fn of<S: JsonSchema + 'static>() -> Description {
        let none = TypeId::of::<S>() == TypeId::of::<NoSettings>();
        let settings = if none { Value::Null } else { taken::<S>().to_value() };
        Description {
            actions: Map::new(),
            settings,
        }
    }

    /// Adds an action.
    pub fn action<A: Action>(mut self) -> Description {
        let schemas = json!({"input": taken::<A::Input>(), "output": given::<A::Output>()});
        self.actions.insert(A::NAME.to_owned(), schemas);
        self
    }

    /// The JSON text that `oncegate_describe` returns.
    pub fn to_text(&self) -> String {
        json!({"actions": self.actions, "settings": self.settings}).to_string()
    }
}

/// What is read may lack fields that have a default; what is written never does.
fn taken<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator()
        .into_root_schema_for::<T>()
}

fn given<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}
