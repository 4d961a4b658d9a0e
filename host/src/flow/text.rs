//! A text of the definition with its place, so that a fault inside it is shown where it stands in the file.

use std::ops::Range;

#[derive(Clone, Debug)]
pub(super) struct Text<'t> {
    pub(super) value: &'t str,
    /// Where its value (quotes included) begins in the file.
    pub(super) at: usize,
    /// Where its first character stands, if it is written in the file exactly as it is meant (no escapes).
    inner: Option<usize>,
}

impl<'t> Text<'t> {
    pub(super) fn new(value: &'t str, span: Range<usize>, source: &str) -> Text<'t> {
        let raw = source.get(span.clone()).unwrap_or_default();
        let inner = raw
            .find(value)
            .filter(|_| !value.is_empty())
            .map(|offset| span.start + offset);
        Text {
            value,
            at: span.start,
            inner,
        }
    }

    /// The place in the file of a byte of the value.
    pub(super) fn place(&self, offset: usize) -> usize {
        self.inner.map_or(self.at, |inner| inner + offset)
    }
}
