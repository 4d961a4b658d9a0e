//! `[trigger.webhook]`.

mod preset;
mod verify;

use super::super::amount::rate;
use super::super::fields::{Fields, Item, text};
use super::super::names::{Names, Purpose};
use super::super::problem::{Problems, mean_or_list};
use super::super::template::Template;
use super::super::text::Text;
use super::super::webhook::{Fingerprint, HookLimit, Rate, Respond, Webhook};
use super::Given;
use preset::Preset;
use toml::de::DeValue;

const FIELDS: [&str; 7] = ["path", "verify", "limit", "key", "example", "fingerprint", "respond"];
const PATH_BYTES_MAX: usize = 128;
const KEY_PARTS_MAX: usize = 8;
const FINGERPRINT_FIELDS_MAX: usize = 32;

/// The trigger with what belongs to its evaluation.
#[derive(Debug)]
pub(in super::super) struct Trigger {
    pub(in super::super) webhook: Webhook,
    pub(in super::super) key: Vec<Template>,
    /// Only for [`Fingerprint::Fields`].
    pub(in super::super) fields: Vec<Template>,
}

/// The example that the trigger names.
pub(super) fn example<'t>(root: &Fields<'t>, problems: &mut Problems<'_>) -> Option<Text<'t>> {
    // Anything wrong with the tables around it is noted when they are read in full.
    let table = root.get("trigger")?.get_ref().get("webhook")?;
    text(table.get_ref().get("example")?, "example", problems)
}

pub(super) fn trigger(root: &Fields<'_>, given: &Given<'_>, problems: &mut Problems<'_>) -> Option<Trigger> {
    let mend = "add `[trigger.webhook]` with `path`, `verify` and `key`";
    let Some(item) = root.get("trigger") else {
        problems.error(0, "the flow has no trigger", mend);
        return None;
    };
    let triggers = Fields::open(item, "`[trigger]`", problems)?;
    for (name, at, _) in triggers.iter().filter(|(name, _, _)| *name != "webhook") {
        let what = format!("there is no trigger `{name}` yet");
        problems.error(at, what, "only `[trigger.webhook]` is there so far");
    }
    if triggers.iter().next().is_none() {
        problems.error(triggers.at, "`[trigger]` is empty", mend);
    }
    let fields = Fields::of(triggers.get("webhook")?, "`[trigger.webhook]`", &FIELDS, problems)?;
    webhook(&fields, given, problems)
}

fn webhook(fields: &Fields<'_>, given: &Given<'_>, problems: &mut Problems<'_>) -> Option<Trigger> {
    let path = fields.need_text(
        "path",
        "name the address below /hooks/, such as `path = \"leads\"`",
        problems,
    );
    let path = path.and_then(|text| hook_path(&text, problems));
    let verify = verify::verify(fields, problems);
    let preset = Preset::of(fields);
    let limit = match fields.get("limit") {
        Some(item) => limit(item, problems),
        None => Some(HookLimit::default()),
    };
    let respond = respond(fields, problems);
    let key = key(fields, given, preset, problems);
    let default = match (preset, &key) {
        (Some(preset), Some(key)) if preset.names_event(key) => Fingerprint::Nothing,
        _ => Fingerprint::Body,
    };
    let fingerprint = fingerprint(fields, default, &given.names(Purpose::Event, &[]), problems);
    let (fingerprint, fields) = fingerprint?;
    let webhook = Webhook {
        path: path?,
        verify: verify?,
        limit: limit?,
        respond: respond?,
        fingerprint,
    };
    Some(Trigger {
        webhook,
        key: key?,
        fields,
    })
}

fn hook_path(text: &Text<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let segment = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if text.value.len() <= PATH_BYTES_MAX && text.value.split('/').all(segment) {
        return Some(text.value.to_owned());
    }
    let mend = format!("use letters, digits, - and _, with / between, {PATH_BYTES_MAX} at most and no / at the ends");
    problems.error(text.at, format!("{:?} cannot be the path of a hook", text.value), mend);
    None
}

fn limit(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<HookLimit> {
    let fields = Fields::of(item, "`limit`", &["per_source", "total"], problems)?;
    let per_source = one_rate(&fields, "per_source", problems);
    let total = one_rate(&fields, "total", problems);
    Some(HookLimit {
        per_source: per_source?,
        total: total?,
    })
}

fn one_rate(fields: &Fields<'_>, name: &str, problems: &mut Problems<'_>) -> Option<Option<Rate>> {
    if fields.get(name).is_none() {
        return Some(None);
    }
    let text = fields.text(name, problems)?;
    match rate(text.value) {
        Ok(rate) => Some(Some(rate)),
        Err(what) => {
            problems.error(
                text.at,
                format!("`{name}`: {what}"),
                "write how many per s, m, h or d, such as \"20/m\"",
            );
            None
        }
    }
}

fn respond(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Respond> {
    if fields.get("respond").is_none() {
        return Some(Respond::Accepted);
    }
    let text = fields.text("respond", problems)?;
    match text.value {
        "accepted" => Some(Respond::Accepted),
        "result" => Some(Respond::Result),
        other => {
            problems.error(
                text.at,
                format!("`respond` cannot be {other:?}"),
                mean_or_list(other, "answers", ["accepted", "result"]),
            );
            None
        }
    }
}

fn key(
    fields: &Fields<'_>,
    given: &Given<'_>,
    preset: Option<Preset>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Template>> {
    let mend = "say which value makes the event what it is, such as `key = \"{{ body.order.id }}\"`";
    let names = given.names(Purpose::Key, &[]);
    let Some(item) = fields.get("key") else {
        if let Some(preset) = preset {
            return preset.key(fields.at, &names, problems);
        }
        problems.error(fields.at, "`[trigger.webhook]` needs `key`", mend);
        return None;
    };
    let key = templates(item, "key", KEY_PARTS_MAX, mend, &names, problems)?;
    super::key::check(&key, item.span().start, given, problems);
    if let Some(preset) = preset {
        preset.check(&key, problems);
    }
    Some(key)
}

fn fingerprint(
    fields: &Fields<'_>,
    default: Fingerprint,
    names: &Names<'_>,
    problems: &mut Problems<'_>,
) -> Option<(Fingerprint, Vec<Template>)> {
    let Some(item) = fields.get("fingerprint") else {
        return Some((default, Vec::new()));
    };
    let mend = "write \"body\", \"none\", or a list of templates";
    match item.get_ref() {
        DeValue::String(word) if word == "body" => Some((Fingerprint::Body, Vec::new())),
        DeValue::String(word) if word == "none" => Some((Fingerprint::Nothing, Vec::new())),
        DeValue::Array(_) => {
            let fields = templates(item, "fingerprint", FINGERPRINT_FIELDS_MAX, mend, names, problems)?;
            Some((Fingerprint::Fields, fields))
        }
        _ => {
            problems.error(
                item.span().start,
                "`fingerprint` must be \"body\", \"none\" or a list",
                mend,
            );
            None
        }
    }
}

/// One template or a list of them.
fn templates(
    item: &Item<'_>,
    name: &str,
    max: usize,
    mend: &str,
    names: &Names<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Template>> {
    let items: Vec<&Item<'_>> = match item.get_ref() {
        DeValue::Array(list) => list.iter().collect(),
        _ => vec![item],
    };
    if items.is_empty() || items.len() > max {
        problems.error(
            item.span().start,
            format!("`{name}` must have from 1 to {max} parts"),
            mend,
        );
        return None;
    }
    let parsed: Vec<_> = items
        .into_iter()
        .map(|item| Template::parse(&text(item, name, problems)?, names, problems))
        .collect();
    parsed.into_iter().collect()
}
