//! In which order steps run: `after`, or file order; no rings; and what a step reads has run before it.

use super::super::path::Root;
use super::super::problem::{Problems, mean_or_list};
use super::super::text::Text;
use super::steps::StepDraft;

/// For each step the indexes of those it waits for.
pub(super) fn waits(drafts: &[StepDraft<'_>], ids: &[String], problems: &mut Problems<'_>) -> Vec<Vec<usize>> {
    let waits: Vec<Vec<usize>> = drafts
        .iter()
        .enumerate()
        .map(|(index, draft)| match &draft.after {
            None => index.checked_sub(1).into_iter().collect(),
            Some(after) => named(index, after, ids, problems),
        })
        .collect();
    if let Some(ring) = ring(&waits) {
        let at = ring.iter().map(|&index| drafts[index].at).min().unwrap_or(0);
        problems.error(
            at,
            ring_words(&ring, ids, drafts),
            "change `after` in one of them; a step without `after` follows the one above it",
        );
    }
    waits
}

fn named(index: usize, after: &[Text<'_>], ids: &[String], problems: &mut Problems<'_>) -> Vec<usize> {
    let mut waits = Vec::new();
    for text in after {
        match ids.iter().position(|id| id == text.value && !id.is_empty()) {
            Some(found) if found == index => {
                problems.error(
                    text.at,
                    format!("step `{}` waits for itself", text.value),
                    "take its own id out of `after`",
                );
            }
            Some(found) if waits.contains(&found) => {
                problems.error(text.at, format!("`after` names `{}` twice", text.value), "name it once");
            }
            Some(found) => waits.push(found),
            None => {
                let known = ids
                    .iter()
                    .enumerate()
                    .filter(|(i, id)| *i != index && !id.is_empty())
                    .map(|(_, id)| id.as_str());
                problems.error(
                    text.at,
                    format!("there is no step `{}`", text.value),
                    mean_or_list(text.value, "steps", known),
                );
            }
        }
    }
    waits
}

/// A ring of steps that wait for each other, if there is one.
fn ring(waits: &[Vec<usize>]) -> Option<Vec<usize>> {
    // Take away, again and again, the steps whose predecessors are gone; what is left holds a ring.
    let mut left: Vec<bool> = vec![true; waits.len()];
    loop {
        let free = (0..waits.len()).find(|&i| left[i] && waits[i].iter().all(|&before| !left[before]));
        match free {
            Some(index) => left[index] = false,
            None => break,
        }
    }
    let mut at = left.iter().position(|&left| left)?;
    let mut walked = Vec::new();
    loop {
        if let Some(start) = walked.iter().position(|&seen| seen == at) {
            return Some(walked.split_off(start));
        }
        walked.push(at);
        at = waits[at].iter().copied().find(|&before| left[before])?;
    }
}

fn ring_words(ring: &[usize], ids: &[String], drafts: &[StepDraft<'_>]) -> String {
    let next = ring.iter().skip(1).chain(ring.first());
    let one = |(&step, &before): (&usize, &usize)| {
        let why = if drafts[step].after.is_none() {
            " (the one above it)"
        } else {
            ""
        };
        format!("`{}` waits for `{}`{why}", ids[step], ids[before])
    };
    format!(
        "these steps wait for each other: {}",
        ring.iter().zip(next).map(one).collect::<Vec<_>>().join(", ")
    )
}

/// Every step that has run when `step` starts.
pub(super) fn before(step: usize, waits: &[Vec<usize>]) -> Vec<bool> {
    let mut seen = vec![false; waits.len()];
    let mut open = waits[step].clone();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut seen[index], true) {
            open.extend(&waits[index]);
        }
    }
    seen
}

/// Checks what step `index` reads of others, and gives their indexes.
pub(super) fn reads<'u>(
    index: usize,
    uses: impl Iterator<Item = &'u super::super::expression::Use>,
    waits: &[Vec<usize>],
    drafts: &[StepDraft<'_>],
    ids: &[String],
    problems: &mut Problems<'_>,
) -> Vec<usize> {
    let before = before(index, waits);
    let mut reads = Vec::new();
    for path in uses {
        let Root::Output(read) = path.path.root else { continue };
        if read == index {
            problems.error(
                path.at,
                format!("step `{}` reads its own output", ids[read]),
                "name an earlier step",
            );
        } else if !before[read] {
            let mend = format!("write `after = [\"{}\"]` here, or move the step behind it", ids[read]);
            problems.error(
                path.at,
                format!("step `{}` has not run when `{}` starts", ids[read], ids[index]),
                mend,
            );
        } else if drafts[read].when.is_some() && drafts[index].when.is_none() && !path.soft {
            let mend = format!("give this step a `when` too, or write `{} | default(…)`", path.text);
            problems.warning(
                path.at,
                format!("step `{}` may be skipped, and then has no output", ids[read]),
                mend,
            );
        }
        reads.push(read);
    }
    reads.sort_unstable();
    reads.dedup();
    reads
}
