//! Reading the fields of one table, so that a missing one and an unknown one both become problems.

use super::{At, Content, Node, Problems, nearest};
use std::collections::{BTreeMap, BTreeSet};

/// The fields of one table that were not asked for yet. Whoever reads it ends with [`Fields::done`].
pub(crate) struct Fields<'n> {
    /// Where the table begins.
    pub(crate) at: At,
    title: String,
    entries: &'n BTreeMap<String, (At, Node)>,
    asked: BTreeSet<String>,
}

impl<'n> Fields<'n> {
    /// Opens a table; anything else is a problem. `title` names it to people: "`[auth]`".
    pub(crate) fn open(node: &'n Node, title: &str, problems: &mut Problems<'_>) -> Option<Self> {
        let Content::Table(entries) = &node.content else {
            problems.add(node.at, format!("{title} is {}", node.content.kind()), "write a table");
            return None;
        };
        Some(Fields {
            at: node.at,
            title: title.to_owned(),
            entries,
            asked: BTreeSet::new(),
        })
    }

    /// A field that may be missing.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'n Node> {
        self.asked.insert(name.to_owned());
        self.entries.get(name).map(|(_, node)| node)
    }

    /// A field that must be there. `mend` says what to write.
    pub(crate) fn need(&mut self, name: &str, mend: &str, problems: &mut Problems<'_>) -> Option<&'n Node> {
        let node = self.take(name);
        if node.is_none() {
            problems.add(self.at, format!("{} has no `{name}`", self.title), mend);
        }
        node
    }

    /// Where the name of a field stands.
    pub(crate) fn at_name(&self, name: &str) -> At {
        self.entries.get(name).map_or(self.at, |(at, _)| *at)
    }

    /// Every field that was not asked for by name, for tables with names of the author's own.
    pub(crate) fn others(&mut self) -> Vec<(&'n str, At, &'n Node)> {
        let others = self.entries.iter().filter(|(name, _)| !self.asked.contains(*name));
        let others: Vec<_> = others.map(|(name, (at, node))| (name.as_str(), *at, node)).collect();
        self.asked.extend(others.iter().map(|(name, _, _)| (*name).to_owned()));
        others
    }

    /// Whatever was not asked for is unknown, and that is a problem: a misspelt field must not be silently ignored.
    pub(crate) fn done(self, problems: &mut Problems<'_>) {
        for (name, (at, _)) in self.entries.iter().filter(|(name, _)| !self.asked.contains(*name)) {
            let mend = match nearest(name, self.asked.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let known: Vec<_> = self.asked.iter().map(|name| format!("`{name}`")).collect();
                    format!("known here: {}", known.join(", "))
                }
            };
            problems.add(*at, format!("{} has no field `{name}`", self.title), mend);
        }
    }
}
