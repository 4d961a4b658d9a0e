//! `oncegate connector call`: one call of a connector, for real. It is made by a whole host on a ledger of its own, which
//! goes with the command, so that it passes every door that a run passes: approval, limits, request list, intent, egress,
//! evidence, judgement. The host's executor is at rest: nothing follows by itself, and a lost answer stays lost.

mod next;
mod report;
mod subject;

pub use report::Report;
pub use subject::{Subject, secrets_dir};

use crate::catalog::{Catalog, Purpose};
use crate::clock::{SharedClock, SystemClock};
use crate::credentials::Secrets;
use crate::egress::{Egress, Outgoing};
use crate::executor::{Consent, Delivery, Executor, Parts, Trial, Wanted};
use crate::flow::{ContentEncoding, RawBody};
use crate::ledger::{Database, LeaseTerm, Ledger, Opening, Room};
use crate::runtime::{GuestDoubt, Runtime, RuntimeLimits};
use anyhow::Context;
use oncegate_domain::doubt::Effect;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Name and path of the flow whose one step is the call.
pub(crate) const FLOW: &str = "call";
/// What a lookup by hand is told of the first request: so long ago. A destination that is searched by time finds what was
/// sent since.
const SENT_BEFORE_MS: i64 = 24 * 60 * 60 * 1_000;
const STOP_WITHIN: Duration = Duration::from_secs(5);
/// The host of one call keeps little, and not for long.
const OPENING: Opening = Opening {
    database: Database::Embedded,
    room: Room {
        free_bytes_min: 4 << 20,
        reserve_bytes: 1 << 20,
    },
    lease: LeaseTerm::USUAL,
};
/// Who waits longer is told what for.
const READY_SOON: Duration = Duration::from_secs(3);

/// What a person is asked before a changing request leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send it.
    Yes,
    /// Send nothing.
    No,
}

/// How a changing request gets its leave.
pub enum Leave<'a> {
    /// It was given beforehand. The key is told before anything is sent: should this process end while it waits for the
    /// answer, the key is all that one can ask by.
    Given(&'a mut dyn FnMut(&str)),
    /// By a question, which is shown the request and the key.
    Ask(&'a mut dyn FnMut(&Value) -> anyhow::Result<Answer>),
}

/// Makes the call; `None`: the person said no, and nothing was changed. `waits` is called once where the connector is not
/// ready soon.
///
/// # Errors
/// The call could not be made; not that it was made and failed.
pub fn run(subject: &Subject, leave: Leave<'_>, waits: &mut dyn FnMut()) -> anyhow::Result<Option<Report>> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    let folder = tempfile::Builder::new()
        .prefix("oncegate-call-")
        .tempdir()
        .context("cannot make a folder")?;
    runtime.block_on(async {
        let mut opening = std::pin::pin!(Host::open(subject, folder.path()));
        let host = match tokio::time::timeout(READY_SOON, &mut opening).await {
            Ok(host) => host?,
            Err(_later) => {
                waits();
                opening.await?
            }
        };
        let called = host.call(subject, leave).await;
        host.close().await;
        called
    })
}

/// What a call needs of a host.
struct Host {
    ledger: Ledger,
    catalog: Catalog,
    executor: Executor,
    clock: SharedClock,
}

impl Host {
    async fn open(subject: &Subject, folder: &Path) -> anyhow::Result<Self> {
        let (data, installation) = (folder.join("data"), folder.join("installation"));
        std::fs::create_dir_all(&data)?;
        subject.write_installation(&installation)?;
        let clock: SharedClock = Arc::new(SystemClock);
        let ledger = Ledger::open_with(&data, Arc::clone(&clock), &OPENING).await?;
        let limits = RuntimeLimits::default();
        let (calls_max, large_calls_max) = (limits.small.calls_max, limits.large.calls_max);
        // Planning compiles, and applying loads once more: a connector that brings an interpreter takes 10 s and more.
        let cache = subject.cache.clone().unwrap_or_else(|| data.join("cache"));
        let runtime = Runtime::new(limits, Some(&cache))?;
        let catalog = Catalog::load(&ledger, &runtime).await?;
        let plan = catalog.plan(&installation, &[]).await?;
        catalog.apply(plan, "connector call", clock.now_ms()).await?;
        let executor = Executor::at_rest(Parts {
            ledger: ledger.clone(),
            catalog: catalog.clone(),
            runtime,
            egress: Egress::new(Arc::clone(&clock)),
            clock: Arc::clone(&clock),
            secrets: Secrets::new(subject.secrets_dir.clone()),
            calls_max,
            large_calls_max,
        });
        Ok(Self {
            ledger,
            catalog,
            executor,
            clock,
        })
    }

    async fn close(&self) {
        self.executor.stop(STOP_WITHIN).await;
        self.ledger.close().await;
    }

    async fn call(&self, subject: &Subject, leave: Leave<'_>) -> anyhow::Result<Option<Report>> {
        let trial = self.executor.trial(self.wanted(subject)?).await?;
        let about = report::About::of(subject, &trial);
        if subject.purpose == Purpose::Lookup {
            let doubt = GuestDoubt {
                first_sent_ms: (self.clock.now_ms() - SENT_BEFORE_MS).unsigned_abs(),
                status: None,
            };
            let looked_up = trial.look_up(doubt).await?;
            return Ok(Some(about.looked_up(&looked_up)));
        }
        let Some(consent) = consent(&trial, leave, &about).await? else {
            return Ok(None);
        };
        let performed = trial.perform(consent).await?;
        Ok(Some(about.performed(&performed, self.clock.now_ms())))
    }

    fn wanted(&self, subject: &Subject) -> anyhow::Result<Wanted> {
        let body = json!({ "key": FLOW, "input": subject.input });
        let flow = self
            .catalog
            .flow_by_path(FLOW)
            .context("the call's own flow is not there")?;
        Ok(Wanted {
            delivery: Delivery {
                flow,
                received_ms: self.clock.now_ms(),
                source: "connector call".to_owned(),
                verified_by: "a person at this machine".to_owned(),
                signed_digest: None,
                raw: RawBody {
                    bytes: body.to_string().into_bytes(),
                    encoding: ContentEncoding::Identity,
                    content_type: "application/json".to_owned(),
                },
                body,
                headers: BTreeMap::new(),
                query: BTreeMap::new(),
            },
            input: subject.input.to_string(),
            key: subject.key.clone(),
            purpose: subject.purpose,
        })
    }
}

/// The leave to send. A person sees the very request before they answer, and only that one may leave then.
async fn consent(trial: &Trial, leave: Leave<'_>, about: &report::About<'_>) -> anyhow::Result<Option<Consent>> {
    let ask = match (leave, trial.approved().terms.effect) {
        (_, Effect::Read) => return Ok(Some(Consent::HeldBack)),
        (Leave::Given(tell), Effect::Write) => {
            tell(trial.key());
            return Ok(Some(Consent::Given));
        }
        (Leave::Ask(ask), Effect::Write) => ask,
    };
    // It sends nothing that changes anything: there is nothing to ask, and nothing to let go.
    let Some(out) = trial.rehearse().await? else {
        return Ok(Some(Consent::HeldBack));
    };
    match ask(&about.question(&out))? {
        Answer::Yes => Ok(Some(Consent::Only(Box::new(out)))),
        Answer::No => Ok(None),
    }
}

/// Where a request goes.
fn url(out: &Outgoing) -> String {
    format!("{}{}", out.origin, out.path_and_query)
}
