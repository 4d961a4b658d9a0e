//! Percentiles of what was measured: the nearest rank, so that each is a value that occurred.

/// The middle and the slow end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// Half were at most this.
    pub p50: u64,
    /// All but one in a hundred were at most this.
    pub p99: u64,
}

impl Percentiles {
    /// Of nothing, both are zero.
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self {
            p50: nearest_rank(&values, 500),
            p99: nearest_rank(&values, 990),
        }
    }
}

/// The value that so many in a thousand do not exceed; of nothing, zero.
pub fn nearest_rank(sorted: &[u64], per_mille: usize) -> u64 {
    let rank = (sorted.len() * per_mille).div_ceil(1_000);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        for (values, p50, p99) in [
            (vec![], 0, 0),
            (vec![7], 7, 7),
            (vec![2, 1], 1, 2),
            (vec![3, 1, 2], 2, 3),
            ((1..=100).rev().collect(), 50, 99),
            ((1..=1_000).collect(), 500, 990),
        ] {
            assert_eq!(Percentiles::of(values.clone()), Percentiles { p50, p99 }, "{values:?}");
        }
    }
}
