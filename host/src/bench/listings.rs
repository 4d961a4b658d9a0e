//! How long people wait for what they look at: listings, single runs and counts, as the API gives them, on the ledger that the
//! rows have filled.

use super::figures::ms;
use super::fill::{Backlog, Others, fill};
use super::percentile::nearest_rank;
use super::stage::Stage;
use crate::clock::{Clock, SystemClock, monotonic_ns};
use crate::host_process::HostProcess;
use crate::ledger::new_id;
use anyhow::Context;
use serde::Serialize;

/// How often each is asked for; the first times are not counted.
const ASKED: usize = 100;
const WARM_UP: usize = 5;
/// Found nowhere, so that a search has to go as far as it ever does.
const NOWHERE: &str = "nowhere-to-be-found";
/// So many wait for a person, more than a page.
const IN_REVIEW: u64 = 1_000;
/// Runs are shown that are so old, from the first to the last, each twice as old as the one before.
const AGES_MS: std::ops::RangeInclusive<u32> = 7..=22;

/// How long one listing takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The command that shows it.
    pub listing: &'static str,
    /// Runs in the ledger.
    pub runs: u64,
    /// From the question to the whole answer.
    pub p50_ms: f64,
    /// The same.
    pub p95_ms: f64,
}

impl Stage {
    /// Asks for each listing again and again.
    ///
    /// # Errors
    /// The host does not come up, or does not answer.
    pub fn listings(&mut self) -> anyhow::Result<Vec<Row>> {
        let asked = Backlog {
            first: self.take_numbers(IN_REVIEW),
            events: IN_REVIEW,
            under_way: 0,
            others: Others::Asked,
        };
        fill(&self.data(), self.database(), asked)?;
        let host = self.host()?;
        let counts = host.ask("counts")?;
        let runs = counts["runs"].as_object().into_iter().flatten();
        let runs = runs.filter_map(|(_, count)| count.as_u64()).sum();
        let newest = host.ask("runs?limit=1")?;
        let flow = newest["items"][0]["flow"].as_str().unwrap_or_default();
        let shown = of_all_ages(&host)?;
        let asked = [
            ("run list", vec!["runs".to_owned()]),
            ("run list --text", vec![format!("runs?text={NOWHERE}")]),
            ("run list --state completed", vec!["runs?state=completed".to_owned()]),
            ("run list --state failed", vec!["runs?state=failed".to_owned()]),
            ("run list --flow", vec![format!("runs?flow={flow}&text={NOWHERE}")]),
            ("run show", shown),
            ("review list", vec!["review".to_owned()]),
            ("review list --all", vec!["review?all=true".to_owned()]),
            ("counts", vec!["counts".to_owned()]),
        ];
        let rows = asked.into_iter().map(|(listing, paths)| {
            let mut taken_ns = ask(&host, &paths)?;
            taken_ns.sort_unstable();
            Ok(Row {
                listing,
                runs,
                p50_ms: ms(nearest_rank(&taken_ns, 500)),
                p95_ms: ms(nearest_rank(&taken_ns, 950)),
            })
        });
        let rows = rows.collect::<anyhow::Result<_>>()?;
        host.stop()?;
        Ok(rows)
    }
}

/// Where runs are shown, from the newest ones to the oldest: most of them lie where nobody has looked for long.
fn of_all_ages(host: &HostProcess) -> anyhow::Result<Vec<String>> {
    let now_ms = SystemClock.now_ms();
    let mut shown = Vec::new();
    for age in AGES_MS {
        let before = new_id(now_ms - (1 << age));
        let older = host.ask(&format!("runs?limit=20&after={before}"))?;
        let older = older["items"].as_array().context("the host does not list its runs")?;
        shown.extend(
            older
                .iter()
                .filter_map(|run| Some(format!("runs/{}", run["id"].as_str()?))),
        );
    }
    Ok(shown)
}

/// One path after the other, round and round; how long each answer took, in nanoseconds.
fn ask(host: &HostProcess, paths: &[String]) -> anyhow::Result<Vec<u64>> {
    let mut taken_ns = Vec::with_capacity(ASKED);
    for (nth, path) in paths.iter().cycle().take(WARM_UP + ASKED).enumerate() {
        let from_ns = monotonic_ns();
        host.ask(path)?;
        if nth >= WARM_UP {
            taken_ns.push(monotonic_ns() - from_ns);
        }
    }
    Ok(taken_ns)
}
