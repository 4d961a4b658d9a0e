//! `dedup`: what the destination can do about duplicates. The author proposes it, the connection may say otherwise.

use super::super::document::{Fields, Node, Problems};
use super::Dedup;
use super::headers::{forbidden_header, is_header_name};
use oncegate_domain::key::KeyFormat;

const WINDOW_MS_MAX: u64 = 366 * 86_400_000;
/// `og1_` and 128 bits in base32: a shorter key could meet another by chance.
const KEY_CHARS_MIN: u64 = 30;
const KEY_CHARS_MAX: u64 = 256;

/// Reads `dedup = { kind = … }`.
pub(crate) fn read_dedup(node: &Node, problems: &mut Problems<'_>) -> Option<Dedup> {
    let mut fields = Fields::open(node, "`dedup`", problems)?;
    let mend = "write kind = \"header\", \"field\", \"natural\" or \"none\"";
    let kind = fields.need("kind", mend, problems)?;
    let dedup = match kind.text("kind", problems)? {
        "none" => Some(Dedup::None),
        "header" => read_header(&mut fields, problems),
        "field" => read_field(&mut fields, problems),
        "natural" => read_natural(&mut fields, problems),
        other => {
            problems.add(kind.at, format!("no dedup kind {other:?}"), mend);
            return None;
        }
    };
    fields.done(problems);
    dedup
}

fn read_header(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Dedup> {
    let name = fields.need(
        "name",
        "add name = \"Idempotency-Key\", the header that carries the key",
        problems,
    );
    let name = name.and_then(|node| {
        let text = node.text("name", problems)?;
        let taken = text.eq_ignore_ascii_case("content-type") || text.eq_ignore_ascii_case("accept");
        if !is_header_name(text) || forbidden_header(text).is_some() || taken {
            problems.add(
                node.at,
                format!("the header {text:?} cannot carry the key"),
                "name the header that the destination reads the key from",
            );
            return None;
        }
        Some(text.to_owned())
    });
    let window_ms = read_window(fields, problems);
    let format = read_format(fields, problems);
    Some(Dedup::Header {
        name: name?,
        window_ms: window_ms?,
        format: format?,
    })
}

fn read_field(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Dedup> {
    let pointer = fields.need(
        "pointer",
        "add pointer = \"/external_id\", where the key is in the JSON body",
        problems,
    );
    let pointer = pointer.and_then(|node| read_pointer(node, "pointer", problems));
    let window_ms = read_window(fields, problems);
    let format = read_format(fields, problems);
    Some(Dedup::Field {
        pointer: pointer?,
        window_ms: window_ms?,
        format: format?,
    })
}

fn read_natural(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Dedup> {
    let mend = "add key = [\"/email\"], the input fields that name the thing that is changed";
    let node = fields.need("key", mend, problems)?;
    let items = node.list("key", problems)?;
    if items.is_empty() || items.len() > 8 {
        problems.add(
            node.at,
            format!("`key` lists {} fields", items.len()),
            mend.replace("add", "write 1 to 8, as in"),
        );
    }
    let key = items
        .iter()
        .map(|item| read_pointer(item, "key", problems))
        .collect::<Option<Vec<_>>>()?;
    Some(Dedup::Natural { key })
}

/// `window` is required, because a key that is honoured for nobody knows how long protects nothing.
#[allow(clippy::option_option, reason = "outer: readable; inner: known")]
fn read_window(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<Option<u64>> {
    let mend = "add window = \"24h\", how long the destination honours a key, or \"unknown\", which protects nothing";
    let node = fields.need("window", mend, problems)?;
    if matches!(&node.content, super::super::document::Content::Text(text) if text == "unknown") {
        return Some(None);
    }
    node.duration_ms("window", 1000, WINDOW_MS_MAX, problems).map(Some)
}

fn read_format(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> Option<KeyFormat> {
    let max_length = fields.take("max_length");
    let uuid = match fields.take("format") {
        None => false,
        Some(node) => match node.text("format", problems)? {
            "text" => false,
            "uuid" => true,
            other => {
                problems.add(
                    node.at,
                    format!("no key format {other:?}"),
                    "write \"text\" or \"uuid\"",
                );
                return None;
            }
        },
    };
    match (max_length, uuid) {
        (None, true) => Some(KeyFormat::Uuid),
        (Some(node), true) => {
            problems.add(
                node.at,
                "`max_length` beside a UUID",
                "leave one of them out: a UUID has its own length",
            );
            None
        }
        (None, false) => Some(text_format(KEY_CHARS_MAX)),
        (Some(node), false) => node
            .whole("max_length", KEY_CHARS_MIN, KEY_CHARS_MAX, problems)
            .map(text_format),
    }
}

fn text_format(max_length: u64) -> KeyFormat {
    KeyFormat::Text {
        max_length: usize::try_from(max_length).unwrap_or(usize::MAX),
    }
}

/// Reads a JSON pointer (RFC 6901) that names something below the whole.
pub(super) fn read_pointer(node: &Node, name: &str, problems: &mut Problems<'_>) -> Option<String> {
    let text = node.text(name, problems)?;
    let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if !text.starts_with('/') || text.len() > 512 || !escapes || text.chars().any(char::is_control) {
        let mend = "write it as \"/field\" or \"/outer/field\"";
        problems.add(node.at, format!("{text:?} is no JSON pointer"), mend);
        return None;
    }
    Some(text.to_owned())
}
