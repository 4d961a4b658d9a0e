//! How names, titles and times are written.

use oncegate_domain::limits::{NAME_BYTES_MAX, NAME_BYTES_MIN};

/// `[a-z][a-z0-9-]{1,39}`: names of connectors, actions, endpoints, connections, secrets.
pub(crate) fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    (NAME_BYTES_MIN..=NAME_BYTES_MAX).contains(&bytes.len())
        && bytes[0].is_ascii_lowercase()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

/// No control, bidirectional or invisible characters: what a person reads before approving must be what is there.
pub(crate) fn is_plain_text(text: &str) -> bool {
    !text.chars().any(|c| {
        c.is_control()
            || matches!(
                c,
                '\u{ad}' | '\u{61c}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}'
            )
            || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
            || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
    })
}

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// `"250ms"`, `"30s"`, `"10m"`, `"24h"`, `"7d"` in milliseconds.
pub(crate) fn duration(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == &text[digits..])?;
    number.checked_mul(*unit)
}

/// Milliseconds as people write them.
pub(crate) fn said_duration(ms: u64) -> String {
    let (name, unit) = UNITS
        .iter()
        .rev()
        .find(|(_, unit)| ms >= *unit && ms.is_multiple_of(*unit))
        .unwrap_or(&UNITS[0]);
    format!("{}{name}", ms / unit)
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn said_list<T: std::fmt::Display>(items: &[T]) -> String {
    let words: Vec<String> = items.iter().map(ToString::to_string).collect();
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

/// The known word that `word` was probably meant to be.
pub(crate) fn nearest<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    known
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(word.len()).div_ceil(3))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, for short words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != *y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}
