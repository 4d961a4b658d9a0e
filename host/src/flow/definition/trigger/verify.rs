//! `verify`: how a delivery proves where it comes from. A flow names secrets and never holds one.

use super::super::super::amount::{duration_ms, words};
use super::super::super::fields::{Fields, Item, text, wrong_type};
use super::super::super::problem::{Problems, mean_or_list};
use super::super::super::text::Text;
use super::super::super::webhook::Verify;
use toml::de::DeValue;

const BEARER: &str = "bearer";
pub(super) const STANDARD_WEBHOOKS: &str = "standard-webhooks";
/// Known, but not there yet.
const LATER: [&str; 4] = ["stripe", "github", "shopify", "slack"];
const SECRET_NAME_BYTES_MAX: usize = 64;
/// The one in use, and the one that is on its way in or out.
const SECRETS_MAX: usize = 2;
/// What the specification's own libraries allow.
const TOLERANCE_S: u64 = 300;
const TOLERANCE_S_MIN: u64 = 10;
const TOLERANCE_S_MAX: u64 = 3_600;

pub(super) fn verify(trigger: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Verify> {
    let mend = "write `verify = { scheme = \"bearer\", secret = \"NAME\" }`, or `verify = \"none\"` for a hook that anybody may call";
    let Some(item) = trigger.get("verify") else {
        problems.error(trigger.at, "`[trigger.webhook]` needs `verify`", mend);
        return None;
    };
    match item.get_ref() {
        DeValue::String(word) if word == "none" => Some(Verify::None),
        DeValue::Table(_) => {
            let known = ["scheme", "secret", "tolerance"];
            scheme(&Fields::of(item, "`verify`", &known, problems)?, problems)
        }
        _ => {
            let what = "`verify` must be \"none\" or a scheme with a secret";
            problems.error(item.span().start, what, mend);
            None
        }
    }
}

fn scheme(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Verify> {
    let mend = "write `scheme = \"bearer\"` or `scheme = \"standard-webhooks\"`";
    let scheme = fields.need_text("scheme", mend, problems);
    let secrets = secrets(fields, problems);
    let tolerance = tolerance(fields, problems);
    let scheme = scheme?;
    match scheme.value {
        BEARER => bearer(fields, secrets?, problems),
        STANDARD_WEBHOOKS => Some(Verify::StandardWebhooks {
            secrets: secrets?,
            tolerance_s: tolerance?,
        }),
        later if LATER.contains(&later) => {
            let what = format!("the scheme `{later}` is not there yet");
            problems.error(scheme.at, what, "it comes later; use `bearer` for now");
            None
        }
        other => {
            let what = format!("there is no scheme `{other}`");
            let mend = mean_or_list(other, "schemes", [BEARER, STANDARD_WEBHOOKS]);
            problems.error(scheme.at, what, mend);
            None
        }
    }
}

fn bearer(fields: &Fields<'_>, mut secrets: Vec<String>, problems: &mut Problems<'_>) -> Option<Verify> {
    if let Some(item) = fields.get("tolerance") {
        let what = "`tolerance` is about the time in a signature, and `bearer` signs nothing";
        problems.error(item.span().start, what, "take it out");
    }
    let secret = secrets.pop()?;
    if !secrets.is_empty() {
        let at = fields.get("secret").map_or(fields.at, |item| item.span().start);
        let mend = "write `secret = \"NAME\"`; two at a time are for `standard-webhooks`";
        problems.error(at, "`bearer` takes one secret", mend);
        return None;
    }
    Some(Verify::Bearer { secret })
}

/// One name, or a list of names.
fn secrets(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let Some(item) = fields.get("secret") else {
        let mend = "name a secret that the operator set: `secret = \"NAME\"`";
        problems.error(fields.at, "`verify` needs `secret`", mend);
        return None;
    };
    let items: Vec<&Item<'_>> = match item.get_ref() {
        DeValue::Array(list) => list.iter().collect(),
        DeValue::String(_) => vec![item],
        _ => {
            let wanted = "the name of a secret, or a list of two";
            wrong_type(item, "`secret`", wanted, "secret = \"NAME\"", problems);
            return None;
        }
    };
    let names: Vec<Option<String>> = items
        .iter()
        .map(|item| secret_name(&text(item, "secret", problems)?, problems))
        .collect();
    let names: Vec<String> = names.into_iter().collect::<Option<_>>()?;
    let twice = names.first().is_some_and(|first| names[1..].contains(first));
    if names.is_empty() || names.len() > SECRETS_MAX || twice {
        let mend = "write the new one and the old one while you rotate: `secret = [\"NEW\", \"OLD\"]`";
        problems.error(item.span().start, "`secret` must be one name, or two that differ", mend);
        return None;
    }
    Some(names)
}

fn secret_name(text: &Text<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let name = text.value;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    // The secrets of Standard Webhooks begin so; one without `+` and `/` looks like a name.
    let is_secret = name.starts_with("whsec_");
    if (1..=SECRET_NAME_BYTES_MAX).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(plain)
        && !is_secret
    {
        return Some(name.to_owned());
    }
    let mend = "write the name of a secret that the operator set (letters, digits, - and _), never the secret itself";
    problems.error(text.at, "`secret` is not the name of a secret", mend);
    None
}

/// In whole seconds, as the timestamps of signatures are.
fn tolerance(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    if fields.get("tolerance").is_none() {
        return Some(TOLERANCE_S);
    }
    let text = fields.text("tolerance", problems)?;
    let (least, most) = (words(TOLERANCE_S_MIN * 1_000), words(TOLERANCE_S_MAX * 1_000));
    let what = match duration_ms(text.value) {
        Ok(ms) if ms.is_multiple_of(1_000) && (TOLERANCE_S_MIN..=TOLERANCE_S_MAX).contains(&(ms / 1_000)) => {
            return Some(ms / 1_000);
        }
        Ok(_) => format!("`tolerance` must be from {least} to {most}, in whole seconds"),
        Err(what) => format!("`tolerance`: {what}"),
    };
    let mend = format!(
        "write how far the sender's clock may be from yours, such as `tolerance = \"{}\"`",
        words(TOLERANCE_S * 1_000)
    );
    problems.error(text.at, what, mend);
    None
}
