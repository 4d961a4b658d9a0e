//! What a connector may do, in words, before any of its code has run; and what another version may do beside it.

use super::document::{said_duration, said_list};
use super::manifest::{Action, Auth, Dedup, Manifest, RequestKind, RequestRule, Requests};
use oncegate_domain::doubt::Effect;
use std::collections::{BTreeMap, BTreeSet};

/// What a connector may do: one sentence a line, actions by name, what belongs to an action indented.
pub fn of(manifest: &Manifest) -> Vec<String> {
    let mut lines = vec![signing(&manifest.auth)];
    lines.extend(manifest.endpoints.iter().map(|(name, default)| match default {
        Some(origin) => format!("talks to the endpoint {name:?}; proposed: {origin}"),
        None => format!("talks to the endpoint {name:?}; you say where that is"),
    }));
    if let Some(probe) = &manifest.probe {
        lines.push(format!(
            "the host asks GET {} by itself, to see whether the credentials work",
            probe.path
        ));
    }
    if let Some(proposal) = &manifest.refused_before_effect {
        let page = &proposal.page;
        lines.push(format!(
            "says that {} mean \"nothing was done\" ({page}); counts only where you approve it",
            said_list(&proposal.statuses)
        ));
    }
    for action in manifest.actions.values() {
        lines.push(format!("{} ({}): {}", action.name, effect(action.effect), action.says));
        lines.extend(of_action(action).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// What changed from one version's rights to another's; empty: nothing.
pub fn difference(before: &Manifest, after: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    let (top_before, top_after) = (top(before), top(after));
    compare(&top_before, &top_after, "", &mut lines);
    let names: BTreeSet<_> = before.actions.keys().chain(after.actions.keys()).collect();
    for name in names {
        match (before.actions.get(name), after.actions.get(name)) {
            (Some(_), None) => lines.push(format!("- {name}: is gone")),
            (None, Some(action)) => {
                lines.push(format!("+ {name} ({}): {}", effect(action.effect), action.says));
                lines.extend(of_action(action).into_iter().map(|line| format!("+ {name}: {line}")));
            }
            (Some(old), Some(new)) => {
                let said = |action: &Action| {
                    let mut said = vec![format!("{}: {}", effect(action.effect), action.says)];
                    said.extend(of_action(action));
                    said
                };
                compare(&said(old), &said(new), &format!("{name}: "), &mut lines);
            }
            (None, None) => {}
        }
    }
    lines
}

/// What belongs to no action.
fn top(manifest: &Manifest) -> Vec<String> {
    let mut bare = manifest.clone();
    bare.actions = BTreeMap::new();
    of(&bare)
}

fn compare(before: &[String], after: &[String], prefix: &str, lines: &mut Vec<String>) {
    lines.extend(
        before
            .iter()
            .filter(|line| !after.contains(line))
            .map(|line| format!("- {prefix}{line}")),
    );
    lines.extend(
        after
            .iter()
            .filter(|line| !before.contains(line))
            .map(|line| format!("+ {prefix}{line}")),
    );
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "only reads",
        Effect::Write => "changes the destination",
    }
}

fn signing(auth: &Auth) -> String {
    match auth {
        Auth::None => "requests are not signed".into(),
        Auth::Bearer { secret } => format!("the host signs with the secret {secret:?} as a bearer token"),
        Auth::Basic { user, secret } => {
            format!("the host signs with the secrets {user:?} and {secret:?} as user and password")
        }
        Auth::Header { name, secret } => format!("the host signs with the secret {secret:?} in the header {name}"),
        Auth::Query { name, secret } => {
            format!("the host signs with the secret {secret:?} in the query parameter {name}")
        }
        Auth::Connection => "how the host signs is said by the connection".into(),
    }
}

fn of_action(action: &Action) -> Vec<String> {
    let mut lines = match &action.requests {
        Requests::Listed(rules) => rules.iter().map(of_rule).collect(),
        Requests::Connection => vec!["sends only what the connection lists".to_owned()],
    };
    lines.extend(of_dedup(&action.dedup));
    if let Some(ms) = action.lookup_after_ms {
        lines.push(format!(
            "after a lost answer it can be asked whether the effect exists, {} later at the earliest",
            said_duration(ms)
        ));
    }
    lines
}

fn of_rule(rule: &RequestRule) -> String {
    let what = match rule.kind {
        RequestKind::Read => "reads",
        RequestKind::Write => "changes",
    };
    let mut line = format!("{what} by {rule}");
    if rule.endpoint != "api" {
        line.push_str(&format!(" at {:?}", rule.endpoint));
    }
    let quoted = |names: &BTreeSet<String>| said_list(&names.iter().collect::<Vec<_>>());
    if !rule.query.is_empty() {
        line.push_str(&format!(", query {}", quoted(&rule.query)));
    }
    if !rule.headers.is_empty() {
        line.push_str(&format!(", headers {}", quoted(&rule.headers)));
    }
    line
}

/// What is said about duplicates; nothing for a read.
pub(crate) fn of_dedup(dedup: &Dedup) -> Option<String> {
    let window = |window: &Option<u64>| match window {
        Some(ms) => format!("honoured for {}", said_duration(*ms)),
        None => "honoured for an unknown time, which protects nothing".to_owned(),
    };
    match dedup {
        Dedup::None => None,
        Dedup::Header { name, window_ms, .. } => {
            Some(format!("the key goes into the header {name}, {}", window(window_ms)))
        }
        Dedup::Field { pointer, window_ms, .. } => Some(format!(
            "the key goes into the body at {pointer}, {}",
            window(window_ms)
        )),
        Dedup::Natural { key } => Some(format!(
            "the same request again leaves the same state, by {} of the input",
            said_list(key)
        )),
    }
}

#[cfg(test)]
mod tests;
