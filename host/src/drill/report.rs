//! What came of the drill, case by case.

use super::expected::{Ending, Stand};
use serde::Serialize;

/// One case of one action.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The action.
    pub action: String,
    /// The case.
    pub case: &'static str,
    /// It ended as it must.
    pub pass: bool,
    /// Effects at the destination.
    pub effects: u64,
    /// The step's state.
    pub step: String,
    /// What was expected and seen instead; for people.
    #[serde(skip)]
    pub why: Option<String>,
}

/// What was seen of one case.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Effects at the destination.
    pub effects: u64,
    /// Requests that could have changed something.
    pub writes: u64,
    /// The step's state; empty: there is no run.
    pub state: String,
    /// In review: whether the effect may exist.
    pub may_exist: Option<bool>,
    /// Why the step is where it is.
    pub why: Option<String>,
    /// The host blames the connector: its report did not fit what was seen, or it asked for what is not allowed.
    pub blamed: bool,
    /// What went wrong last.
    pub last_error: Option<String>,
}

impl Observed {
    fn stand(&self) -> Option<Stand> {
        match (self.state.as_str(), self.may_exist) {
            ("completed", _) => Some(Stand::Completed),
            ("needs_review", Some(may_exist)) => Some(Stand::Review { may_exist }),
            _ => None,
        }
    }

    /// The verdict, given how the case may end.
    pub fn judged(&self, action: &str, case: &'static str, endings: &[Ending]) -> Line {
        let stand = self.stand();
        let as_expected = endings.iter().any(|ending| ending.is(self.effects, self.writes, stand));
        let pass = as_expected && !self.blamed;
        Line {
            action: action.to_owned(),
            case,
            pass,
            effects: self.effects,
            step: self.state.clone(),
            why: (!pass).then(|| self.said_against(endings)),
        }
    }

    fn said_against(&self, endings: &[Ending]) -> String {
        let expected: Vec<String> = endings.iter().map(ToString::to_string).collect();
        let mut said = format!("expected: {}\n", expected.join(", or "));
        said += &format!(
            "seen:     {} by {} requests, {}",
            match self.effects {
                1 => "1 effect".to_owned(),
                count => format!("{count} effects"),
            },
            self.writes,
            self.state
        );
        for more in [&self.why, &self.last_error].into_iter().flatten() {
            said += &format!("\n          {more}");
        }
        said
    }
}

/// All cases.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was drilled.
    pub title: String,
    /// In the order of the manifest.
    pub lines: Vec<Line>,
}

impl Report {
    /// Whether every case passed; a drill without any case proves nothing.
    pub fn is_good(&self) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(|line| line.pass)
    }
}
