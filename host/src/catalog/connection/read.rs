//! Reading a connection file, except its `[trust]`.

use super::super::document::{Fields, Marks, Node, Problems, duration, is_name};
use super::super::manifest::{Example, read_auth, read_example, read_probe};
use super::SecretSource;
use super::{ActionTrust, ConnectionSpec, FlowPattern, Limits, Rate, trust};
use crate::egress::{Cidr, Origin};
use oncegate_domain::limits::REQUEST_TIMEOUT_MS_MAX;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const NAME_MEND: &str = "write 2 to 40 of a-z, 0-9 and -, beginning with a letter";
/// Most attempts of one connection at the same time.
const CONCURRENCY_MAX: u64 = 256;

pub(super) fn read_connection(node: &Node, problems: &mut Problems<'_>) -> Option<ConnectionSpec> {
    let mut fields = Fields::open(node, "the connection", problems)?;
    let name = read_name(
        &mut fields,
        "name",
        "add name = \"crm\", by which flows use it",
        problems,
    );
    let connector = read_name(
        &mut fields,
        "connector",
        "add connector = \"http\", the connector's name",
        problems,
    );
    let account = read_account(&mut fields, problems);
    let digest = fields.take("digest").and_then(|node| read_digest(node, problems));
    let flows = read_flows(&mut fields, problems);
    let place = read_place(&mut fields, problems);
    let auth = fields.take("auth").and_then(|node| read_auth(node, false, problems));
    let probe = fields
        .take("probe")
        .and_then(|node| read_probe(node, &place.origins, problems));
    let secrets = fields
        .take("secrets")
        .map(|node| read_secrets(node, problems))
        .unwrap_or_default();
    let limits = fields
        .take("limits")
        .map(|node| read_limits(node, problems))
        .unwrap_or_default();
    let settings = read_settings(&mut fields, problems);
    let (trust, actions) = match fields.take("trust") {
        Some(node) => trust::read_trust(node, &place.origins, problems),
        None => Default::default(),
    };
    let examples = fields
        .take("examples")
        .map(|node| read_examples(node, &actions, problems))
        .unwrap_or_default();
    fields.done(problems);
    Some(ConnectionSpec {
        name: name.unwrap_or_default(),
        connector: connector.unwrap_or_default(),
        account: account.unwrap_or_default(),
        digest,
        flows,
        endpoints: place.origins,
        plain_http: place.plain_http,
        allow_addresses: place.allow_addresses,
        auth,
        probe,
        secrets,
        limits,
        settings,
        trust,
        actions,
        examples,
        marks: Marks::of_document(node, problems),
    })
}

fn read_name(fields: &mut Fields<'_>, field: &str, mend: &str, problems: &mut Problems<'_>) -> Option<String> {
    let node = fields.need(field, mend, problems)?;
    let text = node.text(field, problems)?;
    if !is_name(text) {
        problems.add(node.at, format!("{text:?} is no name"), NAME_MEND);
        return None;
    }
    Some(text.to_owned())
}

fn read_account(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let mend = "add account = \"prod\", a word for the account at the destination; a rotated secret keeps it";
    let node = fields.need("account", mend, problems)?;
    let text = node.text("account", problems)?;
    if text.is_empty() || text.len() > 100 || !text.chars().all(|c| c.is_ascii_graphic()) {
        problems.add(
            node.at,
            format!("the account {text:?} is no word"),
            "write 1 to 100 printable ASCII characters without spaces",
        );
        return None;
    }
    Some(text.to_owned())
}

fn read_digest(node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    let text = node.text("digest", problems)?;
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        let mend =
            "write \"sha256:\" and 64 lower-case hexadecimal digits, or leave `digest` out: the first apply pins it";
        problems.add(node.at, format!("{text:?} is no digest"), mend);
        return None;
    }
    Some(text.to_owned())
}

fn read_flows(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Vec<FlowPattern> {
    let mend = "add flows = [\"website-*\"], the flows that may use it";
    let Some(node) = fields.need("flows", mend, problems) else {
        return Vec::new();
    };
    let mut patterns = Vec::new();
    for (at, text) in node.texts("flows", problems).unwrap_or_default() {
        let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'*';
        if text.is_empty() || text.len() > 80 || !text.bytes().all(known) {
            problems.add(
                at,
                format!("{text:?} is no pattern of flow names"),
                "write a flow's name, with * for any run of characters",
            );
        } else {
            patterns.push(FlowPattern(text.to_owned()));
        }
    }
    patterns
}

#[derive(Default)]
struct Place {
    origins: BTreeMap<String, Origin>,
    plain_http: bool,
    allow_addresses: Vec<String>,
}

fn read_place(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Place {
    let mut place = Place::default();
    let mend =
        "add [endpoints] with an origin for each endpoint of the connector, as in api = \"https://api.example.com\"";
    let Some(node) = fields.need("endpoints", mend, problems) else {
        return place;
    };
    let Some(mut table) = Fields::open(node, "[endpoints]", problems) else {
        return place;
    };
    place.plain_http = table
        .take("plain_http")
        .and_then(|node| node.flag("plain_http", problems))
        .unwrap_or(false);
    place.allow_addresses = table
        .take("allow_addresses")
        .map(|node| read_addresses(node, problems))
        .unwrap_or_default();
    for (name, at, node) in table.others() {
        if !is_name(name) {
            let mend = format!("{NAME_MEND}; beside endpoints there are only `plain_http` and `allow_addresses`");
            problems.add(at, format!("{name:?} is no endpoint's name"), mend);
            continue;
        }
        if let Some(origin) = read_origin(node, name, place.plain_http, problems) {
            place.origins.insert(name.to_owned(), origin);
        }
    }
    place
}

fn read_origin(node: &Node, name: &str, plain_http: bool, problems: &mut Problems<'_>) -> Option<Origin> {
    match Origin::parse(node.text(name, problems)?, true) {
        Ok(origin) if !origin.tls() && !plain_http => {
            let what =
                format!("the endpoint {name:?} is plain http: what is sent there can be read and changed on the way");
            problems.add(
                node.at,
                what,
                "write https, or add plain_http = true to [endpoints] where that is meant",
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

fn read_addresses(node: &Node, problems: &mut Problems<'_>) -> Vec<String> {
    let mut ranges = Vec::new();
    for (at, text) in node.texts("allow_addresses", problems).unwrap_or_default() {
        match text.parse::<Cidr>() {
            Ok(range) if range.is_metadata() => problems.add(
                at,
                format!("{text:?} is a metadata service, which hands out credentials of the whole machine"),
                "leave it out: it is never reached, whatever a connection says",
            ),
            Ok(_) => ranges.push(text.to_owned()),
            Err(error) => problems.add_error(at, &error),
        }
    }
    ranges
}

fn read_secrets(node: &Node, problems: &mut Problems<'_>) -> BTreeMap<String, SecretSource> {
    let mut secrets = BTreeMap::new();
    let Some(mut table) = Fields::open(node, "[secrets]", problems) else {
        return secrets;
    };
    for (name, at, node) in table.others() {
        if !is_name(name) {
            problems.add(at, format!("{name:?} is no secret's name"), NAME_MEND);
        }
        if let Some(source) = read_secret(node, name, problems) {
            secrets.insert(name.to_owned(), source);
        }
    }
    secrets
}

/// A secret is never written here, only where it is.
fn read_secret(node: &Node, name: &str, problems: &mut Problems<'_>) -> Option<SecretSource> {
    let mend = format!("write {name} = {{ env = \"ONCEGATE_SECRET_…\" }} or {{ file = \"…\" }}");
    if node.to_json().is_string() {
        problems.add(
            node.at,
            format!("the secret {name:?} stands in the file itself"),
            format!("{mend}; then change the secret: it was readable here"),
        );
        return None;
    }
    let mut fields = Fields::open(node, &format!("the secret {name:?}"), problems)?;
    let (env, file) = (fields.take("env"), fields.take("file"));
    fields.done(problems);
    match (env, file) {
        (Some(env), None) => read_env(env, problems),
        (None, Some(file)) => read_file(file, problems),
        (None, None) => {
            problems.add(node.at, format!("the secret {name:?} is nowhere"), mend);
            None
        }
        (Some(_), Some(_)) => {
            problems.add(node.at, format!("the secret {name:?} has both `env` and `file`"), mend);
            None
        }
    }
}

fn read_env(node: &Node, problems: &mut Problems<'_>) -> Option<SecretSource> {
    let text = node.text("env", problems)?;
    let rest = text.strip_prefix("ONCEGATE_SECRET_").unwrap_or_default();
    let known = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    if rest.is_empty() || rest.len() > 100 || !rest.bytes().all(known) {
        let mend = "name a variable that begins with ONCEGATE_SECRET_: no other part of the environment can be read";
        problems.add(node.at, format!("the variable {text:?} cannot be a secret"), mend);
        return None;
    }
    Some(SecretSource::Env(text.to_owned()))
}

fn read_file(node: &Node, problems: &mut Problems<'_>) -> Option<SecretSource> {
    let text = node.text("file", problems)?;
    let path = std::path::Path::new(text);
    let plain = path
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if text.is_empty() || text.len() > 500 || !plain || text.contains('\0') {
        let mend = "write a path below the secrets folder, without .. and not beginning with /";
        problems.add(node.at, format!("the file {text:?} cannot be a secret"), mend);
        return None;
    }
    Some(SecretSource::File(path.to_owned()))
}

fn read_limits(node: &Node, problems: &mut Problems<'_>) -> Limits {
    let mut limits = Limits::default();
    let Some(mut fields) = Fields::open(node, "[limits]", problems) else {
        return limits;
    };
    let concurrency = fields.take("concurrency");
    if let Some(number) = concurrency.and_then(|node| node.whole("concurrency", 1, CONCURRENCY_MAX, problems)) {
        limits.concurrency = u32::try_from(number).unwrap_or(1);
    }
    limits.rate = fields.take("rate").and_then(|node| read_rate(node, problems));
    let timeout = fields.take("timeout");
    if let Some(ms) = timeout.and_then(|node| node.duration_ms("timeout", 100, REQUEST_TIMEOUT_MS_MAX, problems)) {
        limits.timeout_ms = ms;
    }
    fields.done(problems);
    limits
}

fn read_rate(node: &Node, problems: &mut Problems<'_>) -> Option<Rate> {
    let text = node.text("rate", problems)?;
    let rate = text.split_once('/').and_then(|(requests, per)| {
        let requests = requests
            .trim()
            .parse::<u32>()
            .ok()
            .filter(|number| (1..=1_000_000).contains(number))?;
        let per = per.trim();
        let per_ms = if per.starts_with(|c: char| c.is_ascii_digit()) {
            duration(per)?
        } else {
            duration(&format!("1{per}"))?
        };
        (1..=86_400_000).contains(&per_ms).then_some(Rate { requests, per_ms })
    });
    if rate.is_none() {
        problems.add(
            node.at,
            format!("`rate` is {text:?}"),
            "write requests per time, as in \"10/s\" or \"600/m\"",
        );
    }
    rate
}

fn read_examples(
    node: &Node,
    trust: &BTreeMap<String, ActionTrust>,
    problems: &mut Problems<'_>,
) -> BTreeMap<String, Example> {
    let mut examples = BTreeMap::new();
    let Some(mut table) = Fields::open(node, "[examples]", problems) else {
        return examples;
    };
    for (name, _, node) in table.others() {
        let rules = trust.get(name).and_then(|trust| trust.requests.as_deref());
        if let Some(example) = read_example(node, rules, problems) {
            examples.insert(name.to_owned(), example);
        }
    }
    examples
}

fn read_settings(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Value {
    let Some(node) = fields.take("settings") else {
        return Value::Object(Map::new());
    };
    let settings = node.to_json();
    if !settings.is_object() {
        problems.add(node.at, "`settings` is no table", "write [settings]");
    }
    settings
}
