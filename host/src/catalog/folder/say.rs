//! The words of a plan.

use super::plan::{Change, Plan, Subject, Verb, Waiting};
use crate::catalog::Approved;
use crate::catalog::connection::ConnectionSpec;
use crate::catalog::document::{said_duration, said_list};
use crate::flow::{Flow, Verify};
use oncegate_domain::doubt::{Dedup, Effect};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a connection is, and what is approved for each of its actions.
pub(super) fn connection(spec: &ConnectionSpec, actions: &BTreeMap<String, Arc<Approved>>) -> Vec<String> {
    let origins: Vec<_> = spec.endpoints.values().map(ToString::to_string).collect();
    let flows: Vec<_> = spec.flows.iter().map(|pattern| pattern.0.as_str()).collect();
    let mut lines = vec![format!(
        "{} at {}, account {:?}",
        spec.connector,
        said_list(&origins),
        spec.account
    )];
    lines.push(format!(
        "for the flows {}",
        if flows.is_empty() {
            "(none)".into()
        } else {
            said_list(&flows)
        }
    ));
    if spec.plain_http {
        lines.push("plain http is allowed: what is sent can be read on the way".into());
    }
    if !spec.allow_addresses.is_empty() {
        lines.push(format!(
            "addresses that are closed by default are open: {}",
            said_list(&spec.allow_addresses)
        ));
    }
    lines.extend(
        actions
            .values()
            .map(|approved| format!("{}: {}", approved.action, after_doubt(approved))),
    );
    lines
}

/// What happens when an answer is lost.
fn after_doubt(approved: &Approved) -> String {
    if approved.terms.effect == Effect::Read {
        return "only reads".into();
    }
    let mut ways = Vec::new();
    match approved.terms.dedup {
        Dedup::None => {}
        Dedup::Key { window_ms } => ways.push(format!("sent again with its key within {}", said_duration(window_ms))),
        Dedup::Natural { repeat_within_ms } => {
            ways.push(format!(
                "sent again within {}, unless overtaken",
                said_duration(repeat_within_ms)
            ));
        }
    }
    if let Some(ms) = approved.terms.lookup_after_ms {
        ways.insert(0, format!("asked for, {} later", said_duration(ms)));
    }
    if ways.is_empty() {
        return "when an answer is lost, a person decides".into();
    }
    format!("when an answer is lost, it is {}", ways.join("; else "))
}

/// What a flow is.
pub(super) fn flow(flow: &Flow, renamed_from: Option<&str>) -> Vec<String> {
    let mut lines = vec![flow.title().to_owned()];
    if let Some(webhook) = flow.webhook() {
        lines.push(format!(
            "started by POST /hooks/{}, {}",
            webhook.path,
            by_whom(&webhook.verify)
        ));
    }
    let steps: Vec<_> = flow
        .steps()
        .iter()
        .map(|step| format!("{} ({}.{})", step.id, step.connection, step.action))
        .collect();
    lines.push(format!("steps: {}", steps.join(", ")));
    lines.extend(renamed_from.map(|name| format!("was called {name:?}; it keeps its keys")));
    lines
}

/// Whose deliveries a hook takes.
fn by_whom(verify: &Verify) -> String {
    match verify {
        Verify::None => "open: anybody may call it".into(),
        Verify::Bearer { secret } => format!("by whoever presents the secret {secret:?}"),
        Verify::StandardWebhooks { secrets, tolerance_s } => {
            let secrets: Vec<_> = secrets.iter().map(|name| format!("{name:?}")).collect();
            format!(
                "signed by standard-webhooks with the secret {}, at most {} before or after our time",
                secrets.join(" or "),
                said_duration(tolerance_s * 1_000)
            )
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.verb {
            Verb::Add => "+ add",
            Verb::Change => "~ change",
            Verb::Deactivate => "- deactivate",
        };
        let subject = match self.subject {
            Subject::Connector => "connector",
            Subject::Connection => "connection",
            Subject::Flow => "flow",
        };
        write!(f, "{verb} {subject} {}", self.name)?;
        self.lines.iter().try_for_each(|line| write!(f, "\n      {line}"))
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "! connection {}", self.connection)?;
        self.lines.iter().try_for_each(|line| write!(f, "\n      {line}"))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        if self.changes.is_empty() {
            writeln!(f, "Nothing to change: the host matches the folder.")?;
        }
        self.changes.iter().try_for_each(|change| writeln!(f, "{change}"))?;
        self.waiting.iter().try_for_each(|waiting| writeln!(f, "{waiting}"))
    }
}
