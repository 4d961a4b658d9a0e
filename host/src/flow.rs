//! The designer's language: one TOML file becomes a checked [`Flow`] that can be asked, for one event, for its key, its
//! context, and the input of each step. The reference for designers is `docs/flows.md`.
//!
//! Pure: it opens no file, reads no clock, draws no random number and knows no ledger, network or WebAssembly. The same
//! flow and the same event always give the same answers.

mod amount;
mod body;
mod convert;
mod definition;
mod engine;
mod example;
mod expression;
mod fields;
mod fingerprint;
mod form;
mod json;
mod lexer;
mod names;
mod path;
mod problem;
mod scope;
mod shape;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod webhook;

pub use body::{BodyError, ContentEncoding, RawBody};
pub use json::{BodyLimits, JsonError, parse_json};
pub use problem::{Problem, TemplateError, report};
pub use scope::{ContextItem, EventView, ReviewView, RunView, Scope};
pub use webhook::{Fingerprint, HookLimit, Rate, Respond, Verify, Webhook};

use convert::text_of;
use definition::{Definition, Step};
use oncegate_domain::key::{EventKey, Role};
use oncegate_domain::limits::{CONTEXT_VALUE_BYTES_MAX, INPUT_BYTES_MAX};
use oncegate_domain::retry::Policy;
use path::View;
use serde_json::Value;
use std::collections::BTreeSet;

/// A checked definition, ready to be evaluated: nothing is parsed again per event.
#[derive(Debug)]
pub struct Flow {
    definition: Definition,
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
        source: &str,
        examples: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Flow, Vec<Problem>), Vec<Problem>> {
        let (definition, warnings) = definition::parse(source, examples)?;
        let plans = |steps: &[Step]| steps.iter().map(|step| step.plan.clone()).collect();
        let (steps, notify) = (plans(&definition.steps), plans(&definition.notify));
        Ok((
            Flow {
                definition,
                steps,
                notify,
            },
            warnings,
        ))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// For people; the name where the flow gives none.
    pub fn title(&self) -> &str {
        &self.definition.title
    }

    /// The name it had before, whose keys it keeps.
    pub fn renamed_from(&self) -> Option<&str> {
        self.definition.renamed_from.as_deref()
    }

    /// The webhook that starts it.
    pub fn webhook(&self) -> Option<&Webhook> {
        self.definition.trigger.as_ref().map(|trigger| &trigger.webhook)
    }

    /// Its steps in file order.
    pub fn steps(&self) -> &[StepPlan] {
        &self.steps
    }

    /// What is called when a step needs a person, in file order.
    pub fn notify(&self) -> &[StepPlan] {
        &self.notify
    }

    /// Every (connection, action) that the flow uses, sorted, each once.
    pub fn uses(&self) -> Vec<(String, String)> {
        let pair = |plan: &StepPlan| (plan.connection.clone(), plan.action.clone());
        let uses: BTreeSet<_> = self.steps.iter().chain(&self.notify).map(pair).collect();
        uses.into_iter().collect()
    }

    /// The event's business identity. An error means: refuse the event (400) and say why.
    pub fn event_key(&self, event: &EventView<'_>) -> Result<EventKey, TemplateError> {
        let fault = |why: String| TemplateError {
            at: "trigger.webhook.key".to_owned(),
            path: String::new(),
            why,
        };
        let Some(trigger) = &self.definition.trigger else {
            return Err(fault("the flow has no trigger".to_owned()));
        };
        let view = self.event_view(event);
        let part = |template: &template::Template| {
            template
                .key_text(&view)
                .map_err(|failure| failure.at("trigger.webhook.key"))
        };
        let parts = trigger.key.iter().map(part).collect::<Result<Vec<_>, _>>()?;
        EventKey::from_parts(&parts).map_err(|error| fault(error.to_string()))
    }

    /// What tells one delivery under a key from another; constant where the flow says `fingerprint = "none"`.
    pub fn fingerprint(&self, event: &EventView<'_>) -> [u8; 32] {
        let Some(trigger) = &self.definition.trigger else {
            return fingerprint::of_nothing();
        };
        match trigger.webhook.fingerprint {
            Fingerprint::Body => fingerprint::of_value(event.body),
            Fingerprint::Nothing => fingerprint::of_nothing(),
            Fingerprint::Fields => {
                let view = self.event_view(event);
                let field = |template: &template::Template| template.value(&view, &mut INPUT_BYTES_MAX.clone()).ok();
                fingerprint::of_fields(&trigger.fields.iter().map(field).collect::<Vec<_>>())
            }
        }
    }

    /// The business words of this event, in file order. One that has no value is empty: an event is never refused for
    /// how it would be shown, so this does not fail as things are.
    pub fn context(&self, event: &EventView<'_>) -> Result<Vec<ContextItem>, TemplateError> {
        let view = self.event_view(event);
        let word = |word: &definition::Word| {
            let value = word.template.value(&view, &mut INPUT_BYTES_MAX.clone());
            let value = value.map_or_else(|_| String::new(), |value| text_of(&value));
            let value = cut(value, CONTEXT_VALUE_BYTES_MAX);
            Ok(ContextItem {
                name: word.name.clone(),
                value,
                personal: word.personal,
            })
        };
        self.definition.context.iter().map(word).collect()
    }

    /// Whether the step runs; true where it has no `when`. Missing, empty, false and 0 are false.
    pub fn when(&self, step: usize, scope: &Scope<'_>) -> Result<bool, TemplateError> {
        let step = of_index(&self.definition.steps, step)?;
        match &step.when {
            None => Ok(true),
            Some(when) => {
                let at = || format!("steps.{}.when", step.plan.id);
                when.condition(&self.view(scope)).map_err(|failure| failure.at(&at()))
            }
        }
    }

    /// The step's input: always an object.
    pub fn input(&self, step: usize, scope: &Scope<'_>) -> Result<Value, TemplateError> {
        let step = of_index(&self.definition.steps, step)?;
        step.with.value(&self.view(scope), &mut INPUT_BYTES_MAX.clone())
    }

    /// The input of the `index`-th entry of [`Flow::notify`] for this review.
    pub fn render_review_notify(
        &self,
        index: usize,
        scope: &Scope<'_>,
        review: &ReviewView<'_>,
    ) -> Result<Value, TemplateError> {
        let step = of_index(&self.definition.notify, index)?;
        let view = View {
            review: Some(*review),
            ..self.view(scope)
        };
        step.with.value(&view, &mut INPUT_BYTES_MAX.clone())
    }

    fn event_view<'a>(&'a self, event: &'a EventView<'a>) -> View<'a> {
        View {
            event,
            vars: &self.definition.vars,
            outputs: &[],
            run: None,
            review: None,
        }
    }

    fn view<'a>(&'a self, scope: &Scope<'a>) -> View<'a> {
        let vars = &self.definition.vars;
        View {
            event: scope.event,
            vars,
            outputs: scope.outputs,
            run: Some(scope.run),
            review: scope.review,
        }
    }
}

/// The beginning of `text`, of at most `bytes_max` bytes.
fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

fn of_index(steps: &[Step], index: usize) -> Result<&Step, TemplateError> {
    let why = || format!("the flow has {} of these, so there is no number {index}", steps.len());
    steps.get(index).ok_or_else(|| TemplateError {
        at: "steps".to_owned(),
        path: String::new(),
        why: why(),
    })
}
