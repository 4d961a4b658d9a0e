//! Runs that are being worked on, in memory: what the ledger holds, decoded once. The ledger stays the truth; a cell
//! that no longer agrees with it is dropped and read again.

use crate::catalog::ActiveFlow;
use crate::flow::{EventView, RunView, Scope};
use crate::ledger::{ContextItem, NewStep, StoredRun, StoredStep};
use oncegate_domain::id::Id;
use oncegate_domain::key::{EventKey, Role};
use oncegate_domain::step::Step;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What never changes about a run.
#[derive(Debug)]
pub struct RunFacts {
    /// The run.
    pub id: Id,
    /// Its flow, at the revision it stays on.
    pub flow: Arc<ActiveFlow>,
    /// The business key.
    pub key: EventKey,
    /// Its event.
    pub event_id: Id,
    /// When the event was received; the only time that a guest ever sees.
    pub received_ms: i64,
    /// Where the event came from.
    pub source: String,
    /// The parsed body.
    pub body: Value,
    /// Headers that flows may read.
    pub headers: BTreeMap<String, String>,
    /// The query.
    pub query: BTreeMap<String, String>,
    /// Business words.
    pub context: Vec<ContextItem>,
    /// When it was accepted.
    pub created_ms: i64,
}

/// One step, with what the next decision needs.
#[derive(Clone, Debug)]
pub struct LiveStep {
    /// The step.
    pub id: Id,
    /// Its place in the run.
    pub ordinal: u32,
    /// Its name in the flow.
    pub name: String,
    /// What the call is for.
    pub role: Role,
    /// Tells repeated steps of one name apart.
    pub item: String,
    /// 0: none.
    pub correction: u32,
    /// The connection it uses.
    pub connection: String,
    /// The action it calls.
    pub action: String,
    /// Its standing.
    pub standing: Step,
    /// The version of its row.
    pub version: i64,
    /// The lease epoch under which it is written.
    pub epoch: i64,
    /// Number of its latest attempt.
    pub last_number: u32,
    /// The input, as JSON text, once it was rendered for an attempt.
    pub input: Option<String>,
    /// What later steps read.
    pub output: Option<Arc<Value>>,
    /// What went wrong last, for people.
    pub last_error: Option<String>,
}

impl LiveStep {
    /// A step that was just written.
    pub fn from_new(id: Id, epoch: i64, new: NewStep) -> Self {
        Self {
            id,
            ordinal: new.ordinal,
            name: new.step_id,
            role: new.role,
            item: new.item,
            correction: 0,
            connection: new.connection,
            action: new.action,
            standing: new.state,
            version: 0,
            epoch,
            last_number: 0,
            input: new.input,
            output: None,
            last_error: None,
        }
    }
}

impl From<StoredStep> for LiveStep {
    fn from(step: StoredStep) -> Self {
        Self {
            id: step.id,
            ordinal: step.ordinal,
            name: step.step_id,
            role: step.role,
            item: step.item,
            correction: step.correction,
            connection: step.connection,
            action: step.action,
            standing: step.state,
            version: step.version,
            epoch: step.epoch,
            last_number: step.last_number,
            input: step.input,
            output: step.output.map(Arc::new),
            last_error: step.last_error,
        }
    }
}

/// A run in memory. Its steps change only under the lock, and only together with the ledger.
#[derive(Debug)]
pub struct RunCell {
    /// What never changes.
    pub facts: RunFacts,
    /// The version of the run's row; changes with the steps, under their lock.
    version: AtomicI64,
    /// The steps, by ordinal. Shared, so that a commit on its way can outlive the guest that asked for it.
    pub steps: Arc<tokio::sync::Mutex<Vec<LiveStep>>>,
}

impl RunCell {
    /// A run that was just written.
    pub fn new(facts: RunFacts, steps: Vec<LiveStep>) -> Self {
        Self {
            facts,
            version: AtomicI64::new(0),
            steps: Arc::new(tokio::sync::Mutex::new(steps)),
        }
    }

    /// The version of the run's row, for whoever holds the lock of the steps.
    pub fn version(&self) -> i64 {
        self.version.load(Ordering::Relaxed)
    }

    /// The row has this version now. For whoever holds the lock of the steps.
    pub fn is_at(&self, version: i64) {
        self.version.store(version, Ordering::Relaxed);
    }

    /// A run as the ledger holds it. `body` is the event's, parsed.
    pub fn from_stored(run: StoredRun, flow: Arc<ActiveFlow>, key: EventKey, body: Value) -> Self {
        let mut facts = RunFacts {
            id: run.id,
            flow,
            key,
            event_id: run.event.id,
            received_ms: run.event.received_ms,
            source: run.event.source,
            body,
            headers: run.event.headers,
            query: run.event.query,
            context: Vec::new(),
            created_ms: run.created_ms,
        };
        // The flow's revision is the run's own, so this says what it said when the event was accepted.
        facts.context = facts
            .flow
            .flow
            .context(&facts.event(&facts.event_id.to_string()))
            .unwrap_or_default();
        let cell = Self::new(facts, run.steps.into_iter().map(LiveStep::from).collect());
        cell.is_at(run.version);
        cell
    }
}

impl RunFacts {
    /// The event as templates may read it.
    pub fn event<'a>(&'a self, id: &'a str) -> EventView<'a> {
        EventView {
            id,
            received_ms: self.received_ms,
            source: &self.source,
            body: &self.body,
            headers: &self.headers,
            query: &self.query,
        }
    }

    /// Calls `f` with what templates may read. `outputs` are those of the flow's steps, by their index.
    pub fn with_scope<T>(&self, outputs: &[Option<&Value>], f: impl FnOnce(&Scope<'_>) -> T) -> T {
        let (event_id, run_id) = (self.event_id.to_string(), self.id.to_string());
        let event = self.event(&event_id);
        f(&Scope {
            event: &event,
            outputs,
            run: RunView {
                id: &run_id,
                key: self.key.as_str(),
                started_ms: self.created_ms,
            },
            review: None,
        })
    }

    /// The business words for the log; personal values are left out of it.
    pub fn words(&self) -> String {
        let words = self
            .context
            .iter()
            .filter(|item| !item.personal)
            .map(|item| format!("{}={}", item.name, item.value));
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The outputs of the flow's own steps, by their index in the flow.
pub fn outputs(steps: &[LiveStep], own: usize) -> Vec<Option<&Value>> {
    steps.iter().take(own).map(|step| step.output.as_deref()).collect()
}

/// The runs in memory. A cell lives as long as somebody works on it.
#[derive(Default)]
pub struct LiveRuns {
    cells: Mutex<Cells>,
}

#[derive(Default)]
struct Cells {
    by_run: HashMap<Id, Weak<RunCell>>,
    /// With how many entries those that are nobody's any more are taken out. It follows what was left the last time, so that
    /// each entry is looked at a bounded number of times, however many there are.
    sweep_at: usize,
}

impl Cells {
    fn keep(&mut self, cell: &Arc<RunCell>) {
        self.by_run.insert(cell.facts.id, Arc::downgrade(cell));
        if self.by_run.len() > self.sweep_at {
            self.by_run.retain(|_, cell| cell.strong_count() > 0);
            self.sweep_at = 2 * self.by_run.len() + 1_000;
        }
    }
}

impl LiveRuns {
    /// The cell of a run, if it is in memory.
    pub fn get(&self, run: Id) -> Option<Arc<RunCell>> {
        self.cells().by_run.get(&run)?.upgrade()
    }

    /// Keeps `cell`, unless somebody was faster; there is never more than one cell per run.
    pub fn keep(&self, cell: RunCell) -> Arc<RunCell> {
        let mut cells = self.cells();
        if let Some(there) = cells.by_run.get(&cell.facts.id).and_then(Weak::upgrade) {
            return there;
        }
        let cell = Arc::new(cell);
        cells.keep(&cell);
        cell
    }

    /// Forgets a cell that no longer agrees with the ledger, unless another one has taken its place.
    pub fn forget(&self, cell: &RunCell) {
        let mut cells = self.cells();
        let kept = cells.by_run.get(&cell.facts.id).map(Weak::as_ptr);
        if kept.is_some_and(|kept| std::ptr::eq(kept, cell)) {
            cells.by_run.remove(&cell.facts.id);
        }
    }

    /// Forgets the cells of earlier epochs: others may own their runs by now.
    pub fn forget_earlier(&self, epoch: i64) {
        let is_of_now = |cell: Arc<RunCell>| {
            let steps = cell.steps.try_lock();
            steps.is_ok_and(|steps| steps.iter().all(|step| step.epoch == epoch))
        };
        self.cells()
            .by_run
            .retain(|_, cell| cell.upgrade().is_some_and(is_of_now));
    }

    fn cells(&self) -> MutexGuard<'_, Cells> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
