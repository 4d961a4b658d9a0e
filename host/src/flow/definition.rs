//! From the text of a definition to a checked flow. Nothing stops at the first problem, except at broken TOML: there
//! one mistake makes a dozen others, and only the first is shown.

mod key;
mod order;
mod retry;
mod steps;
mod trigger;

pub(super) use steps::Step;
pub(super) use trigger::Trigger;

use super::example;
use super::fields::{Fields, Item, text};
use super::names::{Names, Purpose};
use super::problem::{Problem, Problems};
use super::template::Template;
use oncegate_domain::limits::{FLOW_BYTES_MAX, NAME_BYTES_MAX, NAME_BYTES_MIN, TITLE_CHARS_MAX};
use oncegate_domain::retry::Policy;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

const FIELDS: [&str; 9] = [
    "name",
    "title",
    "renamed_from",
    "trigger",
    "context",
    "vars",
    "retry",
    "steps",
    "review",
];

const STEP_ID_BYTES_MAX: usize = 64;
const CONTEXT_MAX: usize = 32;

/// A checked definition.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) renamed_from: Option<String>,
    pub(super) trigger: Option<Trigger>,
    pub(super) vars: Value,
    pub(super) context: Vec<Word>,
    pub(super) steps: Vec<Step>,
    pub(super) notify: Vec<Step>,
}

/// An entry of `[context]`.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) name: String,
    pub(super) template: Template,
    pub(super) personal: bool,
}

/// Reads and checks a definition; gives it with warnings, or all that is wrong.
pub(super) fn parse(
    source: &str,
    examples: &dyn Fn(&str) -> Option<String>,
) -> Result<(Definition, Vec<Problem>), Vec<Problem>> {
    let mut problems = Problems::new(source);
    if source.len() > FLOW_BYTES_MAX {
        problems.error(
            0,
            format!("the definition is larger than {FLOW_BYTES_MAX} bytes"),
            "split it into several flows",
        );
        return Err(problems.into_errors());
    }
    let (table, broken) = DeTable::parse_recoverable(source);
    if let Some(error) = broken
        .iter()
        .min_by_key(|error| error.span().map_or(usize::MAX, |span| span.start))
    {
        let at = error.span().map_or(0, |span| span.start);
        let what = format!(
            "this is not TOML: {}",
            error.message().lines().next().unwrap_or_default()
        );
        problems.error(at, what, "mend this first; what follows it cannot be judged before");
        return Err(problems.into_errors());
    }
    let definition = read(table.get_ref(), examples, &mut problems);
    match definition {
        Some(definition) if !problems.has_errors() => Ok((definition, problems.into_warnings())),
        _ => Err(problems.into_errors()),
    }
}

fn read(
    table: &DeTable<'_>,
    examples: &dyn Fn(&str) -> Option<String>,
    problems: &mut Problems<'_>,
) -> Option<Definition> {
    let root = Fields::root(table, &FIELDS, problems);
    let name = root.need_text(
        "name",
        "give the flow a name, such as `name = \"website-lead\"`",
        problems,
    );
    let name = name.and_then(|text| checked_name(&text, problems));
    let renamed_from = root
        .text("renamed_from", problems)
        .and_then(|text| checked_name(&text, problems));
    let title = title(&root, problems);
    let vars = vars(&root, problems);
    let policies = retry::named(&root, problems);
    let example = trigger::example(&root, problems).and_then(|text| example::read(&text, examples, problems));
    let given = Given {
        vars: &vars,
        policies: &policies,
        example: example.as_ref(),
    };
    let trigger = trigger::trigger(&root, &given, problems);
    let context = context(&root, &given, problems);
    let steps = steps::steps(&root, &given, problems);
    let notify = steps::notify(&root, &given, problems);
    let name = name?;
    let title = title.unwrap_or_else(|| name.clone());
    Some(Definition {
        name,
        title,
        renamed_from,
        trigger,
        vars,
        context,
        steps,
        notify,
    })
}

/// What is known before the rest is read.
struct Given<'g> {
    vars: &'g Value,
    policies: &'g BTreeMap<&'g str, Policy>,
    example: Option<&'g Value>,
}

impl<'g> Given<'g> {
    /// The names that a template of this purpose may use.
    fn names(&self, purpose: Purpose, steps: &'g [String]) -> Names<'g> {
        Names {
            purpose,
            steps,
            vars: self.vars,
            example: self.example,
        }
    }
}

fn vars(root: &Fields<'_>, problems: &mut Problems<'_>) -> Value {
    let Some(fields) = root
        .get("vars")
        .and_then(|item| Fields::open(item, "`[vars]`", problems))
    else {
        return Value::Object(Map::new());
    };
    // One that is wrong stays known, as null: its uses are not to blame.
    let vars = fields
        .iter()
        .map(|(name, _, item)| (name.to_owned(), super::shape::plain(item, problems).unwrap_or_default()));
    Value::Object(vars.collect())
}

fn context(root: &Fields<'_>, given: &Given<'_>, problems: &mut Problems<'_>) -> Vec<Word> {
    let Some(fields) = root
        .get("context")
        .and_then(|item| Fields::open(item, "`[context]`", problems))
    else {
        return Vec::new();
    };
    let names = given.names(Purpose::Event, &[]);
    let mut words = Vec::new();
    for (name, at, item) in fields.iter() {
        if !is_step_id(name) {
            problems.error(
                at,
                format!("{name:?} cannot be a word of the context"),
                "begin with a-z, then use a-z, 0-9 and _",
            );
        }
        if let Some(word) = word(name, item, &names, problems) {
            words.push((at, word));
        }
    }
    if words.len() > CONTEXT_MAX {
        problems.error(
            fields.at,
            format!("`[context]` has more than {CONTEXT_MAX} words"),
            "keep those that people search for",
        );
    }
    words.sort_by_key(|(at, _)| *at);
    words.into_iter().map(|(_, word)| word).collect()
}

fn word(name: &str, item: &Item<'_>, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Word> {
    let (template, personal) = match item.get_ref() {
        DeValue::Table(_) => {
            let fields = Fields::of(item, &format!("`{name}`"), &["value", "personal"], problems)?;
            let personal = match fields.get("personal") {
                None => false,
                Some(item) => item.get_ref().as_bool().unwrap_or_else(|| {
                    super::fields::wrong_type(item, "`personal`", "true or false", "true", problems);
                    true
                }),
            };
            (
                fields.need_text("value", "write `value = \"{{ body.email }}\"`", problems)?,
                personal,
            )
        }
        _ => (text(item, name, problems)?, false),
    };
    Some(Word {
        name: name.to_owned(),
        template: Template::parse(&template, names, problems)?,
        personal,
    })
}

fn title(fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = fields.text("title", problems)?;
    if text.value.trim().is_empty() || text.value.chars().count() > TITLE_CHARS_MAX || text.value.chars().any(is_hidden)
    {
        let mend = format!(
            "write 1 to {TITLE_CHARS_MAX} visible characters, without control, direction or zero-width characters"
        );
        problems.error(text.at, "this title cannot be shown safely", mend);
        return None;
    }
    Some(text.value.to_owned())
}

/// Characters that could make a title look like another: controls, direction marks, zero-width ones.
fn is_hidden(c: char) -> bool {
    let zero_width = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}');
    let direction = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2065}'..='\u{206f}' | '\u{61c}');
    c.is_control() || zero_width || direction
}

fn checked_name(text: &super::text::Text<'_>, problems: &mut Problems<'_>) -> Option<String> {
    if is_name(text.value) {
        return Some(text.value.to_owned());
    }
    let mend = format!("begin with a-z, then use a-z, 0-9 and -, from {NAME_BYTES_MIN} to {NAME_BYTES_MAX} characters");
    problems.error(text.at, format!("{:?} cannot be a name", text.value), mend);
    None
}

/// Names of flows, connections and actions.
fn is_name(name: &str) -> bool {
    let rest = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (NAME_BYTES_MIN..=NAME_BYTES_MAX).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(rest)
}

fn is_step_id(id: &str) -> bool {
    let rest = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    (1..=STEP_ID_BYTES_MAX).contains(&id.len())
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.bytes().all(rest)
}
