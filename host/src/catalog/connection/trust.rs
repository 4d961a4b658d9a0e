//! `[trust]`: all that safety rests on, in the operator's hand.

use super::super::document::{Fields, Node, Problems};
use super::super::manifest::{LOOKUP_AFTER_MS_MAX, Statuses, read_dedup, read_rules, read_statuses};
use super::{ActionTrust, TrustSpec};
use crate::egress::Origin;
use oncegate_domain::limits::REPEAT_WITHIN_MS_MAX;
use std::collections::BTreeMap;

pub(super) fn read_trust(
    node: &Node,
    endpoints: &BTreeMap<String, Origin>,
    problems: &mut Problems<'_>,
) -> (TrustSpec, BTreeMap<String, ActionTrust>) {
    let mut actions = BTreeMap::new();
    let Some(mut fields) = Fields::open(node, "[trust]", problems) else {
        return (TrustSpec::default(), actions);
    };
    let trust = read_common(&mut fields, problems);
    let table = fields
        .take("actions")
        .and_then(|node| Fields::open(node, "[trust.actions]", problems));
    if let Some(mut table) = table {
        for (name, _, node) in table.others() {
            actions.insert(name.to_owned(), read_action(node, name, endpoints, problems));
        }
    }
    fields.done(problems);
    (trust, actions)
}

fn read_action(
    node: &Node,
    name: &str,
    endpoints: &BTreeMap<String, Origin>,
    problems: &mut Problems<'_>,
) -> ActionTrust {
    let title = format!("[trust.actions.{name}]");
    let Some(mut fields) = Fields::open(node, &title, problems) else {
        return ActionTrust::default();
    };
    let trust = read_common(&mut fields, problems);
    let dedup = fields.take("dedup").and_then(|node| read_dedup(node, problems));
    let requests = fields
        .take("requests")
        .map(|node| read_rules(node, endpoints, problems));
    fields.done(problems);
    ActionTrust { trust, dedup, requests }
}

fn read_common(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> TrustSpec {
    let mut statuses = |name: &str, which: Statuses, problems: &mut Problems<'_>| {
        fields
            .take(name)
            .and_then(|node| read_statuses(node, name, which, problems))
    };
    let refused_before_effect = statuses("refused_before_effect", Statuses::Refusing, problems);
    let confirms = statuses("confirms", Statuses::Telling, problems);
    let absent_on = statuses("absent_on", Statuses::Telling, problems);
    let both = |a: &Option<Vec<u16>>, b: &Option<Vec<u16>>| {
        let (a, b) = (a.as_deref().unwrap_or_default(), b.as_deref().unwrap_or_default());
        a.iter().copied().find(|status| b.contains(status))
    };
    if let Some(status) = both(&refused_before_effect, &confirms) {
        let what = format!("{status} is in `confirms` and in `refused_before_effect`");
        problems.add(
            fields.at_name("confirms"),
            what,
            "leave it in one of them: it cannot prove that the effect exists and that it does not",
        );
    }
    let words = |node: &Node, name: &str, yes: &str, no: &str, problems: &mut Problems<'_>| {
        let text = node.text(name, problems)?;
        if text != yes && text != no {
            problems.add(
                node.at,
                format!("`{name}` is {text:?}"),
                format!("write {yes:?} or {no:?}"),
            );
        }
        Some(text == yes)
    };
    TrustSpec {
        refused_before_effect,
        confirms,
        absent_on,
        absent_to_review: fields
            .take("on_absent")
            .and_then(|node| words(node, "on_absent", "review", "resend", problems)),
        errors_in_2xx_refused: fields
            .take("errors_in_2xx")
            .and_then(|node| words(node, "errors_in_2xx", "refused", "unknown", problems)),
        may_find: fields.take("may_find").and_then(|node| node.flag("may_find", problems)),
        lookup_after_ms: fields
            .take("lookup_after")
            .and_then(|node| node.duration_ms("lookup_after", 100, LOOKUP_AFTER_MS_MAX, problems)),
        repeat_within_ms: fields
            .take("repeat_within")
            .and_then(|node| node.duration_ms("repeat_within", 1000, REPEAT_WITHIN_MS_MAX, problems)),
    }
}
