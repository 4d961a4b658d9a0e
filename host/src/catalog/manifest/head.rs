//! The manifest's top: name, endpoints, auth, probe.

use super::super::document::{Fields, Node, Problems, is_name, is_plain_text};
use super::headers::{forbidden_header, is_header_name};
use super::{ACTIONS_MAX, Auth, Manifest, Probe, Proposal, action, rules};
use crate::egress::Origin;
use oncegate_domain::limits::TITLE_CHARS_MAX;
use std::collections::BTreeMap;

/// Reads the whole document. A value is made as far as possible, so that one error hides no other; whether it counts is
/// decided by whether there were problems.
pub(super) fn read_manifest(node: &Node, problems: &mut Problems<'_>) -> Option<Manifest> {
    let mut fields = Fields::open(node, "the manifest", problems)?;
    let name = read_name(&mut fields, "name = \"my-connector\"", problems);
    let version = read_version(&mut fields, problems);
    let title = fields.need("title", "add title = \"…\", what people read", problems);
    let title = title.and_then(|node| read_title(node, "title", TITLE_CHARS_MAX, problems));
    let endpoints = read_endpoints(&mut fields, problems);
    let auth = match fields.take("auth") {
        Some(node) => read_auth(node, true, problems),
        None => Some(Auth::None),
    };
    let probe = fields
        .take("probe")
        .and_then(|node| read_probe(node, &endpoints, problems));
    let refused_before_effect = fields
        .take("refused_before_effect")
        .and_then(|node| read_proposal(node, problems));
    let actions = read_actions(&mut fields, &endpoints, auth.as_ref(), problems);
    fields.done(problems);
    Some(Manifest {
        name: name.unwrap_or_default(),
        version: version.unwrap_or_default(),
        title: title.unwrap_or_default(),
        endpoints,
        auth: auth.unwrap_or(Auth::None),
        probe,
        refused_before_effect,
        actions,
        json: node.to_json(),
    })
}

fn read_name(fields: &mut Fields<'_>, mend: &str, problems: &mut Problems<'_>) -> Option<String> {
    let node = fields.need("name", &format!("add {mend}"), problems)?;
    let text = node.text("name", problems)?;
    if !is_name(text) {
        problems.add(node.at, format!("the name {text:?} is no name"), NAME_MEND);
        return None;
    }
    Some(text.to_owned())
}

pub(super) const NAME_MEND: &str = "write 2 to 40 of a-z, 0-9 and -, beginning with a letter";

fn read_version(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let node = fields.need("version", "add version = \"0.1.0\"", problems)?;
    let text = node.text("version", problems)?;
    let (core, rest) = text.find(['-', '+']).map_or((text, ""), |at| text.split_at(at));
    let parts: Vec<_> = core.split('.').collect();
    let number = |part: &&str| !part.is_empty() && part.len() <= 9 && part.bytes().all(|b| b.is_ascii_digit());
    let word = |b: u8| b.is_ascii_alphanumeric() || b"-+.".contains(&b);
    if parts.len() != 3 || !parts.iter().all(number) || !rest.bytes().all(word) || text.len() > 64 {
        problems.add(
            node.at,
            format!("the version {text:?} is none"),
            "write three numbers, as in \"0.1.0\"",
        );
        return None;
    }
    Some(text.to_owned())
}

/// A text that people read before they approve.
pub(super) fn read_title(node: &Node, name: &str, chars_max: usize, problems: &mut Problems<'_>) -> Option<String> {
    let text = node.text(name, problems)?;
    if !is_plain_text(text) {
        let what = format!("`{name}` has control, bidirectional or invisible characters");
        problems.add(
            node.at,
            what,
            "write plain characters only, so that people read what is there",
        );
        return None;
    }
    if text.trim().is_empty() || text.chars().count() > chars_max {
        let what = format!("`{name}` has {} characters", text.chars().count());
        problems.add(node.at, what, format!("write 1 to {chars_max}, not only spaces"));
        return None;
    }
    Some(text.to_owned())
}

fn read_endpoints(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> BTreeMap<String, Option<Origin>> {
    let mend = "add [endpoints.api], the name by which the connector asks for the destination";
    let Some(mut table) = fields
        .need("endpoints", mend, problems)
        .and_then(|node| Fields::open(node, "[endpoints]", problems))
    else {
        return BTreeMap::new();
    };
    let mut endpoints = BTreeMap::new();
    for (name, at, node) in table.others() {
        if !is_name(name) {
            problems.add(at, format!("the endpoint name {name:?} is no name"), NAME_MEND);
        }
        let Some(mut endpoint) = Fields::open(node, &format!("[endpoints.{name}]"), problems) else {
            continue;
        };
        let default = endpoint.take("default").and_then(|node| read_default(node, problems));
        endpoint.done(problems);
        endpoints.insert(name.to_owned(), default);
    }
    if endpoints.is_empty() {
        problems.add(table.at, "[endpoints] is empty", mend);
    }
    endpoints
}

fn read_default(node: &Node, problems: &mut Problems<'_>) -> Option<Origin> {
    match Origin::parse(node.text("default", problems)?, true) {
        Ok(origin) if !origin.tls() => {
            problems.add(
                node.at,
                "a default over plain http",
                "write https, or leave the default out",
            );
            None
        }
        Ok(origin) => Some(origin),
        Err(error) => {
            problems.add_error(node.at, &error);
            None
        }
    }
}

/// Reads `[auth]`, of a manifest or (where the manifest leaves it open) of a connection.
pub(crate) fn read_auth(node: &Node, in_manifest: bool, problems: &mut Problems<'_>) -> Option<Auth> {
    let mut fields = Fields::open(node, "[auth]", problems)?;
    let kinds = if in_manifest {
        "none, bearer, basic, header, query or connection"
    } else {
        "none, bearer, basic, header or query"
    };
    let mend = format!("write kind = one of {kinds}");
    let kind_node = fields.need("kind", &mend, problems)?;
    let auth = match kind_node.text("kind", problems)? {
        "none" => Some(Auth::None),
        "connection" if in_manifest => Some(Auth::Connection),
        "bearer" => read_secret(&mut fields, "secret", problems).map(|secret| Auth::Bearer { secret }),
        "basic" => {
            let user = read_secret(&mut fields, "user", problems);
            let secret = read_secret(&mut fields, "secret", problems);
            user.zip(secret).map(|(user, secret)| Auth::Basic { user, secret })
        }
        "header" => read_auth_header(&mut fields, problems),
        "query" => read_auth_query(&mut fields, problems),
        other => {
            problems.add(kind_node.at, format!("no auth kind {other:?}"), mend);
            return None;
        }
    };
    fields.done(problems);
    auth
}

fn read_auth_header(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Auth> {
    let secret = read_secret(fields, "secret", problems);
    let node = fields.need(
        "name",
        "add the name of the header, as in name = \"X-Api-Key\"",
        problems,
    )?;
    let name = node.text("name", problems)?;
    // `Authorization` may carry a credential here, for this one is put in by the host; all else that is forbidden stays so.
    let authorization = name.eq_ignore_ascii_case("authorization");
    if !is_header_name(name) || (forbidden_header(name).is_some() && !authorization) {
        problems.add(
            node.at,
            format!("the header {name:?} cannot carry a credential"),
            "name the provider's own header",
        );
        return None;
    }
    Some(Auth::Header {
        name: name.to_owned(),
        secret: secret?,
    })
}

fn read_auth_query(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Auth> {
    let secret = read_secret(fields, "secret", problems);
    let node = fields.need(
        "name",
        "add the name of the query parameter, as in name = \"api_key\"",
        problems,
    )?;
    let name = rules::read_query_name(node, problems)?;
    Some(Auth::Query { name, secret: secret? })
}

fn read_secret(fields: &mut Fields<'_>, field: &str, problems: &mut Problems<'_>) -> Option<String> {
    let mend = format!("add {field} = \"token\", the name that the connection's [secrets] use");
    let node = fields.need(field, &mend, problems)?;
    let text = node.text(field, problems)?;
    if !is_name(text) {
        problems.add(node.at, format!("the secret's name {text:?} is no name"), NAME_MEND);
        return None;
    }
    Some(text.to_owned())
}

/// Reads `[probe]`, of a manifest or of a connection.
pub(crate) fn read_probe<T>(
    node: &Node,
    endpoints: &BTreeMap<String, T>,
    problems: &mut Problems<'_>,
) -> Option<Probe> {
    let mut fields = Fields::open(node, "[probe]", problems)?;
    let endpoint = rules::read_endpoint(&mut fields, "[probe]", endpoints, problems);
    let path_node = fields.need("path", "add the exact path of a harmless GET", problems);
    let path = path_node.and_then(|node| {
        let segments = rules::read_path(node, problems)?;
        if rules::is_exact(&segments) {
            return node.text("path", problems).map(str::to_owned);
        }
        problems.add(
            node.at,
            "the path of a probe has {…} in it",
            "write an exact path: the host asks it by itself",
        );
        None
    });
    fields.done(problems);
    Some(Probe {
        endpoint: endpoint?,
        path: path?,
    })
}

fn read_proposal(node: &Node, problems: &mut Problems<'_>) -> Option<Proposal> {
    let mut fields = Fields::open(node, "`refused_before_effect`", problems)?;
    let statuses = fields.need("statuses", "add statuses = [503]", problems);
    let statuses =
        statuses.and_then(|node| rules::read_statuses(node, "statuses", rules::Statuses::Refusing, problems));
    let page = fields.need(
        "page",
        "add the page of the provider's documentation that says so",
        problems,
    );
    let page = page.and_then(|node| {
        let page = read_title(node, "page", 500, problems)?;
        if !page.starts_with("https://") {
            problems.add(
                node.at,
                format!("{page:?} is no page"),
                "write its address, beginning with https://",
            );
        }
        Some(page)
    });
    fields.done(problems);
    Some(Proposal {
        statuses: statuses?,
        page: page?,
    })
}

fn read_actions(
    fields: &mut Fields<'_>,
    endpoints: &BTreeMap<String, Option<Origin>>,
    auth: Option<&Auth>,
    problems: &mut Problems<'_>,
) -> BTreeMap<String, super::Action> {
    let mut actions = BTreeMap::new();
    let mend = "add at least one [[actions]]";
    let Some(node) = fields.need("actions", mend, problems) else {
        return actions;
    };
    let Some(items) = node.list("actions", problems) else {
        return actions;
    };
    if items.is_empty() || items.len() > ACTIONS_MAX {
        problems.add(
            node.at,
            format!("there are {} actions", items.len()),
            format!("write 1 to {ACTIONS_MAX}"),
        );
    }
    for item in items {
        let Some(action) = action::read_action(item, endpoints, auth, problems) else {
            continue;
        };
        if actions.contains_key(&action.name) {
            problems.add(
                item.at,
                format!("two actions are called {:?}", action.name),
                "give each its own name",
            );
        }
        actions.insert(action.name.clone(), action);
    }
    action::check_shared_paths(node.at, &actions, problems);
    actions
}
