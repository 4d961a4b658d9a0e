//! A host in this process, on a clock that stands still until the test moves it.

mod beside;

use crate::client::{Answer, Client};
use crate::compiled;
use crate::data::{database, prepare, prepare_embedded};
use crate::folder::{Folder, HOOK_SECRET};
use crate::run::{RunView, run_of};
use crate::wait::eventually;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use oncegate::clock::{ManualClock, SharedClock};
use oncegate::config::{Config, Limits};
use oncegate::egress::Resolver;
use oncegate::ledger::{Page, ReviewItem};
use oncegate::serve::Server;
use oncegate_domain::id::Id;
use oncegate_domain::step::State;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// When the clock of a test begins, in Unix milliseconds: some day in 2027.
pub const START_MS: i64 = 1_800_000_000_000;

/// Looks without any change after which time is moved on although a step is due: the executor may be waiting for a later
/// moment than the one that the ledger holds.
const IDLE_LOOKS_MAX: u32 = 60;
/// How far time is moved on then.
const IDLE_STEP_MS: u64 = 500;

/// A host, its data and its time.
pub struct TestHost {
    data: TempDir,
    server: Option<Server>,
    /// Moves only when told to.
    pub clock: Arc<ManualClock>,
    /// What the host is given as its clock: the one above, unless a test put another around it.
    given_clock: SharedClock,
    /// Speaks to it.
    pub client: Client,
}

impl TestHost {
    /// A new host that matches `folder`.
    ///
    /// # Panics
    /// It does not come up, or the folder is not accepted.
    pub async fn start(folder: &Folder) -> TestHost {
        let clock = Arc::new(ManualClock::new(START_MS));
        TestHost::start_with(folder, Arc::clone(&clock), clock).await
    }

    /// The same with a clock of the test's own around `clock`.
    ///
    /// # Panics
    /// As [`TestHost::start`].
    pub async fn start_with(folder: &Folder, clock: Arc<ManualClock>, given_clock: SharedClock) -> TestHost {
        let data = tempfile::tempdir().unwrap();
        prepare(data.path()).await;
        TestHost::start_on(data, folder, clock, given_clock).await
    }

    /// The same on the embedded ledger, whatever the others run on: for what has to do with its disk.
    ///
    /// # Panics
    /// As [`TestHost::start`].
    pub async fn start_embedded(folder: &Folder) -> TestHost {
        let (data, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::new(START_MS)));
        prepare_embedded(data.path());
        TestHost::start_on(data, folder, Arc::clone(&clock), clock).await
    }

    async fn start_on(data: TempDir, folder: &Folder, clock: Arc<ManualClock>, given_clock: SharedClock) -> TestHost {
        let server = serve(data.path(), &given_clock).await;
        let client = client(data.path(), &server);
        let host = TestHost {
            data,
            server: Some(server),
            clock,
            given_clock,
            client,
        };
        host.apply(folder)
            .await
            .unwrap_or_else(|why| panic!("the folder was not accepted: {why}"));
        compiled::keep(host.data());
        host
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Its parts.
    ///
    /// # Panics
    /// It is down.
    pub fn inside(&self) -> &oncegate::serve::Host {
        &self.server.as_ref().unwrap().host
    }

    /// Goes down in order and stays down.
    ///
    /// # Panics
    /// It is down already.
    pub async fn stop(&mut self) {
        self.server.take().unwrap().stop().await;
    }

    /// Comes up again on the same data, at the same time.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn come_up(&mut self) {
        let server = serve(self.data.path(), &self.given_clock).await;
        self.client = client(self.data.path(), &server);
        self.server = Some(server);
    }

    /// Comes up again with other limits than hosts of tests have.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn come_up_limited(&mut self, change: impl FnOnce(&mut Limits)) {
        self.come_up_with_config(|config| change(&mut config.limits)).await;
    }

    /// Comes up again on a database to which its ledger was moved.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn come_up_on(&mut self, database: &str) {
        let database = database.parse().unwrap();
        self.come_up_with_config(|config| config.database = database).await;
    }

    /// Comes up again in a world in which these names exist, with these addresses, and no others.
    ///
    /// # Panics
    /// It does not come up, or an address is none.
    pub async fn come_up_resolving(&mut self, names: &[(&str, &[&str])]) {
        let address = |text: &&str| text.parse().unwrap();
        let names = names
            .iter()
            .map(|(name, addresses)| ((*name).to_owned(), addresses.iter().map(address).collect()));
        let resolver = Resolver::Fixed(names.collect());
        self.come_up_with_config(|config| config.resolver = resolver).await;
    }

    async fn come_up_with_config(&mut self, change: impl FnOnce(&mut Config)) {
        let mut config = config(self.data.path());
        change(&mut config);
        let server = Server::start(self.data.path(), &config, Arc::clone(&self.given_clock)).await;
        let server = server.unwrap();
        self.client = client(self.data.path(), &server);
        self.server = Some(server);
    }

    /// Comes up again as `serve --apply` does it: matching a folder before it answers anybody.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn come_up_with(&mut self, folder: &Folder) {
        let clock = Arc::clone(&self.given_clock);
        let config = config(self.data.path());
        let server = Server::start_with(self.data.path(), &config, clock, Some((folder.path(), &[])));
        let server = server.await.unwrap();
        self.client = client(self.data.path(), &server);
        self.server = Some(server);
    }

    /// Down in order, and up again.
    ///
    /// # Panics
    /// It does not come up.
    pub async fn restart(&mut self) {
        self.stop().await;
        self.come_up().await;
    }

    /// Applies a folder through the API; what is said about it where it is refused.
    ///
    /// # Errors
    /// The text of the refusal.
    ///
    /// # Panics
    /// The folder cannot be read.
    pub async fn apply(&self, folder: &Folder) -> Result<String, String> {
        self.apply_approving(folder, &[]).await
    }

    /// The same with `--approve` for these connections.
    ///
    /// # Errors
    /// The text of the refusal.
    ///
    /// # Panics
    /// The folder cannot be read.
    pub async fn apply_approving(&self, folder: &Folder, approve: &[&str]) -> Result<String, String> {
        let answer = self.client.apply(&files(folder.path()), approve).await;
        match answer.status {
            200 => Ok(answer.json()["plan"].as_str().unwrap_or_default().to_owned()),
            _ => Err(answer.json()["detail"].as_str().unwrap_or(&answer.text).to_owned()),
        }
    }

    /// Delivers to a verified hook.
    ///
    /// # Panics
    /// Nothing is answered.
    pub async fn deliver(&self, hook: &str, body: &str) -> Answer {
        self.client.deliver(hook, Some(HOOK_SECRET), body).await.unwrap()
    }

    /// Delivers an order of this id, which must be taken in; its run.
    ///
    /// # Panics
    /// It is not taken in.
    pub async fn order(&self, hook: &str, id: &str) -> Id {
        self.taken_in(hook, &json!({ "order": { "id": id } })).await
    }

    /// Delivers a body, which must be taken in; its run.
    ///
    /// # Panics
    /// It is not taken in.
    pub async fn taken_in(&self, hook: &str, body: &Value) -> Id {
        let answer = self.deliver(hook, &body.to_string()).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        run_of(&answer)
    }

    /// How a run stands now.
    ///
    /// # Panics
    /// There is no such run.
    pub async fn run(&self, run: Id) -> RunView {
        RunView(self.inside().ledger.run_show(run).await.unwrap().unwrap())
    }

    /// Waits, without moving time, until a run is as wanted.
    ///
    /// # Panics
    /// It does not get there.
    pub async fn until(&self, run: Id, wanted: impl Fn(&RunView) -> bool) -> RunView {
        eventually("the run stands as wanted", || async {
            let view = self.run(run).await;
            wanted(&view).then_some(view)
        })
        .await
    }

    /// Moves time on from one thing that is due to the next, until nothing is: all is done or in front of a person.
    ///
    /// # Panics
    /// It does not end.
    pub async fn settle(&self, run: Id) -> RunView {
        let idle = Idle::default();
        let last = Mutex::new(None);
        let settled = eventually("the run has come to an end or to a person", || {
            idle.look();
            let (idle, last) = (&idle, &last);
            async move {
                let view = self.run(run).await;
                let settled = view.0.steps.iter().all(|(step, _)| step.due_ms.is_none());
                let standing = view.standing();
                let changed = last.lock().unwrap().replace(standing.clone()).as_ref() != Some(&standing);
                self.move_on(&view, changed, idle);
                settled.then_some(view)
            }
        });
        settled.await
    }

    /// Moves the clock to the next moment at which something is due, unless something is under way.
    fn move_on(&self, view: &RunView, changed: bool, idle: &Idle) {
        let now_ms = oncegate::clock::Clock::now_ms(&*self.clock);
        let under_way = view
            .0
            .steps
            .iter()
            .any(|(step, _)| step.state.state == State::Processing);
        let due_ms = view.0.steps.iter().filter_map(|(step, _)| step.due_ms).min();
        if changed {
            idle.reset();
        }
        match due_ms {
            Some(due_ms) if due_ms > now_ms && !under_way => {
                self.clock.advance_to(due_ms);
                idle.reset();
            }
            Some(_) if !under_way && idle.too_long() => {
                self.clock.advance(IDLE_STEP_MS);
                idle.reset();
            }
            Some(_) | None => {}
        }
    }

    /// What is in front of a person.
    ///
    /// # Panics
    /// The ledger cannot be read.
    pub async fn reviews(&self) -> Vec<ReviewItem> {
        self.inside()
            .ledger
            .review_list(false, Page::default())
            .await
            .unwrap()
            .items
    }

    /// The only thing that is in front of a person.
    ///
    /// # Panics
    /// There is nothing, or more.
    pub async fn review(&self) -> ReviewItem {
        let mut items = self.reviews().await;
        assert_eq!(items.len(), 1, "{items:#?}");
        items.remove(0)
    }

    /// A person decides, as the API lets them.
    ///
    /// # Panics
    /// Nothing is answered.
    pub async fn decide(&self, item: &ReviewItem, verb: &str, more: Value) -> Answer {
        let mut body = json!({ "version": item.version });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap_or_default());
        self.client.post(&format!("review/{}/{verb}", item.id), &body).await
    }
}

#[derive(Default)]
struct Idle(std::sync::atomic::AtomicU32);

impl Idle {
    fn look(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn reset(&self) {
        self.0.store(0, std::sync::atomic::Ordering::Relaxed);
    }

    fn too_long(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed) > IDLE_LOOKS_MAX
    }
}

async fn serve(data: &Path, clock: &SharedClock) -> Server {
    Server::start(data, &config(data), Arc::clone(clock)).await.unwrap()
}

fn config(data: &Path) -> Config {
    let database = database(data).map(|address| address.parse().unwrap());
    let mut config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        database: database.unwrap_or_default(),
        ..Config::default()
    };
    config.limits.calls_max = 16;
    config
}

fn client(data: &Path, server: &Server) -> Client {
    Client {
        address: server.address,
        token: std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned(),
    }
}

/// A folder's files as the API takes them.
///
/// # Panics
/// They cannot be read.
pub fn files(folder: &Path) -> Vec<Value> {
    let mut files = Vec::new();
    for sub in ["connectors", "connections", "flows"] {
        let Ok(entries) = std::fs::read_dir(folder.join(sub)) else {
            continue;
        };
        for entry in entries {
            let entry = entry.unwrap();
            let content = STANDARD.encode(std::fs::read(entry.path()).unwrap());
            let path = format!("{sub}/{}", entry.file_name().to_string_lossy());
            files.push(json!({ "path": path, "base64": content }));
        }
    }
    files
}
