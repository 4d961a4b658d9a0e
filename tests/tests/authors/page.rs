//! The guide, taken apart into its fenced blocks. What follows the language on a fence says what the block is: the file that
//! it is the whole of, what it is a part of, or whose output it shows.

const GUIDE: &str = include_str!("../../../docs/connectors.md");

pub struct Block {
    pub language: &'static str,
    pub note: &'static str,
    pub text: String,
}

pub fn text() -> &'static str {
    GUIDE
}

pub fn blocks() -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = GUIDE.lines();
    while let Some(line) = lines.next() {
        let Some(fence) = line.strip_prefix("```") else {
            continue;
        };
        let (language, note) = fence.split_once(' ').unwrap_or((fence, ""));
        let text = lines.by_ref().take_while(|line| *line != "```");
        let text = text.map(|line| format!("{line}\n")).collect();
        found.push(Block { language, note, text });
    }
    found
}

/// The one block with this note.
pub fn block(note: &str) -> String {
    let mut found = blocks().into_iter().filter(|block| block.note == note);
    let (first, second) = (found.next(), found.next());
    assert!(second.is_none(), "the guide has two blocks {note:?}");
    first.unwrap_or_else(|| panic!("the guide has no block {note:?}")).text
}
