//! Manifest ∩ grant. Every reason why the two do not fit is reported, where it stands in the connection's file.

use super::super::connection::{ActionTrust, ConnectionSpec, SecretSource};
use super::super::document::{Problem, nearest, said_duration};
use super::super::manifest::{self, Action, Dedup, Manifest, RequestRule, Requests};
use super::super::section::Description;
use super::{Approved, Auth, KeyPlace};
use crate::egress::Place;
use oncegate_domain::doubt::{self, Effect, Terms};
use oncegate_domain::limits;
use oncegate_domain::outcome::Trust;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every action of a connector as this connection approves it, or everything that does not fit.
///
/// # Errors
/// Problems in the connection's file.
pub fn approve(
    description: &Description,
    digest: &str,
    spec: &ConnectionSpec,
    revision: u32,
) -> Result<BTreeMap<String, Arc<Approved>>, Vec<Problem>> {
    let mut problems = Vec::new();
    let manifest = &description.manifest;
    if manifest.name != spec.connector {
        let what = format!("the connector with these bytes is called {:?}", manifest.name);
        problems.push(spec.problem("connector", what, "name the connector whose digest this is"));
        return Err(problems);
    }
    let places = places(manifest, spec, &mut problems);
    let auth = auth(manifest, spec, &mut problems);
    check_settings(description, spec, &mut problems);
    check_action_names(manifest, spec, &mut problems);
    let mut approved = BTreeMap::new();
    for (name, action) in &manifest.actions {
        let before = problems.len();
        let trust = spec.actions.get(name).cloned().unwrap_or_default();
        let Some(requests) = requests(action, &trust, spec, &mut problems) else {
            continue;
        };
        let dedup = trust.dedup.clone().unwrap_or_else(|| action.dedup.clone());
        let terms = terms(action, &dedup, &trust, &requests, spec, &mut problems);
        check_rules(action, &dedup, manifest, &requests, spec, &mut problems);
        let (Some(places), Some(auth), Some(schemas)) = (&places, &auth, description.actions.get(name)) else {
            continue;
        };
        if problems.len() > before {
            continue;
        }
        let one = Approved {
            connector: manifest.name.clone(),
            connector_digest: digest.to_owned(),
            connection: spec.name.clone(),
            connection_revision: revision,
            account: spec.account.clone(),
            action: name.clone(),
            terms,
            key: key_place(&dedup),
            natural: natural(&dedup),
            reference: action.reference.clone(),
            places: places.clone(),
            auth: auth.clone(),
            secrets: spec.secrets.clone(),
            settings: Arc::new(spec.settings.clone()),
            limits: spec.limits,
            probe: spec.probe.clone().or_else(|| manifest.probe.clone()),
            requests,
            schemas: schemas.clone(),
        };
        approved.insert(name.clone(), Arc::new(one));
    }
    if problems.is_empty() {
        Ok(approved)
    } else {
        Err(problems)
    }
}

fn places(manifest: &Manifest, spec: &ConnectionSpec, problems: &mut Vec<Problem>) -> Option<BTreeMap<String, Place>> {
    let before = problems.len();
    let mut places = BTreeMap::new();
    for (name, default) in &manifest.endpoints {
        let Some(origin) = spec.endpoints.get(name) else {
            let proposed = default.as_ref().map_or("https://…".to_owned(), ToString::to_string);
            let mend = format!("add {name} = \"{proposed}\" to [endpoints]: only you choose where requests go");
            problems.push(spec.problem("endpoints", format!("the endpoint {name:?} has no origin"), mend));
            continue;
        };
        let ranges: Vec<&str> = spec.allow_addresses.iter().map(String::as_str).collect();
        match Place::new(&origin.to_string(), spec.plain_http, &ranges) {
            Ok(place) => {
                places.insert(name.clone(), place);
            }
            Err(error) => {
                let path = format!("endpoints.{name}");
                problems.push(spec.problem(&path, error.to_string(), "mend it as it says"));
            }
        }
    }
    for name in spec
        .endpoints
        .keys()
        .filter(|name| !manifest.endpoints.contains_key(*name))
    {
        let what = format!("the connector {:?} has no endpoint {name:?}", manifest.name);
        let known: Vec<_> = manifest.endpoints.keys().map(String::as_str).collect();
        problems.push(spec.problem(
            &format!("endpoints.{name}"),
            what,
            format!("its endpoints are: {}", known.join(", ")),
        ));
    }
    (problems.len() == before).then_some(places)
}

fn auth(manifest: &Manifest, spec: &ConnectionSpec, problems: &mut Vec<Problem>) -> Option<Auth> {
    let before = problems.len();
    let said = match (&manifest.auth, &spec.auth) {
        (manifest::Auth::Connection, Some(auth)) => auth.clone(),
        (manifest::Auth::Connection, None) => manifest::Auth::None,
        (own, None) => own.clone(),
        (own, Some(_)) => {
            let what = format!("the connector {:?} says itself how requests are signed", manifest.name);
            problems.push(spec.problem("auth", what, "leave [auth] out"));
            own.clone()
        }
    };
    let wanted = said.secrets();
    for name in spec.secrets.keys().filter(|name| !wanted.contains(&name.as_str())) {
        let what = format!("nothing uses the secret {name:?}");
        let mend = if wanted.is_empty() {
            "leave it out".into()
        } else {
            format!("what is used: {}", wanted.join(", "))
        };
        problems.push(spec.problem(&format!("secrets.{name}"), what, mend));
    }
    let mut source = |name: &str| -> Option<SecretSource> {
        if let Some(source) = spec.secrets.get(name) {
            return Some(source.clone());
        }
        let mend = format!("add {name} = {{ env = \"ONCEGATE_SECRET_…\" }} or {{ file = \"…\" }} to [secrets]");
        problems.push(spec.problem("secrets", format!("the secret {name:?} is missing"), mend));
        None
    };
    let auth = match &said {
        manifest::Auth::None | manifest::Auth::Connection => Some(Auth::None),
        manifest::Auth::Bearer { secret } => source(secret).map(|secret| Auth::Bearer { secret }),
        manifest::Auth::Basic { user, secret } => {
            let (user, secret) = (source(user), source(secret));
            user.zip(secret).map(|(user, secret)| Auth::Basic { user, secret })
        }
        manifest::Auth::Header { name, secret } => source(secret).map(|secret| Auth::Header {
            name: name.clone(),
            secret,
        }),
        manifest::Auth::Query { name, secret } => source(secret).map(|secret| Auth::Query {
            name: name.clone(),
            secret,
        }),
    };
    auth.filter(|_| problems.len() == before)
}

fn check_settings(description: &Description, spec: &ConnectionSpec, problems: &mut Vec<Problem>) {
    if let Some(schema) = &description.settings
        && let Err(mismatch) = schema.check(&spec.settings)
    {
        let what = format!(
            "[settings] does not fit the connector {:?}: {mismatch}",
            description.manifest.name
        );
        problems.push(spec.problem("settings", what, "write what the connector's schema asks for"));
    }
}

fn check_action_names(manifest: &Manifest, spec: &ConnectionSpec, problems: &mut Vec<Problem>) {
    for name in spec.actions.keys().filter(|name| !manifest.actions.contains_key(*name)) {
        let known = || manifest.actions.keys().map(String::as_str);
        let mend = nearest(name, known()).map_or_else(
            || format!("its actions are: {}", known().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean {near:?}?"),
        );
        let what = format!("the connector {:?} has no action {name:?}", manifest.name);
        problems.push(spec.problem(&format!("trust.actions.{name}"), what, mend));
    }
}

/// `None`: the action is not granted, for the connector leaves its requests to the connection and that lists none.
fn requests(
    action: &Action,
    trust: &ActionTrust,
    spec: &ConnectionSpec,
    problems: &mut Vec<Problem>,
) -> Option<Vec<RequestRule>> {
    match (&trust.requests, &action.requests) {
        (Some(rules), _) => Some(rules.clone()),
        (None, Requests::Listed(rules)) => Some(rules.clone()),
        (None, Requests::Connection) => {
            if spec.actions.contains_key(&action.name) {
                let what = format!(
                    "the action {:?} lists no requests, and the connector knows none",
                    action.name
                );
                let mend = format!("add [[trust.actions.{}.requests]], everything it may send", action.name);
                problems.push(spec.problem(&format!("trust.actions.{}", action.name), what, mend));
            }
            None
        }
    }
}

pub(super) fn terms(
    action: &Action,
    dedup: &Dedup,
    trust: &ActionTrust,
    requests: &[RequestRule],
    spec: &ConnectionSpec,
    problems: &mut Vec<Problem>,
) -> Terms {
    let (own, all) = (&trust.trust, &spec.trust);
    let lookup_after_ms = match action.effect {
        Effect::Read => None,
        Effect::Write => own
            .lookup_after_ms
            .or(all.lookup_after_ms.filter(|_| has_read(requests)))
            .or(action.lookup_after_ms),
    };
    check_lookup(action, trust, lookup_after_ms, requests, spec, problems);
    Terms {
        effect: action.effect,
        dedup: match dedup {
            Dedup::None => doubt::Dedup::None,
            // A key that is honoured for an unknown time protects nothing.
            Dedup::Header { window_ms, .. } | Dedup::Field { window_ms, .. } => {
                window_ms.map_or(doubt::Dedup::None, |window_ms| doubt::Dedup::Key { window_ms })
            }
            Dedup::Natural { .. } => {
                let repeat_within_ms = own
                    .repeat_within_ms
                    .or(all.repeat_within_ms)
                    .unwrap_or(limits::REPEAT_WITHIN_MS_DEFAULT);
                doubt::Dedup::Natural { repeat_within_ms }
            }
        },
        lookup_after_ms,
        absent_to_review: own.absent_to_review.or(all.absent_to_review).unwrap_or(false),
        request_timeout_ms: spec.limits.timeout_ms,
        trust: Trust {
            confirms: first(&own.confirms, &all.confirms),
            refused_before_effect: first(&own.refused_before_effect, &all.refused_before_effect),
            absent_on: first(&own.absent_on, &all.absent_on),
            errors_in_2xx_refused: own.errors_in_2xx_refused.or(all.errors_in_2xx_refused).unwrap_or(false),
            may_find: own.may_find.or(all.may_find).unwrap_or(false),
        },
    }
}

fn first(own: &Option<Vec<u16>>, all: &Option<Vec<u16>>) -> Vec<u16> {
    own.clone().or_else(|| all.clone()).unwrap_or_default()
}

fn has_read(requests: &[RequestRule]) -> bool {
    requests.iter().any(|rule| rule.kind == manifest::RequestKind::Read)
}

fn check_lookup(
    action: &Action,
    trust: &ActionTrust,
    lookup_after_ms: Option<u64>,
    requests: &[RequestRule],
    spec: &ConnectionSpec,
    problems: &mut Vec<Problem>,
) {
    let name = &action.name;
    let path = format!("trust.actions.{name}");
    let Some(lookup_after_ms) = lookup_after_ms else {
        let said = [
            ("absent_on", trust.trust.absent_on.is_some()),
            ("on_absent", trust.trust.absent_to_review.is_some()),
        ];
        for (field, _) in said.iter().filter(|(_, said)| *said) {
            let what = format!("`{field}` of {name:?} speaks of a lookup, and it has none");
            let mend = "add lookup_after = \"…\", the longest time after which a request can no longer take effect and is visible";
            problems.push(spec.problem(&format!("{path}.{field}"), what, mend));
        }
        return;
    };
    let timeout_ms = spec.limits.timeout_ms;
    if lookup_after_ms < timeout_ms {
        let (after, timeout) = (said_duration(lookup_after_ms), said_duration(timeout_ms));
        let what = format!("`lookup_after` of {name:?} is {after}, less than the request timeout of {timeout}");
        let mend = format!(
            "write lookup_after = \"{timeout}\" or more in [{path}], or a shorter timeout in [limits]: until then the request may still be under way"
        );
        problems.push(spec.problem(&format!("{path}.lookup_after"), what, mend));
    }
    if !has_read(requests) {
        let what = format!("{name:?} has `lookup_after` and lists no read to ask with");
        problems.push(spec.problem(
            &path,
            what,
            "list the request of the lookup with kind = \"read\", or leave `lookup_after` out",
        ));
    }
}

/// The manifest's own rules, for what the connection said in its place.
fn check_rules(
    action: &Action,
    dedup: &Dedup,
    manifest: &Manifest,
    requests: &[RequestRule],
    spec: &ConnectionSpec,
    problems: &mut Vec<Problem>,
) {
    let said = if manifest.auth == manifest::Auth::Connection {
        spec.auth.as_ref()
    } else {
        Some(&manifest.auth)
    };
    let path = format!("trust.actions.{}", action.name);
    for (what, mend) in manifest::broken_rules(&action.name, action.effect, dedup, said, requests) {
        problems.push(spec.problem(&path, what, mend));
    }
    if action.effect == Effect::Read && *dedup != Dedup::None {
        let what = format!("the action {:?} only reads and has `dedup`", action.name);
        problems.push(spec.problem(&format!("{path}.dedup"), what, "leave `dedup` out"));
    }
    let others = spec
        .actions
        .values()
        .filter_map(|trust| trust.requests.as_deref())
        .flatten();
    let listed = manifest.actions.values().flat_map(|action| match &action.requests {
        Requests::Listed(rules) => rules.iter(),
        Requests::Connection => [].iter(),
    });
    for (read, write) in manifest::shared_path(requests.iter(), listed.chain(others).chain(requests)) {
        let what = format!("the read {read} and the write {write} share a path");
        let mend = "list the read as a write: on a shared path only the content would tell one from the other";
        problems.push(spec.problem(&format!("{path}.requests"), what, mend));
    }
}

pub(super) fn key_place(dedup: &Dedup) -> KeyPlace {
    match dedup {
        Dedup::None | Dedup::Natural { .. } => KeyPlace::None,
        Dedup::Header { name, format, .. } => KeyPlace::Header {
            name: name.clone(),
            format: *format,
        },
        Dedup::Field { pointer, format, .. } => KeyPlace::Field {
            pointer: pointer.clone(),
            format: *format,
        },
    }
}

pub(super) fn natural(dedup: &Dedup) -> Vec<String> {
    match dedup {
        Dedup::Natural { key } => key.clone(),
        Dedup::None | Dedup::Header { .. } | Dedup::Field { .. } => Vec::new(),
    }
}
