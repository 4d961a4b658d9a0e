//! The designer's language: one TOML file becomes a checked [`Flow`] that can be asked, for one event, for its key, its
//! context, and the input of each step. The reference for designers is `docs/flows.md`.
//!
//! Pure: it opens no file, reads no clock, draws no random number and knows no ledger, network or WebAssembly. The same
//! flow and the same event always give the same answers.

mod interim;
mod json;
mod problem;
mod scope;
mod webhook;

pub use interim::{EventKey, KeyError, Role};
pub use json::{BodyLimits, JsonError, parse_form, parse_json};
pub use problem::{Problem, TemplateError};
pub use scope::{ContextItem, EventView, ReviewView, RunView, Scope};
pub use webhook::{Fingerprint, HookLimit, Rate, Respond, Verify, Webhook};

use oncegate_domain::retry::Policy;
use serde_json::Value;

/// A checked definition, ready to be evaluated: nothing is parsed again per event.
#[derive(Debug)]
pub struct Flow {
    name: String,
    title: String,
    renamed_from: Option<String>,
    webhook: Option<Webhook>,
    steps: Vec<StepPlan>,
    notify: Vec<StepPlan>,
}

/// One step as the executor needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPlan {
    /// Its id within the flow.
    pub id: String,
    /// For people; the id where the flow gives none.
    pub title: String,
    /// The connection it uses.
    pub connection: String,
    /// The action it calls.
    pub action: String,
    /// Indexes of the steps it waits for.
    pub after: Vec<usize>,
    /// What it is for.
    pub role: Role,
    /// How often and how patiently it is tried.
    pub retry: Policy,
    /// Indexes of the steps whose output its templates read.
    pub reads: Vec<usize>,
    /// Whether it has a `when`.
    pub conditional: bool,
}

impl Flow {
    /// Reads and checks a definition. `examples` gives the text of an example file by the name that the flow gives it.
    ///
    /// Gives the flow with warnings, or everything that is wrong at once (only the first syntax error, though).
    pub fn parse(
        _source: &str,
        _examples: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Flow, Vec<Problem>), Vec<Problem>> {
        Err(Vec::new())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For people; the name where the flow gives none.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The name it had before, whose keys it keeps.
    pub fn renamed_from(&self) -> Option<&str> {
        self.renamed_from.as_deref()
    }

    /// The webhook that starts it.
    pub fn webhook(&self) -> Option<&Webhook> {
        self.webhook.as_ref()
    }

    /// Its steps in file order.
    pub fn steps(&self) -> &[StepPlan] {
        &self.steps
    }

    /// What is called when a step needs a person.
    pub fn notify(&self) -> &[StepPlan] {
        &self.notify
    }

    /// Every (connection, action) that the flow uses, sorted, each once.
    pub fn uses(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The event's business identity. An error means: refuse the event (400).
    pub fn event_key(&self, _event: &EventView<'_>) -> Result<EventKey, TemplateError> {
        unfinished()
    }

    /// What tells one delivery under a key from another; constant where the flow says `fingerprint = "none"`.
    pub fn fingerprint(&self, _event: &EventView<'_>) -> [u8; 32] {
        [0; 32]
    }

    /// The business words of this event.
    pub fn context(&self, _event: &EventView<'_>) -> Result<Vec<ContextItem>, TemplateError> {
        unfinished()
    }

    /// Whether the step runs; true where it has no `when`.
    pub fn when(&self, _step: usize, _scope: &Scope<'_>) -> Result<bool, TemplateError> {
        unfinished()
    }

    /// The step's input.
    pub fn input(&self, _step: usize, _scope: &Scope<'_>) -> Result<Value, TemplateError> {
        unfinished()
    }

    /// The input of the `index`-th entry of [`Flow::notify`] for this review.
    pub fn render_review_notify(
        &self,
        _index: usize,
        _scope: &Scope<'_>,
        _review: &ReviewView<'_>,
    ) -> Result<Value, TemplateError> {
        unfinished()
    }
}

fn unfinished<T>() -> Result<T, TemplateError> {
    Err(TemplateError {
        at: String::new(),
        path: String::new(),
        why: "not finished".to_owned(),
    })
}
