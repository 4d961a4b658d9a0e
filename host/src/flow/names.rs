//! Which names a template may use, and where. A name that is known at all but not here gets an error that says why.

use super::path::{EventField, Path, ReviewField, Root, RunField, Segment};
use super::problem::mean_or_list;
use serde_json::Value;

/// What a template is for; decides what exists by the time it is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Says which event it is, or is shown with it: computed before there is a run.
    Event,
    /// The key: nothing that differs from delivery to delivery.
    Key,
    /// Input or condition of a step.
    Step,
    /// Input of a `[[review.notify]]`.
    Notify,
}

/// What templates of one purpose may name.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    pub(super) purpose: Purpose,
    /// Step ids in file order.
    pub(super) steps: &'n [String],
    pub(super) vars: &'n Value,
    /// The example body, if the flow names one.
    pub(super) example: Option<&'n Value>,
}

/// What is wrong with a name, and how to mend it.
pub(super) type Refusal = (String, String);

const ALL: [&str; 9] = [
    "body", "headers", "query", "steps", "item", "run", "event", "vars", "review",
];

impl<'n> Names<'n> {
    /// Resolves a root name with the names and indexes that follow it.
    pub(super) fn path(&self, root: &str, rest: Vec<Segment>) -> Result<Path, Refusal> {
        match root {
            "body" => Ok(Path { root: Root::Body, rest }),
            "headers" => one_level("headers", Root::Headers, rest),
            "query" => one_level("query", Root::Query, rest),
            "vars" => self.vars(rest),
            "steps" => self.output(rest),
            "event" => self.event(rest),
            "run" => self.run(rest),
            "review" => self.review(rest),
            "item" => refuse(
                "`item` is for steps over a list, which are not there yet",
                "use a step per item for now",
            ),
            _ => Err((
                format!("`{root}` is not known here"),
                mean_or_list(root, "names", self.known()),
            )),
        }
    }

    /// Whether this is a name at all, allowed here or not.
    pub(super) fn is_root(name: &str) -> bool {
        ALL.contains(&name)
    }

    fn known(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let purpose = self.purpose;
        ALL.into_iter().filter(move |name| match *name {
            "item" => false,
            "steps" => purpose == Purpose::Step,
            "run" => matches!(purpose, Purpose::Step | Purpose::Notify),
            "review" => purpose == Purpose::Notify,
            _ => true,
        })
    }

    fn vars(&self, rest: Vec<Segment>) -> Result<Path, Refusal> {
        if let Some(Segment::Field(name)) = rest.first()
            && self.vars.get(name).is_none()
        {
            let known = self
                .vars
                .as_object()
                .into_iter()
                .flat_map(|vars| vars.keys().map(String::as_str));
            return Err((format!("`vars.{name}` is not set"), mean_or_list(name, "vars", known)));
        }
        Ok(Path { root: Root::Vars, rest })
    }

    fn output(&self, mut rest: Vec<Segment>) -> Result<Path, Refusal> {
        match self.purpose {
            Purpose::Step => {}
            Purpose::Key | Purpose::Event => {
                return refuse(
                    "`steps` is not known here",
                    "this is computed before any step runs: use the event's own values",
                );
            }
            Purpose::Notify => {
                return refuse(
                    "`steps` is not known in `[[review.notify]]`",
                    "no step is certain to have run when a person is called: use `review.summary` or the event's own values",
                );
            }
        }
        let mut leading = rest.drain(..rest.len().min(2));
        let (id, output) = (leading.next(), leading.next());
        drop(leading);
        let Some(Segment::Field(id)) = id else {
            return refuse(
                "`steps` needs the id of a step",
                "write `steps.ID.output`, with the id of an earlier step",
            );
        };
        let Some(index) = self.steps.iter().position(|step| *step == id) else {
            let known = self.steps.iter().map(String::as_str).filter(|id| !id.is_empty());
            return Err((format!("there is no step `{id}`"), mean_or_list(&id, "steps", known)));
        };
        match output {
            Some(Segment::Field(output)) if output == "output" => Ok(Path {
                root: Root::Output(index),
                rest,
            }),
            _ => Err((
                format!("`steps.{id}` has only an output"),
                format!("write `steps.{id}.output`"),
            )),
        }
    }

    fn event(&self, rest: Vec<Segment>) -> Result<Path, Refusal> {
        let field = match field_of("event", &rest, &["id", "received_at", "source"])? {
            "id" if self.purpose == Purpose::Key => {
                return refuse(
                    "`event.id` is new with every delivery, so the same event sent twice would run twice",
                    "use a value that stays the same when the sender repeats itself, such as an order number in `body`",
                );
            }
            "id" => EventField::Id,
            "received_at" => EventField::ReceivedAt,
            _ => EventField::Source,
        };
        Ok(Path {
            root: Root::Event(field),
            rest: Vec::new(),
        })
    }

    fn run(&self, rest: Vec<Segment>) -> Result<Path, Refusal> {
        let field = match field_of("run", &rest, &["id", "key", "started_at"])? {
            "id" => RunField::Id,
            "key" => RunField::Key,
            _ => RunField::StartedAt,
        };
        match self.purpose {
            Purpose::Step | Purpose::Notify => Ok(Path {
                root: Root::Run(field),
                rest: Vec::new(),
            }),
            Purpose::Key => refuse(
                "a key must not use `run`: the run is made from the key",
                "use a value of the event, such as an order number in `body`",
            ),
            Purpose::Event => refuse(
                "`run` is not known here",
                "this is computed before there is a run: use the event's own values",
            ),
        }
    }

    fn review(&self, rest: Vec<Segment>) -> Result<Path, Refusal> {
        if self.purpose != Purpose::Notify {
            return refuse(
                "`review` is known only in `[[review.notify]]`",
                "move this there, or take it out",
            );
        }
        let field = match field_of("review", &rest, &["summary", "run", "reason"])? {
            "summary" => ReviewField::Summary,
            "run" => ReviewField::Run,
            _ => ReviewField::Reason,
        };
        Ok(Path {
            root: Root::Review(field),
            rest: Vec::new(),
        })
    }
}

fn one_level(name: &str, root: Root, mut rest: Vec<Segment>) -> Result<Path, Refusal> {
    if root == Root::Headers
        && let Some(Segment::Field(header)) = rest.first_mut()
    {
        header.make_ascii_lowercase();
    }
    match rest.as_slice() {
        [] | [Segment::Field(_)] => Ok(Path { root, rest }),
        _ => Err((
            format!("a value in `{name}` is a text, with nothing below it"),
            format!("write `{name}.NAME` or `{name}[\"NAME\"]`"),
        )),
    }
}

fn field_of<'r>(root: &str, rest: &'r [Segment], known: &[&'static str]) -> Result<&'r str, Refusal> {
    match rest {
        [Segment::Field(name)] if known.contains(&name.as_str()) => Ok(name),
        [Segment::Field(name), ..] if !known.contains(&name.as_str()) => Err((
            format!("`{root}.{name}` does not exist"),
            mean_or_list(name, &format!("{root}.…"), known.iter().copied()),
        )),
        [_, _, ..] => Err((
            format!("a value of `{root}` is a text, with nothing below it"),
            format!("write `{root}.{}`", known[0]),
        )),
        _ => Err((
            format!("`{root}` needs a name after it"),
            format!("one of {}", known.join(", ")),
        )),
    }
}

fn refuse<T>(what: &str, mend: &str) -> Result<T, Refusal> {
    Err((what.to_owned(), mend.to_owned()))
}
