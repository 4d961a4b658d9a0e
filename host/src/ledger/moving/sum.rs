//! A checksum over the rows of a table that does not depend on their order, for the two databases sort texts differently: the sum
//! of the rows' SHA-256, as a number of 256 bits.

use super::super::rows::Cell;
use sha2::{Digest, Sha256};

/// What was read so far.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub rows: u64,
    /// In four parts, the lowest first.
    pub total: [u64; 4],
    pub texts_changed: u64,
    nul_is_lost: bool,
}

impl Sum {
    /// `nul_is_lost`: the target cannot hold the character NUL, so that texts are taken as it holds them.
    pub(super) fn new(nul_is_lost: bool) -> Sum {
        Sum {
            rows: 0,
            total: [0; 4],
            texts_changed: 0,
            nul_is_lost,
        }
    }

    /// Adds a row.
    pub(super) fn add<'a>(&mut self, cells: impl Iterator<Item = &'a Cell>) {
        let mut digest = Sha256::new();
        let mut part = |tag: u8, bytes: &[u8]| {
            digest.update([tag]);
            digest.update((bytes.len() as u64).to_be_bytes());
            digest.update(bytes);
        };
        for cell in cells {
            match cell {
                Cell::Null => part(0, &[]),
                Cell::Int(value) => part(1, &value.to_be_bytes()),
                Cell::Text(text) if self.nul_is_lost && text.contains('\0') => {
                    self.texts_changed += 1;
                    part(2, text.replace('\0', "\u{fffd}").as_bytes());
                }
                Cell::Text(text) => part(2, text.as_bytes()),
                Cell::Bytes(bytes) => part(3, bytes),
            }
        }
        self.rows += 1;
        let digest: [u8; 32] = digest.finalize().into();
        let mut carry = 0;
        for (part, bytes) in self.total.iter_mut().zip(digest.chunks_exact(8)) {
            let added = bytes
                .iter()
                .fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
            let sum = u128::from(*part) + u128::from(added) + carry;
            // The lower half; the rest is carried on, and out of the last part it is dropped.
            *part = sum as u64;
            carry = sum >> 64;
        }
    }

    /// For people.
    pub(super) fn hex(&self) -> String {
        self.total.iter().rev().map(|part| format!("{part:016x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(nul_is_lost: bool, rows: &[&[Cell]]) -> Sum {
        let mut sum = Sum::new(nul_is_lost);
        rows.iter().for_each(|row| sum.add(row.iter()));
        sum
    }

    #[test]
    fn the_order_of_rows_is_nothing_and_every_value_is_something() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let (one, other) = ([text("a"), Cell::Int(1)], [text("b"), Cell::Null]);
        let both = sum(false, &[&one, &other]);
        assert_eq!(both.total, sum(false, &[&other, &one]).total);
        assert_eq!((both.rows, both.hex().len()), (2, 64));
        let changed: [&[Cell]; 5] = [
            &[text("a"), Cell::Int(2)],
            &[text("a"), Cell::Null],
            &[text("a1"), Cell::Int(1)],
            &[Cell::Bytes(b"a".to_vec()), Cell::Int(1)],
            &[Cell::Int(1), text("a")],
        ];
        for row in changed {
            assert_ne!(both.total, sum(false, &[row, &other]).total, "{row:?}");
        }
        assert_ne!(both.total, sum(false, &[&one, &other, &other]).total);
        // Where one text ends and the next begins is part of it.
        let cut = |a, b| sum(false, &[&[text(a), text(b)]]).total;
        assert_ne!(cut("ab", "c"), cut("a", "bc"));
    }

    #[test]
    fn a_text_that_the_target_cannot_hold_is_taken_as_it_holds_it_and_counted() {
        let (with_nul, replaced) = ([Cell::Text("a\0b".into())], [Cell::Text("a\u{fffd}b".into())]);
        let moved = sum(true, &[&with_nul]);
        assert_eq!((moved.total, moved.texts_changed), (sum(true, &[&replaced]).total, 1));
        assert_ne!(sum(false, &[&with_nul]).total, sum(false, &[&replaced]).total);
    }
}
