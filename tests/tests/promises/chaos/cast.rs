//! The hosts and the database server between them.

use crate::HOST;
use oncegate_test_database::{Server, new_database_on, server_of_its_own};
use oncegate_tests::fleet::LEASE_MS;
use oncegate_tests::{ChildHost, Client, Folder, HOOK_SECRET};
use rand::RngExt;
use rand::rngs::SmallRng;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a sender waits for an answer before it tries another host.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// Runs in one of these states still go on.
const UNDER_WAY: [&str; 5] = ["pending", "waiting", "retrying", "processing", "cancelling"];
const PAUSE: Duration = Duration::from_millis(100);

/// Everybody in this play.
pub struct Cast {
    server: tokio::sync::Mutex<Server>,
    hosts: Vec<Member>,
    enough: CancellationToken,
}

struct Member {
    host: tokio::sync::Mutex<ChildHost>,
    /// As of the last time it came up.
    client: Mutex<Client>,
}

impl Cast {
    /// So many hosts on one database, on a server of their own.
    pub async fn start(hosts: usize, folder: &Folder) -> Cast {
        let server = server_of_its_own();
        let database = new_database_on(&server.address()).await;
        let mut members = Vec::with_capacity(hosts);
        for _ in 0..hosts {
            let host = ChildHost::start_sharing(HOST, folder, &database, LEASE_MS).await;
            members.push(Member {
                client: Mutex::new(host.client.clone()),
                host: tokio::sync::Mutex::new(host),
            });
        }
        Cast {
            server: tokio::sync::Mutex::new(server),
            hosts: members,
            enough: CancellationToken::new(),
        }
    }

    /// The last event is in.
    pub fn enough(&self) {
        self.enough.cancel();
    }

    /// Sleeps, unless it is enough; `false`: it is.
    pub async fn rest(&self, pause: Duration) -> bool {
        tokio::time::timeout(pause, self.enough.cancelled()).await.is_err()
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Speaks to one of them.
    pub fn client(&self, host: usize) -> Client {
        self.hosts[host].client.lock().unwrap().clone()
    }

    /// Sends an event to any host, until one takes it in.
    pub async fn deliver(&self, dice: &mut SmallRng, hook: &str, id: &str) {
        let body = json!({ "order": { "id": id } }).to_string();
        loop {
            let client = self.client(dice.random_range(0..self.len()));
            let sent = client.deliver(hook, Some(HOOK_SECRET), &body);
            match tokio::time::timeout(ANSWER_WITHIN, sent).await {
                Ok(Ok(answer)) if answer.status == 202 => return,
                Ok(Ok(answer)) => assert!([429, 503].contains(&answer.status), "{answer:?}"),
                // It may have been taken in all the same: the next host will know.
                Ok(Err(_)) | Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Does something to a host that it may not survive, and lets it come up again.
    pub async fn with_host(&self, host: usize, fate: impl AsyncFnOnce(&mut ChildHost)) {
        let member = &self.hosts[host];
        let mut host = member.host.lock().await;
        fate(&mut host).await;
        *member.client.lock().unwrap() = host.client.clone();
    }

    /// Lets the database crash, and come up after `pause`.
    pub async fn crash_database(&self, pause: Duration) {
        let mut server = self.server.lock().await;
        server.crash().unwrap();
        tokio::time::sleep(pause).await;
        server.come_up().unwrap();
    }

    /// How many runs still go on; all, as long as nobody can say.
    pub async fn under_way(&self) -> u64 {
        let counts = self.client(0).ask("counts").await;
        if counts.status != 200 {
            return u64::MAX;
        }
        let runs = counts.json()["runs"].as_object().unwrap().clone();
        let under_way = runs.iter().filter(|(state, _)| UNDER_WAY.contains(&state.as_str()));
        under_way.map(|(_, count)| count.as_u64().unwrap()).sum()
    }

    /// The keys of all runs in a state.
    pub async fn keys_in(&self, state: &str) -> BTreeSet<String> {
        let client = self.client(0);
        let mut keys = BTreeSet::new();
        let mut next = String::new();
        loop {
            let page = client.get(&format!("runs?state={state}&limit=500{next}")).await;
            let runs = page["items"].as_array().unwrap();
            keys.extend(runs.iter().map(|run| run["key"].as_str().unwrap().to_owned()));
            match page["next"].as_str() {
                Some(after) => next = format!("&after={after}"),
                None => return keys,
            }
        }
    }
}
