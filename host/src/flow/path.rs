//! Paths into the data (`body.items[0].sku`) and their resolving by the host itself, not by the template engine, so
//! that what is only passed on keeps its exact form.

use super::scope::{EventView, ReviewView, RunView};
use serde_json::Value;
use std::borrow::Cow;

/// Where a path starts, with what the first names after it have been resolved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Body,
    /// All headers, or (with the next segment) one.
    Headers,
    Query,
    Vars,
    /// `steps.ID.output`, by index.
    Output(usize),
    Event(EventField),
    Run(RunField),
    Review(ReviewField),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventField {
    Id,
    ReceivedAt,
    Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunField {
    Id,
    Key,
    StartedAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewField {
    Summary,
    Run,
    Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Field(String),
    Index(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) root: Root,
    pub(super) rest: Vec<Segment>,
}

/// Everything that can be seen in one evaluation.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) event: &'a EventView<'a>,
    pub(super) vars: &'a Value,
    pub(super) outputs: &'a [Option<&'a Value>],
    pub(super) run: Option<RunView<'a>>,
    pub(super) review: Option<ReviewView<'a>>,
}

impl Path {
    /// The value there; `None` where there is nothing (a `null` is something).
    pub(super) fn resolve<'a>(&self, view: &View<'a>) -> Option<Cow<'a, Value>> {
        match &self.root {
            Root::Body => walk(view.event.body, &self.rest).map(Cow::Borrowed),
            Root::Vars => walk(view.vars, &self.rest).map(Cow::Borrowed),
            Root::Output(step) => walk((*view.outputs.get(*step)?)?, &self.rest).map(Cow::Borrowed),
            Root::Headers => texts(view.event.headers, &self.rest),
            Root::Query => texts(view.event.query, &self.rest),
            Root::Event(field) => self.leaf(match field {
                EventField::Id => view.event.id.to_owned(),
                EventField::Source => view.event.source.to_owned(),
                EventField::ReceivedAt => instant(view.event.received_ms),
            }),
            Root::Run(field) => {
                let run = view.run?;
                self.leaf(match field {
                    RunField::Id => run.id.to_owned(),
                    RunField::Key => run.key.to_owned(),
                    RunField::StartedAt => instant(run.started_ms),
                })
            }
            Root::Review(field) => {
                let review = view.review?;
                let text = match field {
                    ReviewField::Summary => review.summary,
                    ReviewField::Run => review.run,
                    ReviewField::Reason => review.reason,
                };
                self.leaf(text.to_owned())
            }
        }
    }

    fn leaf<'a>(&self, text: String) -> Option<Cow<'a, Value>> {
        self.rest.is_empty().then_some(Cow::Owned(Value::String(text)))
    }
}

/// Goes down from `value`.
pub(super) fn walk<'v>(value: &'v Value, rest: &[Segment]) -> Option<&'v Value> {
    rest.iter().try_fold(value, |value, segment| match (value, segment) {
        (Value::Object(members), Segment::Field(name)) => members.get(name),
        (Value::Array(items), Segment::Index(index)) => items.get(*index),
        _ => None,
    })
}

fn texts<'a>(texts: &std::collections::BTreeMap<String, String>, rest: &[Segment]) -> Option<Cow<'a, Value>> {
    match rest {
        [] => {
            let members = texts
                .iter()
                .map(|(name, value)| (name.clone(), Value::String(value.clone())));
            Some(Cow::Owned(Value::Object(members.collect())))
        }
        [Segment::Field(name)] => texts.get(name).map(|value| Cow::Owned(Value::String(value.clone()))),
        _ => None,
    }
}

/// RFC 3339 in UTC; an instant that no calendar holds is written as its number.
fn instant(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |instant| instant.to_string())
}
