//! A constant to fall back on, such as `body.id | default('x')`: all events without the value would be one event, whoever
//! sent them, and only the first would run.

use super::super::super::convert::text_of;
use super::super::super::expression::{Expression, Use};
use super::super::super::path::{Root, Segment, View};
use super::super::super::problem::Problems;
use super::super::super::scope::EventView;
use super::super::super::template::Template;
use super::STAGES;
use oncegate_domain::limits::INPUT_BYTES_MAX;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How much of a constant is shown.
const SHOWN_CHARS_MAX: usize = 40;

/// Warns about each part of the key that has a value in an event that says nothing at all. It is asked, not read off the
/// expression, so that `or`, `if` and tests count like `default`.
pub(super) fn check(key: &[Template], vars: &Value, problems: &mut Problems<'_>) {
    let (body, texts) = (json!({}), BTreeMap::new());
    let nothing = EventView {
        id: "",
        received_ms: 0,
        source: "",
        body: &body,
        headers: &texts,
        query: &texts,
    };
    let view = View {
        event: &nothing,
        vars,
        outputs: &[],
        run: None,
        review: None,
    };
    let of_sender = key
        .iter()
        .flat_map(Template::expressions)
        .filter(|part| sent(part).next().is_some());
    let parts: Vec<(&Expression, Option<String>)> = of_sender.map(|part| (part, constant(part, &view))).collect();
    // Where another part tells the events apart, one without a stage is a stage of its own.
    let told_apart = parts.iter().any(|(_, constant)| constant.is_none());
    for (part, constant) in &parts {
        let (Some(constant), Some(first)) = (constant, sent(part).next()) else {
            continue;
        };
        if told_apart && sent(part).all(is_stage) {
            continue;
        }
        let names: Vec<String> = sent(part).map(|path| format!("`{}`", path.text)).collect();
        let what = format!(
            "an event without {} gets {constant:?} in its key, so all such events are one, whoever sent them, and only the \
             first runs",
            names.join(" and ")
        );
        let mend = format!(
            "leave the constant out, and such an event is refused (400), which its sender sees; or fall back on another \
             value of the event, such as `{{{{ {} | default(body.number) }}}}`",
            first.text
        );
        problems.warning(first.at, what, mend);
    }
}

/// The values of the sender that it names.
fn sent(part: &Expression) -> impl Iterator<Item = &Use> {
    let of_sender = |path: &&Use| matches!(path.path.root, Root::Body | Root::Headers | Root::Query);
    part.uses.iter().filter(of_sender)
}

/// What it comes to where nothing was sent; blank counts as nothing, for such a key is refused.
fn constant(part: &Expression, view: &View<'_>) -> Option<String> {
    let value = part.value(view, &mut INPUT_BYTES_MAX.clone()).ok()?;
    let text = text_of(&value);
    (!text.trim().is_empty()).then(|| text.chars().take(SHOWN_CHARS_MAX).collect())
}

fn is_stage(path: &Use) -> bool {
    matches!(path.path.rest.last(), Some(Segment::Field(name)) if STAGES.contains(&name.as_str()))
}
