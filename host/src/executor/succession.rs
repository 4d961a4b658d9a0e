//! What becomes of the steps behind one that has just changed (FLOWS.md, rules): pure, over states and the plan alone.

use oncegate_domain::step::{Event, Skip, State};

/// What a step's predecessors say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ready,
    Skip,
    NotYet,
}

/// The changes that follow from `states`, in file order; `after[i]` are the steps that step `i` waits for. One pass is
/// enough: a step is only ever after steps above it, and what is decided here counts for those below.
pub fn follow(states: &[State], begun: &[bool], after: &[Vec<usize>], at_ms: i64) -> Vec<(usize, Event)> {
    let mut states = states.to_vec();
    let mut changes = Vec::new();
    for index in 0..after.len() {
        if begun[index] || !matches!(states[index], State::Pending) {
            continue;
        }
        match verdict(after[index].iter().map(|&before| states[before])) {
            Verdict::Ready => changes.push((index, Event::Ready { at_ms })),
            Verdict::Skip => {
                states[index] = State::Skipped {
                    reason: Skip::Predecessor,
                };
                changes.push((index, Event::Skip(Skip::Predecessor)));
            }
            Verdict::NotYet => {}
        }
    }
    changes
}

/// A failed or cancelled predecessor decides at once: nothing that the others do could let the step run.
fn verdict(before: impl Iterator<Item = State>) -> Verdict {
    let mut verdict = Verdict::Ready;
    for state in before {
        match state {
            State::Completed
            | State::Skipped {
                reason: Skip::WhenFalse,
            } => {}
            State::Failed
            | State::Cancelled
            | State::Skipped {
                reason: Skip::Predecessor,
            } => return Verdict::Skip,
            State::Pending
            | State::Processing
            | State::Retrying { .. }
            | State::Waiting { .. }
            | State::NeedsReview { .. }
            | State::Cancelling { .. } => verdict = Verdict::NotYet,
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncegate_domain::step::Review;

    const WHEN_FALSE: State = State::Skipped {
        reason: Skip::WhenFalse,
    };

    /// Steps 0 and 1 stand as given, 2 waits for both, 3 waits for 2.
    fn check(first: State, second: State) -> Vec<(usize, Event)> {
        let states = [first, second, State::Pending, State::Pending];
        follow(
            &states,
            &[true, true, false, false],
            &[vec![], vec![], vec![0, 1], vec![2]],
            7,
        )
    }

    #[test]
    fn a_step_runs_when_all_it_waits_for_are_completed_or_were_not_wanted() {
        assert_eq!(
            check(State::Completed, State::Completed),
            [(2, Event::Ready { at_ms: 7 })]
        );
        assert_eq!(check(State::Completed, WHEN_FALSE), [(2, Event::Ready { at_ms: 7 })]);
    }

    #[test]
    fn a_step_behind_a_review_waits() {
        assert_eq!(
            check(
                State::Completed,
                State::NeedsReview {
                    reason: Review::Template
                }
            ),
            []
        );
        assert_eq!(check(State::Processing, State::Completed), []);
    }

    #[test]
    fn everything_behind_a_failed_or_cancelled_step_is_skipped_with_that_reason() {
        let all = [(2, Event::Skip(Skip::Predecessor)), (3, Event::Skip(Skip::Predecessor))];
        assert_eq!(check(State::Failed, State::Completed), all);
        assert_eq!(check(State::Processing, State::Cancelled), all);
    }
}
