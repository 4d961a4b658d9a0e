//! `oncegate drill`: the acceptance test of a connector, or of a connection. It plays every kind of trouble against a
//! scripted destination that answers as the example says, and counts there: exactly one record per key, and the step
//! completed, or in front of a person for the right reason.
//!
//! It shows whether what a manifest or a connection says about a destination is believed rightly by the host, and whether
//! the connector reads the destination's answers rightly. Whether the real destination is as the connection says, only the
//! destination can show.

mod cases;
mod connection;
mod expected;
mod play;
mod report;
mod stage;

pub use report::{Line, Report};
pub use stage::Subject;

use play::play;

/// Plays every case of every action.
///
/// # Errors
/// The drill itself failed, or there is nothing that could be played; not that a case failed.
pub fn run(subject: &Subject) -> anyhow::Result<Report> {
    let manifest = &subject.description.manifest;
    let actions = subject.approved()?;
    let mut cells = Vec::new();
    let mut lines = Vec::new();
    for approved in &actions {
        match subject.example(&approved.action) {
            Some(example) => {
                let more = subject.cells(approved, example, cells.len() + 1)?;
                cells.extend(more.into_iter().map(|cell| (cell, example)));
            }
            None => lines.push(without_example(&approved.action)),
        }
    }
    let observed = if cells.is_empty() {
        Vec::new()
    } else {
        play(subject, &cells)?
    };
    for ((cell, _), observed) in cells.iter().zip(observed) {
        let endings = expected::of(cell.case, &cell.approved.terms);
        let mut line = observed.judged(&cell.approved.action, cell.case.name(), &endings);
        if let (Some(why), Some(note)) = (&mut line.why, &cell.note) {
            *why = format!("{note}\n{why}");
        }
        match lines.last_mut() {
            // A case that is played in several ways passes where all of them do.
            Some(last) if last.case == line.case && last.action == line.action => {
                if last.pass {
                    *last = line;
                }
            }
            Some(_) | None => lines.push(line),
        }
    }
    Ok(Report {
        title: format!("{} {}: {}", manifest.name, manifest.version, manifest.title),
        lines,
    })
}

/// An action that cannot be played has not passed.
fn without_example(action: &str) -> Line {
    Line {
        action: action.to_owned(),
        case: "example",
        pass: false,
        effects: 0,
        step: String::new(),
        why: Some(format!(
            "there is no example of {action:?} to play; add [actions.example] to its manifest, or [examples.{action}] to the \
             connection"
        )),
    }
}
