//! Reading tables of the definition: which fields they may have, of which type; everything wrong is noted, nothing stops.

use super::problem::{Problems, did_you_mean};
use super::text::Text;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its place.
pub(super) type Item<'t> = Spanned<DeValue<'t>>;

/// A table of the definition.
#[derive(Clone)]
pub(super) struct Fields<'t> {
    table: &'t DeTable<'t>,
    /// What people call it: "`[trigger.webhook]`".
    pub(super) place: String,
    /// Where it begins in the file.
    pub(super) at: usize,
}

impl<'t> Fields<'t> {
    /// Looks at `item` as a table with at most the `known` fields.
    pub(super) fn of(
        item: &'t Item<'t>,
        place: &str,
        known: &[&'static str],
        problems: &mut Problems<'_>,
    ) -> Option<Fields<'t>> {
        let fields = Fields::open(item, place, problems)?;
        fields.only(known, problems);
        Some(fields)
    }

    /// Looks at `item` as a table with any fields.
    pub(super) fn open(item: &'t Item<'t>, place: &str, problems: &mut Problems<'_>) -> Option<Fields<'t>> {
        match item.get_ref().as_table() {
            Some(table) => Some(Fields {
                table,
                place: place.to_owned(),
                at: item.span().start,
            }),
            None => {
                wrong_type(item, place, "a table", "{ name = \"value\" }", problems);
                None
            }
        }
    }

    /// The whole file.
    pub(super) fn root(table: &'t DeTable<'t>, known: &[&'static str], problems: &mut Problems<'_>) -> Fields<'t> {
        let fields = Fields {
            table,
            place: "a flow".to_owned(),
            at: 0,
        };
        fields.only(known, problems);
        fields
    }

    fn only(&self, known: &[&'static str], problems: &mut Problems<'_>) {
        for (key, _) in self
            .table
            .iter()
            .filter(|(key, _)| !known.contains(&key.get_ref().as_ref()))
        {
            let guess = did_you_mean(key.get_ref(), known.iter().copied());
            let all = format!("take it out; known are: {}", known.join(", "));
            let mend = if guess.is_empty() { all } else { guess };
            problems.error(
                key.span().start,
                format!("{} has no field `{}`", self.place, key.get_ref()),
                mend,
            );
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'t Item<'t>> {
        self.table.get(name)
    }

    /// Fields with the place of their name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'t str, usize, &'t Item<'t>)> {
        self.table
            .iter()
            .map(|(key, item)| (key.get_ref().as_ref(), key.span().start, item))
    }

    /// A text, if the field is there.
    pub(super) fn text(&self, name: &str, problems: &mut Problems<'_>) -> Option<Text<'t>> {
        text(self.get(name)?, name, problems)
    }

    /// A text that must be there; `mend` says what to write.
    pub(super) fn need_text(&self, name: &str, mend: &str, problems: &mut Problems<'_>) -> Option<Text<'t>> {
        if self.get(name).is_none() {
            problems.error(self.at, format!("{} needs `{name}`", self.place), mend);
        }
        self.text(name, problems)
    }

    /// An array, if the field is there.
    pub(super) fn list(&self, name: &str, problems: &mut Problems<'_>) -> Option<Vec<&'t Item<'t>>> {
        let item = self.get(name)?;
        match item.get_ref().as_array() {
            Some(list) => Some(list.iter().collect()),
            None => {
                wrong_type(item, &format!("`{name}`"), "a list", "[ … ]", problems);
                None
            }
        }
    }
}

/// A text.
pub(super) fn text<'t>(item: &'t Item<'t>, name: &str, problems: &mut Problems<'_>) -> Option<Text<'t>> {
    match item.get_ref().as_str() {
        Some(value) => Some(Text::new(value, item.span(), problems.source())),
        None => {
            wrong_type(item, &format!("`{name}`"), "a text", "\"…\"", problems);
            None
        }
    }
}

/// A whole number between bounds.
pub(super) fn whole(
    item: &Item<'_>,
    name: &str,
    bounds: std::ops::RangeInclusive<u32>,
    problems: &mut Problems<'_>,
) -> Option<u32> {
    let number = item
        .get_ref()
        .as_integer()
        .and_then(|n| u32::from_str_radix(n.as_str(), n.radix()).ok());
    let found = number.filter(|n| bounds.contains(n));
    if found.is_none() {
        let what = format!(
            "`{name}` must be a whole number from {} to {}",
            bounds.start(),
            bounds.end()
        );
        problems.error(item.span().start, what, format!("write `{name} = {}`", bounds.start()));
    }
    found
}

pub(super) fn wrong_type(item: &Item<'_>, name: &str, wanted: &str, example: &str, problems: &mut Problems<'_>) {
    let what = format!("{name} must be {wanted}, not {}", kind(item.get_ref()));
    problems.error(item.span().start, what, format!("write {example}"));
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
