//! Text from outside, on a terminal: nothing in it may move the cursor, change colours or turn the reading direction.

/// Writes to standard output. Whoever reads may leave early (`| head`): that is no error; what cannot be written otherwise
/// ends the command as failed.
pub fn say(text: &str) {
    use std::io::{ErrorKind, Write};
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            eprintln!("oncegate: the output cannot be written: {error}");
            std::process::exit(1)
        }
    }
}

/// The text with everything that a terminal would act on written out.
pub fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push('⏎'),
            '\t' => shown.push(' '),
            c if c.is_control() || is_format(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Bidirectional controls, zero-width characters and the like (Unicode TR 36): invisible, and able to deceive.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// At most so many characters, escaped.
pub fn short(text: &str, chars_max: usize) -> String {
    let shown = escape(text);
    if shown.chars().count() <= chars_max {
        return shown;
    }
    let kept: String = shown.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Rows under headings, aligned. Cells are escaped here, so nobody can forget it.
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| escape(cell)).collect())
        .collect();
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count());
        cells
            .chain([headings[column].chars().count()])
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut shown = line(headings.to_vec());
    for row in &rows {
        shown += &line(row.iter().map(String::as_str).collect());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_reaches_the_terminal_as_a_command() {
        for (outside, shown) in [
            ("plain text, ümlaut, 日本", "plain text, ümlaut, 日本"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\rb", "a\\u{d}b"),
            ("line\nbreak", "line⏎break"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("\u{9b}31m", "\\u{9b}31m"),
        ] {
            assert_eq!(escape(outside), shown);
        }
    }

    #[test]
    fn columns_are_aligned_by_characters() {
        let rows = [
            vec!["ä".to_owned(), "1".to_owned()],
            vec!["long".to_owned(), "\u{7}".to_owned()],
        ];
        assert_eq!(table(&["A", "B"], &rows), "A     B\nä     1\nlong  \\u{7}\n");
    }

    #[test]
    fn long_text_is_cut_with_a_mark() {
        assert_eq!(short("abcdef", 4), "abc…");
        assert_eq!(short("abcd", 4), "abcd");
    }
}
