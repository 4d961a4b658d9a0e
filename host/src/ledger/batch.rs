//! Statements over many rows. Each has a few fixed sizes, so that every text is prepared once and stays so: a call with
//! 13 rows runs it with 8, 4 and 1. Both backends take them.

use super::rows::Row;
use super::sqlite::{Conn, DbError, Sql, Value, placeholder};
use std::sync::{Arc, OnceLock};

/// Rows of one statement, largest first.
const SIZES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];

/// `head (…), (…) tail`, with one parenthesis per row.
pub(super) struct Template {
    head: &'static str,
    tail: &'static str,
    built: [OnceLock<Arc<str>>; SIZES.len()],
}

impl Template {
    pub(super) const fn new(head: &'static str, tail: &'static str) -> Self {
        Template {
            head,
            tail,
            built: [const { OnceLock::new() }; SIZES.len()],
        }
    }

    /// Runs the statement over all `rows`, which have the same kinds of values, and returns what it gives back.
    pub(super) async fn run(&self, conn: &mut Conn<'_>, rows: Vec<Vec<Value>>) -> Result<Vec<Row>, DbError> {
        let mut returned = Vec::new();
        let mut rows = rows.into_iter();
        for (place, size) in SIZES.into_iter().enumerate() {
            while rows.len() >= size {
                let width = rows.as_slice()[0].len();
                let mut values = Vec::with_capacity(size * width);
                rows.by_ref().take(size).for_each(|row| values.extend(row));
                returned.append(&mut conn.query(self.sql(place, width), values).await?);
            }
        }
        Ok(returned)
    }

    fn sql(&self, place: usize, width: usize) -> Sql {
        let built = self.built[place].get_or_init(|| self.build(SIZES[place], width).into());
        Sql::Built(built.clone())
    }

    /// Its text for `size` rows of `width` values.
    pub(super) fn build(&self, size: usize, width: usize) -> String {
        let mut text = String::from(self.head);
        for row in 0..size {
            text.push_str(if row == 0 { "(" } else { ", (" });
            for column in 0..width {
                text.push_str(if column == 0 { "" } else { ", " });
                text.push_str(placeholder(row * width + column + 1));
            }
            text.push(')');
        }
        text.push_str(self.tail);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_a_place_for_each_value() {
        let template = Template::new("WITH v(a, b) AS (VALUES ", ") SELECT a FROM v");
        assert_eq!(
            template.build(2, 2),
            "WITH v(a, b) AS (VALUES (?, ?), (?, ?)) SELECT a FROM v"
        );
    }
}
