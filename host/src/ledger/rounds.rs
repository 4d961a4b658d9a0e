//! In which order the commands of one transaction are written: those of a round have nothing in common, so a statement over
//! all of them touches no row twice, and each sees what an earlier round did to the same thing. SQLite, which writes row by
//! row, needs it least; a database behind a connection writes a round with one statement per kind.

use super::command::Command;
use std::collections::HashMap;

/// What is written with one series of statements.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// Commands with nothing in common, by their places in the group.
    Hot(Vec<usize>),
    /// One command that is ordered against everything.
    Rare(usize),
}

/// Orders a group: each command in the earliest round behind all that share a scope with it.
pub(super) fn rounds(group: &[Command]) -> Vec<Round> {
    plan(group.iter().map(Command::scopes))
}

fn plan(scopes: impl Iterator<Item = Option<[u64; 2]>>) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    let mut next_free: HashMap<u64, usize> = HashMap::new();
    let mut barrier = 0;
    for (place, scopes) in scopes.enumerate() {
        let Some(scopes) = scopes else {
            rounds.push(Round::Rare(place));
            barrier = rounds.len();
            continue;
        };
        let after = scopes
            .iter()
            .filter_map(|scope| next_free.get(scope))
            .copied()
            .max()
            .unwrap_or(0);
        let at = after.max(barrier);
        match rounds.get_mut(at) {
            Some(Round::Hot(places)) => places.push(place),
            Some(Round::Rare(_)) | None => rounds.push(Round::Hot(vec![place])),
        }
        for scope in scopes {
            next_free.insert(scope, at + 1);
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hot(places: &[usize]) -> Round {
        Round::Hot(places.to_vec())
    }

    #[test]
    fn commands_with_nothing_in_common_share_a_round() {
        let scopes = [Some([1, 1]), Some([2, 3]), Some([4, 4])];
        assert_eq!(plan(scopes.into_iter()), [hot(&[0, 1, 2])]);
    }

    #[test]
    fn a_command_comes_after_every_earlier_one_that_it_shares_something_with() {
        let scopes = [Some([1, 1]), Some([1, 2]), Some([3, 2]), Some([1, 1]), Some([9, 9])];
        assert_eq!(plan(scopes.into_iter()), [hot(&[0, 4]), hot(&[1]), hot(&[2, 3])]);
    }

    #[test]
    fn a_rare_command_stays_at_its_place() {
        let scopes = [Some([1, 1]), None, Some([1, 1]), Some([2, 2]), None];
        assert_eq!(
            plan(scopes.into_iter()),
            [hot(&[0]), Round::Rare(1), hot(&[2, 3]), Round::Rare(4)]
        );
    }
}
