//! `retry`: how often and how patiently a step is tried. What is retryable at all is not the flow's to say.

use super::super::amount::{duration_ms, words};
use super::super::fields::{Fields, Item, text, whole};
use super::super::problem::{Problems, mean_or_list};
use oncegate_domain::limits::ATTEMPTS_MAX;
use oncegate_domain::retry::Policy;
use std::collections::BTreeMap;
use toml::de::DeValue;

const FIELDS: [&str; 5] = ["attempts", "first", "factor", "longest", "refusals"];
const FACTOR_MAX: f64 = 10.0;
const FIRST_MS: std::ops::RangeInclusive<u64> = 100..=3_600_000;
const LONGEST_MS: std::ops::RangeInclusive<u64> = 1_000..=86_400_000;

/// The named policies of a flow: `[retry.NAME]`.
pub(super) fn named<'t>(root: &Fields<'t>, problems: &mut Problems<'_>) -> BTreeMap<&'t str, Policy> {
    let Some(fields) = root
        .get("retry")
        .and_then(|item| Fields::open(item, "`[retry]`", problems))
    else {
        return BTreeMap::new();
    };
    let mut policies = BTreeMap::new();
    for (name, at, item) in fields.iter() {
        if item.get_ref().as_table().is_some() {
            policies.insert(name, table(item, &format!("`[retry.{name}]`"), problems));
        } else {
            problems.error(
                at,
                "`[retry]` holds named policies",
                format!("write `[retry.NAME]` with `{name}` in it, and `retry = \"NAME\"` in the step"),
            );
        }
    }
    policies
}

/// The policy of a step: a table, a name, or the default.
pub(super) fn of_step(item: Option<&Item<'_>>, named: &BTreeMap<&str, Policy>, problems: &mut Problems<'_>) -> Policy {
    match item {
        None => Policy::default(),
        Some(item) => match item.get_ref() {
            DeValue::String(name) => named.get(name.as_ref()).copied().unwrap_or_else(|| {
                let mend = if named.is_empty() {
                    format!("add `[retry.{name}]`, or write `{{ attempts = 5, first = \"2s\" }}`")
                } else {
                    mean_or_list(name, "policies", named.keys().copied())
                };
                problems.error(item.span().start, format!("there is no retry policy `{name}`"), mend);
                Policy::default()
            }),
            _ => table(item, "`retry`", problems),
        },
    }
}

fn table(item: &Item<'_>, place: &str, problems: &mut Problems<'_>) -> Policy {
    let mut policy = Policy::default();
    let Some(fields) = Fields::of(item, place, &FIELDS, problems) else {
        return policy;
    };
    if let Some(attempts) = fields
        .get("attempts")
        .and_then(|item| whole(item, "attempts", 1..=ATTEMPTS_MAX, problems))
    {
        policy.attempts = attempts;
    }
    if let Some(refusals) = fields
        .get("refusals")
        .and_then(|item| whole(item, "refusals", 1..=ATTEMPTS_MAX, problems))
    {
        policy.refusals = refusals;
    }
    if let Some(first) = duration(&fields, "first", FIRST_MS, problems) {
        policy.first_ms = first;
        policy.longest_ms = policy.longest_ms.max(first);
    }
    if let Some(item) = fields.get("factor") {
        match number(item.get_ref()).filter(|factor| (1.0..=FACTOR_MAX).contains(factor)) {
            Some(factor) => policy.factor = factor,
            None => problems.error(
                item.span().start,
                format!("`factor` must be a number from 1 to {FACTOR_MAX}"),
                "write `factor = 2`",
            ),
        }
    }
    if let Some(longest) = duration(&fields, "longest", LONGEST_MS, problems) {
        if longest < policy.first_ms {
            let at = fields.get("longest").map_or(fields.at, |item| item.span().start);
            let what = format!("`longest` is shorter than `first`, which is {}", words(policy.first_ms));
            problems.error(at, what, "make `longest` at least as long, or `first` shorter");
        }
        policy.longest_ms = longest;
    }
    policy
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(n) => n.as_str().parse().ok(),
        DeValue::Float(n) => n.as_str().replace('_', "").parse().ok(),
        _ => None,
    }
}

fn duration(
    fields: &Fields<'_>,
    name: &str,
    bounds: std::ops::RangeInclusive<u64>,
    problems: &mut Problems<'_>,
) -> Option<u64> {
    let item = fields.get(name)?;
    if let DeValue::Integer(number) = item.get_ref() {
        let mend = format!(
            "write `{name} = \"{}s\"` for seconds; units are ms, s, m, h, d",
            number.as_str().trim_start_matches(['+', '-'])
        );
        problems.error(item.span().start, format!("`{name}` has no unit"), mend);
        return None;
    }
    let text = text(item, name, problems)?;
    match duration_ms(text.value) {
        Ok(ms) if bounds.contains(&ms) => Some(ms),
        Ok(_) => {
            let what = format!(
                "`{name}` must be from {} to {}",
                words(*bounds.start()),
                words(*bounds.end())
            );
            problems.error(text.at, what, "choose a duration between these");
            None
        }
        Err(what) => {
            problems.error(
                text.at,
                format!("`{name}`: {what}"),
                "write a whole number with a unit, such as \"2s\", \"5m\" or \"24h\"",
            );
            None
        }
    }
}
