//! The words of an expression, with their places. The engine parses expressions itself; this only finds what the host
//! must know before: which paths, filters and tests are used, and where. It knows nothing of what they mean.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a word such as `and`.
    Name,
    /// A whole number.
    Whole,
    /// A number with a fraction or an exponent.
    Fraction,
    /// A text in quotes (the range includes them).
    Text,
    /// An operator or bracket.
    Mark,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

/// The byte at which reading stopped, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

/// The engine parses and compiles by recursion, not all of it guarded: these bounds keep it far from the end of the stack.
const TOKENS_MAX: usize = 500;
const BRACKETS_MAX: usize = 24;
const PREFIXES_MAX: usize = 4;

const MARKS_OF_TWO: [&str; 6] = ["//", "**", "==", "!=", ">=", "<="];
const MARKS_OF_ONE: &str = "+-*/%.,:~|=<>()[]{}";

/// Splits `source` until its end, or until a `}}` that closes no bracket; gives the tokens and where that is.
pub(super) fn tokens(source: &str) -> Result<(Vec<Token>, Option<usize>), Stop> {
    let bytes = source.as_bytes();
    let (mut found, mut at, mut open, mut prefixes) = (Vec::new(), 0, Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if open.is_empty() && source[at..].starts_with("}}") {
            return Ok((found, Some(at)));
        }
        let (kind, len) = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => (
                Kind::Name,
                run(&bytes[at..], |b| b.is_ascii_alphanumeric() || b == b'_'),
            ),
            // As in the engine: after a dot a number is an index, so `a.1.0` is `a[1][0]`.
            b'0'..=b'9' if at > 0 && bytes[at - 1] == b'.' => (Kind::Whole, run(&bytes[at..], |b| b.is_ascii_digit())),
            b'0'..=b'9' => number(&bytes[at..]),
            b'"' | b'\'' => (
                Kind::Text,
                text(&bytes[at..]).ok_or(Stop {
                    at,
                    what: "a text has no closing quote",
                })?,
            ),
            _ if MARKS_OF_TWO.iter().any(|mark| source[at..].starts_with(mark)) => (Kind::Mark, 2),
            _ if byte.is_ascii() && MARKS_OF_ONE.contains(char::from(byte)) => (Kind::Mark, 1),
            _ => {
                return Err(Stop {
                    at,
                    what: "this character has no meaning here",
                });
            }
        };
        match byte {
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            b')' | b']' | b'}' if open.pop() != Some(byte) => {
                return Err(Stop {
                    at,
                    what: "a bracket closes that was not opened",
                });
            }
            _ => {}
        }
        found.push(Token { kind, at: at..at + len });
        prefixes = if matches!(&source[at..at + len], "-" | "not") {
            prefixes + 1
        } else {
            0
        };
        if found.len() > TOKENS_MAX || open.len() > BRACKETS_MAX || prefixes > PREFIXES_MAX {
            return Err(Stop {
                at,
                what: "the expression is too long or too deep",
            });
        }
        at += len;
    }
    Ok((found, None))
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|b| belongs(**b)).count()
}

fn text(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b if *b == bytes[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn number(bytes: &[u8]) -> (Kind, usize) {
    let mut len = run(bytes, |b| b.is_ascii_alphanumeric() || b == b'_');
    let radix =
        bytes.len() > 1 && bytes[0] == b'0' && bytes[1].is_ascii_alphabetic() && !matches!(bytes[1], b'e' | b'E');
    let mut fraction = !radix && bytes[..len].iter().any(|b| matches!(b, b'e' | b'E'));
    if !radix && bytes.get(len) == Some(&b'.') && bytes.get(len + 1).is_some_and(u8::is_ascii_digit) {
        fraction = true;
        len += 1 + run(&bytes[len + 1..], |b| b.is_ascii_alphanumeric() || b == b'_');
    }
    if fraction && matches!(bytes[len - 1], b'e' | b'E') && matches!(bytes.get(len), Some(b'+' | b'-')) {
        len += 1 + run(&bytes[len + 1..], |b| b.is_ascii_digit());
    }
    (if fraction { Kind::Fraction } else { Kind::Whole }, len)
}
