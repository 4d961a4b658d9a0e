//! `[[steps]]` and `[[review.notify]]`.

use super::super::StepPlan;
use super::super::expression::Expression;
use super::super::fields::{Fields, Item, text};
use super::super::names::{Names, Purpose};
use super::super::problem::Problems;
use super::super::shape::Shape;
use super::super::text::Text;
use super::{Given, is_name, is_step_id, order, retry, title};
use oncegate_domain::key::Role;
use oncegate_domain::limits::STEPS_MAX;
use oncegate_domain::retry::Policy;
use std::collections::BTreeMap;

const FIELDS: [&str; 7] = ["id", "use", "after", "when", "with", "retry", "title"];
const NOTIFY_FIELDS: [&str; 5] = ["id", "use", "with", "retry", "title"];

/// A step as it is written.
pub(super) struct StepDraft<'t> {
    pub(super) at: usize,
    pub(super) after: Option<Vec<Text<'t>>>,
    pub(super) when: Option<Text<'t>>,
    fields: Fields<'t>,
}

/// A step with all that belongs to its evaluation.
#[derive(Debug)]
pub(in super::super) struct Step {
    pub(in super::super) plan: StepPlan,
    pub(in super::super) when: Option<Expression>,
    pub(in super::super) with: Shape,
}

/// The steps of a flow, in file order; empty where they have problems.
pub(super) fn steps(root: &Fields<'_>, given: &Given<'_>, problems: &mut Problems<'_>) -> Vec<Step> {
    let items = root.list("steps", problems).unwrap_or_default();
    if items.is_empty() && root.get("steps").is_none_or(|item| item.get_ref().as_array().is_some()) {
        problems.error(0, "the flow has no steps", "add `[[steps]]` with `id` and `use`");
    }
    if let Some(item) = items.get(STEPS_MAX) {
        problems.error(
            item.span().start,
            format!("the flow has more than {STEPS_MAX} steps"),
            "split it into several flows",
        );
    }
    let items = &items[..items.len().min(STEPS_MAX)];
    let drafts: Vec<StepDraft<'_>> = items.iter().filter_map(|item| draft(item, problems)).collect();
    let ids = ids(&drafts, problems);
    let waits = order::waits(&drafts, &ids, problems);
    let names = given.names(Purpose::Step, &ids);
    let mut steps = Vec::new();
    for (index, draft) in drafts.iter().enumerate() {
        let when = draft.when.as_ref().map(|text| condition(text, &names, problems));
        let step = body(
            &draft.fields,
            &ids[index],
            &format!("steps.{}", ids[index]),
            given.policies,
            &names,
            problems,
        );
        let uses = when.iter().flatten().flat_map(|when| when.uses.iter());
        let uses = uses.chain(step.iter().flat_map(|(_, with)| with.uses()));
        let reads = order::reads(index, uses, &waits, &drafts, &ids, problems);
        if let Some((mut plan, with)) = step {
            plan.after.clone_from(&waits[index]);
            plan.reads = reads;
            plan.conditional = when.is_some();
            steps.push(Step {
                plan,
                when: when.flatten(),
                with,
            });
        }
    }
    steps
}

/// What is called when a step needs a person.
pub(super) fn notify(root: &Fields<'_>, given: &Given<'_>, problems: &mut Problems<'_>) -> Vec<Step> {
    let Some(review) = root
        .get("review")
        .and_then(|item| Fields::of(item, "`[review]`", &["notify"], problems))
    else {
        return Vec::new();
    };
    let names = given.names(Purpose::Notify, &[]);
    let mut notify: Vec<Step> = Vec::new();
    for (index, item) in review
        .list("notify", problems)
        .unwrap_or_default()
        .into_iter()
        .enumerate()
    {
        let Some(fields) = Fields::of(item, "`[[review.notify]]`", &NOTIFY_FIELDS, problems) else {
            continue;
        };
        let id = match fields.text("id", problems) {
            Some(text) => checked_id(&text, problems).unwrap_or_default(),
            None => format!("notify_{}", index + 1),
        };
        if notify.iter().any(|step| step.plan.id == id) {
            problems.error(
                fields.at,
                format!("there are two entries with the id `{id}`"),
                "give one of them another `id`",
            );
        }
        let step = body(
            &fields,
            &id,
            &format!("review.notify.{id}"),
            given.policies,
            &names,
            problems,
        );
        if let Some((mut plan, with)) = step {
            plan.role = Role::Notify;
            notify.push(Step { plan, when: None, with });
        }
    }
    notify
}

fn draft<'t>(item: &'t Item<'t>, problems: &mut Problems<'_>) -> Option<StepDraft<'t>> {
    let fields = Fields::of(item, "`[[steps]]`", &FIELDS, problems)?;
    let after = fields.list("after", problems).map(|list| {
        if let Some(item) = list.get(STEPS_MAX) {
            let what = format!("`after` names more than {STEPS_MAX} steps");
            problems.error(item.span().start, what, "name those that it must wait for");
        }
        let named = list.into_iter().take(STEPS_MAX);
        named.filter_map(|item| text(item, "after", problems)).collect()
    });
    let when = fields.text("when", problems);
    Some(StepDraft {
        at: fields.at,
        after,
        when,
        fields,
    })
}

/// The ids in file order; empty where there is no valid one.
fn ids(drafts: &[StepDraft<'_>], problems: &mut Problems<'_>) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for draft in drafts {
        let text = draft
            .fields
            .need_text("id", "give the step a short name, such as `id = \"crm\"`", problems);
        let id = text
            .as_ref()
            .and_then(|text| checked_id(text, problems))
            .unwrap_or_default();
        if let Some(text) = text.filter(|_| !id.is_empty() && ids.contains(&id)) {
            problems.error(
                text.at,
                format!("there are two steps `{id}`"),
                "give one of them another `id`",
            );
        }
        ids.push(id);
    }
    ids
}

fn checked_id(text: &Text<'_>, problems: &mut Problems<'_>) -> Option<String> {
    if is_step_id(text.value) {
        return Some(text.value.to_owned());
    }
    let what = format!("{:?} is no step id", text.value);
    problems.error(text.at, what, "begin with a-z, then use a-z, 0-9 and _, 64 at most");
    None
}

fn condition(text: &Text<'_>, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Expression> {
    if text.value.contains("{{") {
        problems.error(
            text.at,
            "`when` is an expression already",
            "write it without braces: `when = \"body.phone\"`",
        );
        return None;
    }
    Expression::parse(text.value, 0, text, true, names, problems)
}

/// What steps and notify entries have in common.
fn body(
    fields: &Fields<'_>,
    id: &str,
    at: &str,
    policies: &BTreeMap<&str, Policy>,
    names: &Names<'_>,
    problems: &mut Problems<'_>,
) -> Option<(StepPlan, Shape)> {
    let used = fields.need_text(
        "use",
        "say what the step does, as `use = \"connection.action\"`",
        problems,
    );
    let used = used.and_then(|text| connection_and_action(&text, problems));
    let retry = retry::of_step(fields.get("retry"), policies, problems);
    let title = title(fields, problems).unwrap_or_else(|| id.to_owned());
    let with = match fields.get("with") {
        None => Some(Shape::Object(Vec::new())),
        Some(item) if item.get_ref().as_table().is_none() => {
            super::super::fields::wrong_type(item, "`with`", "a table", "{ name = \"value\" }", problems);
            None
        }
        Some(item) => Shape::parse(item, &format!("{at}.with"), names, problems),
    };
    let (connection, action) = used?;
    let plan = StepPlan {
        id: id.to_owned(),
        title,
        connection,
        action,
        after: Vec::new(),
        role: Role::Do,
        retry,
        reads: Vec::new(),
        conditional: false,
    };
    Some((plan, with?))
}

fn connection_and_action(text: &Text<'_>, problems: &mut Problems<'_>) -> Option<(String, String)> {
    match text.value.split_once('.') {
        Some((connection, action)) if is_name(connection) && is_name(action) => {
            Some((connection.to_owned(), action.to_owned()))
        }
        _ => {
            let what = format!("{:?} names no action", text.value);
            problems.error(
                text.at,
                what,
                "write `connection.action`, each of a-z, 0-9 and -, such as \"mail.send\"",
            );
            None
        }
    }
}
