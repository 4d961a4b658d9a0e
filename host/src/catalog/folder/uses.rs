//! Where a flow says what it uses: for errors that only show when flow and connections are seen together.

use crate::catalog::document::{Content, Node, read_toml};

/// Line and column.
type Place = (u32, u32);

/// Where the `use` of each step stands, and of each `[[review.notify]]`, in file order.
pub(super) fn places(source: &str) -> (Vec<Place>, Vec<Place>) {
    let Ok((node, problems)) = read_toml(source, usize::MAX) else {
        return (Vec::new(), Vec::new());
    };
    let of = |list: Option<&Node>| match list.map(|node| &node.content) {
        Some(Content::List(items)) => items
            .iter()
            .map(|item| problems.place(field(item, "use").map_or(item.at, |node| node.at)))
            .collect(),
        _ => Vec::new(),
    };
    let notify = field(&node, "review").and_then(|review| field(review, "notify"));
    (of(field(&node, "steps")), of(notify))
}

fn field<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match &node.content {
        Content::Table(entries) => entries.get(name).map(|(_, node)| node),
        _ => None,
    }
}
