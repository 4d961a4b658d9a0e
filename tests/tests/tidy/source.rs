//! A file as the rules see it: its lines, its code without comments and strings, and which lines are test code.

use std::fmt;

/// A broken rule.
#[derive(Debug)]
pub struct Violation {
    pub path: String,
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub mend: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.what, self.mend)
    }
}

pub struct Source {
    /// From the top of the repository, with `/`.
    pub path: String,
    pub text: String,
    /// The text of a Rust file with comments, strings and characters blanked out, byte for byte.
    pub code: String,
    /// For each line whether it belongs to a test.
    test_lines: Vec<bool>,
}

impl Source {
    pub fn new(path: String, text: String) -> Source {
        let code = if path.ends_with(".rs") {
            blanked(&text)
        } else {
            text.clone()
        };
        let test_lines = if is_test_file(&path) {
            vec![true; text.lines().count()]
        } else {
            test_lines(&code)
        };
        Source {
            path,
            text,
            code,
            test_lines,
        }
    }

    /// Lines from 1.
    pub fn is_test(&self, line: usize) -> bool {
        self.test_lines.get(line - 1).copied().unwrap_or(false)
    }

    pub fn is_test_file(&self) -> bool {
        is_test_file(&self.path)
    }

    /// Tests of one module in a file of their own: what they are for, their module says.
    pub fn is_unit_test_file(&self) -> bool {
        self.is_test_file() && self.path.contains("/src/")
    }

    /// The line (from 1) on which a byte of text or code stands.
    pub fn line_of(&self, offset: usize) -> usize {
        self.code.as_bytes()[..offset]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1
    }

    /// The room of the house in which a file lies: the module directly below `host/src`.
    pub fn room(&self) -> Option<&str> {
        let below = self.path.strip_prefix("host/src/")?;
        let first = below.split('/').next()?;
        Some(first.strip_suffix(".rs").unwrap_or(first))
    }

    /// Where a word (or a path of words) stands in the code, not as a part of a longer one.
    pub fn words(&self, word: &str) -> Vec<usize> {
        let starts = self.code.match_indices(word).map(|(at, _)| at);
        starts.filter(|at| is_whole(&self.code, *at, word)).collect()
    }

    /// Where a path of words stands, also where its last word is one of a list: `a::b` as `a::{c, b}`.
    pub fn paths(&self, path: &str) -> Vec<usize> {
        let mut found = self.words(path);
        if let Some((parent, last)) = path.rsplit_once("::") {
            for at in self.words(&format!("{parent}::{{")) {
                let end = item_end(&self.code, at).unwrap_or(self.code.len());
                found.extend(
                    self.words(last)
                        .into_iter()
                        .filter(|at_last| (at..end).contains(at_last)),
                );
            }
        }
        found
    }

    pub fn violation(&self, line: usize, what: String, mend: &'static str) -> Violation {
        Violation {
            path: self.path.clone(),
            line,
            what,
            mend,
        }
    }
}

fn is_whole(code: &str, at: usize, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let open_start = word.starts_with(part_of_name) && code[..at].ends_with(part_of_name);
    let open_end = word.ends_with(part_of_name) && code[at + word.len()..].starts_with(part_of_name);
    !open_start && !open_end
}

/// Unit tests in files of their own, and the crate that holds end-to-end tests. Its guests are connectors, not tests.
fn is_test_file(path: &str) -> bool {
    let in_tests_crate = path.starts_with("tests/") && !path.starts_with("tests/guests/");
    in_tests_crate || path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Items under `#[cfg(test)]`, from the attribute to the closing brace (or the semicolon).
fn test_lines(code: &str) -> Vec<bool> {
    let mut lines = vec![false; code.lines().count()];
    for (start, attribute) in code.match_indices("#[cfg(test)]") {
        let after = start + attribute.len();
        let end = item_end(code, after).unwrap_or(code.len() - 1);
        let first = code[..start].matches('\n').count();
        let last = code[..end].matches('\n').count();
        lines[first..=last].fill(true);
    }
    lines
}

/// Where an item ends that begins at `from`: its closing brace, or the semicolon of an item without a body.
pub fn item_end(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 && byte == b'}' {
                    return Some(at);
                }
            }
            b';' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Blanks comments, strings and characters, keeping every line and every offset.
fn blanked(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let blank_to = match &bytes[at..] {
            [b'/', b'/', ..] => Some(find(bytes, at, b"\n")),
            [b'/', b'*', ..] => Some(block_comment_end(bytes, at)),
            [b'"', ..] => Some(string_end(bytes, at)),
            [b'r', b'"' | b'#', ..] if !in_name(bytes, at) => raw_string_end(bytes, at),
            [b'\'', ..] => char_end(bytes, at),
            _ => None,
        };
        let end = blank_to.unwrap_or(at + 1);
        if blank_to.is_some() {
            code[at..end]
                .iter_mut()
                .filter(|byte| **byte != b'\n')
                .for_each(|byte| *byte = b' ');
        }
        at = end;
    }
    String::from_utf8(code).expect("whole strings and comments were blanked")
}

fn find(bytes: &[u8], from: usize, needle: &[u8]) -> usize {
    let found = bytes[from..].windows(needle.len()).position(|window| window == needle);
    found.map_or(bytes.len(), |at| from + at)
}

fn in_name(bytes: &[u8], at: usize) -> bool {
    // `br"…"` is a raw string too.
    let before = |back: usize| at.checked_sub(back).map(|at| bytes[at]);
    let name = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if before(1) == Some(b'b') {
        name(before(2))
    } else {
        name(before(1))
    }
}

fn block_comment_end(bytes: &[u8], from: usize) -> usize {
    let (mut depth, mut at) = (0_usize, from);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Just behind `r"…"`, `r#"…"#` and so on; `None` for a raw identifier.
fn raw_string_end(bytes: &[u8], from: usize) -> Option<usize> {
    let hashes = bytes[from + 1..].iter().take_while(|byte| **byte == b'#').count();
    let quote = from + 1 + hashes;
    if bytes.get(quote) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    Some((find(bytes, quote + 1, &close) + close.len()).min(bytes.len()))
}

/// Just behind a character; `None` for a lifetime.
fn char_end(bytes: &[u8], from: usize) -> Option<usize> {
    if bytes.get(from + 1) == Some(&b'\\') {
        return Some((find(bytes, from + 3, b"'") + 1).min(bytes.len()));
    }
    let text = std::str::from_utf8(&bytes[from + 1..]).ok()?;
    let width = text.chars().next()?.len_utf8();
    (bytes.get(from + 1 + width) == Some(&b'\'')).then_some(from + 2 + width)
}
