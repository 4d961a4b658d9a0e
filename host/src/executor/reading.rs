//! Runs brought into memory from the ledger: one for a person, pages of them for the backlog.

use super::Shared;
use super::live::{LiveStep, RunCell};
use super::settle::Abandoned;
use crate::catalog::ActiveFlow;
use crate::flow::BodyLimits;
use crate::ledger::{DueStep, LedgerError, RUNS_PER_PAGE, StoredRun};
use oncegate_domain::id::Id;
use oncegate_domain::key::EventKey;
use std::collections::HashMap;
use std::sync::Arc;

/// Flows at the revisions that the runs of a page stay on: an old one is read once for all of them.
type Flows = HashMap<(Id, u32), Arc<ActiveFlow>>;

impl Shared {
    /// The cell of a run that this process holds already, read from the ledger if it is not in memory; `None`: there is no
    /// such run.
    pub(super) async fn own_cell(&self, run: Id) -> Result<Option<Arc<RunCell>>, Abandoned> {
        if let Some(cell) = self.live.get(run) {
            return Ok(Some(cell));
        }
        match self.ledger.run_load(run).await? {
            Some(stored) => self.keep(stored, &mut Flows::new()).await.map(Some),
            None => Ok(None),
        }
    }

    /// A run of another host, as it stands now. It is kept by whoever asked and not among the live ones.
    pub(super) async fn foreign_cell(&self, run: Id) -> Result<Option<Arc<RunCell>>, Abandoned> {
        match self.ledger.run_load(run).await? {
            Some(stored) => self
                .cell_of(stored, &mut Flows::new())
                .await
                .map(|cell| Some(Arc::new(cell))),
            None => Ok(None),
        }
    }

    /// The steps of a cell as the ledger holds them now: a person changed some of them at another host.
    ///
    /// # Errors
    /// The run is another owner's by now.
    pub(super) async fn read_anew(&self, cell: &RunCell, steps: &mut Vec<LiveStep>) -> Result<(), Abandoned> {
        let stored = self.ledger.run_load(cell.facts.id).await?;
        let version = stored.as_ref().map_or(0, |run| run.version);
        let stored: Vec<LiveStep> = stored
            .into_iter()
            .flat_map(|run| run.steps)
            .map(LiveStep::from)
            .collect();
        for (now, before) in stored.iter().zip(steps.iter()) {
            if now.epoch != before.epoch {
                self.live.forget(cell);
                let (step, epoch) = (before.id, before.epoch);
                return Err(LedgerError::LeaseLost { step, epoch }.into());
            }
        }
        *steps = stored;
        cell.is_at(version);
        Ok(())
    }

    /// The same, where a step in memory is behind the ledger. Where somebody is about to write it, they find out themselves:
    /// nobody waits for them, who may be waiting for the disk.
    pub(super) async fn catch_up(&self, cell: &RunCell, due: &DueStep) -> Result<(), Abandoned> {
        let Ok(mut steps) = cell.steps.try_lock() else {
            return Ok(());
        };
        let is_behind = |live: &LiveStep| live.id == due.id && live.version < due.version;
        match steps.iter().any(is_behind) {
            true => self.read_anew(cell, &mut steps).await,
            false => Ok(()),
        }
    }

    /// The cells of some runs that this process holds already, however many, read a page at a time. A run that cannot be
    /// read stops nobody else: it is logged, is not among them, and stays as it is.
    pub(super) async fn readable_cells(&self, runs: &[Id]) -> Result<HashMap<Id, Arc<RunCell>>, Abandoned> {
        let mut cells: HashMap<Id, Arc<RunCell>> = HashMap::with_capacity(runs.len());
        let mut unread = Vec::new();
        for run in runs {
            match self.live.get(*run) {
                Some(cell) => drop(cells.insert(*run, cell)),
                None => unread.push(*run),
            }
        }
        unread.sort_unstable();
        unread.dedup();
        let mut flows = Flows::new();
        for page in unread.chunks(RUNS_PER_PAGE) {
            match self.ledger.runs_load(page).await {
                Ok(stored) => {
                    for stored in stored {
                        let run = stored.id;
                        let cell = self.keep(stored, &mut flows).await;
                        cells.extend(readable(run, cell)?.map(|cell| (run, cell)));
                    }
                }
                // One of them, and nobody knows which: each by itself.
                Err(LedgerError::Corrupt { .. }) => {
                    for run in page {
                        let cell = self.own_cell(*run).await;
                        cells.extend(readable(*run, cell)?.flatten().map(|cell| (*run, cell)));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(cells)
    }

    async fn keep(&self, stored: StoredRun, flows: &mut Flows) -> Result<Arc<RunCell>, Abandoned> {
        Ok(self.live.keep(self.cell_of(stored, flows).await?))
    }

    async fn cell_of(&self, stored: StoredRun, flows: &mut Flows) -> Result<RunCell, Abandoned> {
        let run = stored.id;
        let unreadable = |why: String| {
            Abandoned::Ledger(LedgerError::Corrupt {
                table: "runs",
                id: run.to_string(),
                why,
            })
        };
        let revision = (stored.flow_id, stored.flow_revision);
        let flow = match flows.get(&revision) {
            Some(flow) => Arc::clone(flow),
            None => {
                let flow = self.catalog.flow_at(stored.flow_id, stored.flow_revision).await;
                let flow = flow.map_err(|error| unreadable(error.to_string()))?;
                flows.insert(revision, Arc::clone(&flow));
                flow
            }
        };
        let key = EventKey::from_parts(std::slice::from_ref(&stored.key));
        let key = key.map_err(|error| unreadable(error.to_string()))?;
        let body = stored.event.body.parse(&BodyLimits::default());
        let body = body.map_err(|error| unreadable(error.to_string()))?;
        Ok(RunCell::from_stored(stored, flow, key, body))
    }
}

/// `None` for a run that cannot be read, once that is in the log.
fn readable<T>(run: Id, read: Result<T, Abandoned>) -> Result<Option<T>, Abandoned> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Abandoned::Ledger(LedgerError::Corrupt { table, id, why })) => {
            tracing::error!(%run, table, id, why, "a run cannot be read, so nothing is done with it");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
