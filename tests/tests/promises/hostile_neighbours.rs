//! C13: hostile connectors beside normal runs. Each is cut at its limit with the right class, and the others go on beside
//! it with few instances; a full house costs a wait, never an attempt.

use crate::{CHAT, HOST};
use oncegate::ledger::AttemptKind;
use oncegate_domain::evidence::{Cut, Evidence, Report};
use oncegate_domain::id::Id;
use oncegate_domain::outcome::{Outcome, Permanent, Proof, Refusal};
use oncegate_domain::run;
use oncegate_tests::pace::{TIMED, assert_as_quick, takes};
use oncegate_tests::wait::{LOOK_EVERY, PATIENCE};
use oncegate_tests::{Behaviour, ChildHost, Connection, Destination, Folder, Rule, Service, TestHost, orders};
use std::sync::atomic::{AtomicU64, Ordering};

const SEND: &str = "{ op = \"send\", path = \"/messages\", json = { text = \"{{key}}\" } }";
/// What it was to settle it would do once more.
const LOOKUP_THAT_WRITES: &str =
    "lookup = [{ op = \"send\", path = \"/messages\", json = { text = \"{{key}}\" } }, { op = \"absent\" }]";
/// Normal runs beside the hostile ones.
const NORMAL: usize = 50;
/// The harm was noticed before anything was sent.
const FAULT: Outcome = Outcome::Refused(Refusal::Permanent(Permanent::ConnectorFault));

/// Somebody who does harm.
struct Villain {
    name: &'static str,
    script: String,
    /// What it does when it is asked; it is asked where there is something.
    lookup: &'static str,
    /// The answer is lost.
    is_lost: bool,
    /// What the host says of its attempt, and what it came to.
    report: Report,
    outcome: Outcome,
    /// Requests that leave.
    sent: usize,
}

fn villains() -> Vec<Villain> {
    let villain = |name, script: String, report, outcome, sent| Villain {
        name,
        script,
        lookup: "",
        is_lost: false,
        report,
        outcome,
        sent,
    };
    let cut = |name, cut| {
        villain(
            name,
            format!("{{ op = \"{name}\" }}, {SEND}"),
            Report::Cut(cut),
            FAULT,
            0,
        )
    };
    let huge = format!("{SEND}, {{ op = \"huge\", bytes = 500000000 }}");
    let flood = format!("{{ op = \"log\", lines = 1000, bytes = 1000000 }}, {SEND}");
    let twice = format!("{SEND}, {SEND}, {{ op = \"rejected\" }}");
    vec![
        cut("loop", Cut::Cpu),
        cut("grow", Cut::Memory),
        cut("trap", Cut::Trap),
        villain("huge", huge, Report::Cut(Cut::Memory), Outcome::Unknown, 1),
        // A log is no reason to lose an effect: what is too much of it is dropped.
        villain("flood", flood, Report::Ok, Outcome::Confirmed(Proof::Answered(201)), 1),
        villain("twice", twice, Report::Rejected, Outcome::Unknown, 1),
        Villain {
            is_lost: true,
            ..villain(
                "liar",
                format!("{SEND}, {{ op = \"ok\" }}"),
                Report::Ok,
                Outcome::Unknown,
                1,
            )
        },
        Villain {
            is_lost: true,
            lookup: LOOKUP_THAT_WRITES,
            ..villain(
                "asker",
                format!("{SEND}, {{ op = \"judge\" }}"),
                Report::Unsure,
                Outcome::Unknown,
                1,
            )
        },
    ]
}

fn folder(destination: &Destination) -> Folder {
    let chat = Connection::chat(&destination.origin("chat"));
    // It answers a byte a second: once for as long as the test takes, once until the time limit of an exchange.
    let drip = Connection::chat(&destination.origin("drip"))
        .named("drip")
        .timeout("2m");
    let cut = Connection::chat(&destination.origin("drip")).named("cut").timeout("1s");
    let folder = Folder::new()
        .connection(&chat)
        .connection(&drip)
        .connection(&cut)
        .flow("orders", &orders("orders", CHAT))
        .flow("drip", &orders("drip", &CHAT.replace("chat.send", "drip.send")))
        .flow("cut", &orders("cut", &CHAT.replace("chat.send", "cut.send")));
    villains().into_iter().fold(folder, |folder, villain| {
        let connection = Connection::puppet(villain.name, &destination.origin(villain.name))
            .settings(&format!("script = [{}]", villain.script))
            .writes("POST /messages");
        let connection = match villain.lookup {
            "" => connection,
            lookup => connection
                .settings(lookup)
                .trust("lookup_after = \"10s\"\nabsent_on = [404]")
                .reads("GET /messages/{id}"),
        };
        let step = format!(
            "[[steps]]\nid = \"puppet\"\nuse = \"{}.do\"\nretry = {{ attempts = 1 }}\n",
            villain.name
        );
        folder
            .connection(&connection)
            .flow(villain.name, &orders(villain.name, &step))
    })
}

async fn destination() -> Destination {
    let names = villains().into_iter().map(|villain| villain.name);
    let services = names.chain(["drip"]).map(|name| Service::chat().named(name));
    let destination = Destination::start(services.chain([Service::chat()])).await.unwrap();
    destination.script(Rule::always("drip", Behaviour::slow_drip(1_000)));
    for villain in villains().into_iter().filter(|villain| villain.is_lost) {
        destination.script(Rule::always(villain.name, Behaviour::effect_then_reset()));
    }
    destination
}

/// A host with room for so many calls.
async fn host(destination: &Destination, calls_max: u32) -> TestHost {
    let mut host = TestHost::start(&folder(destination)).await;
    host.stop().await;
    host.come_up_limited(|limits| limits.calls_max = calls_max).await;
    host
}

async fn normal_runs(host: &TestHost, count: usize) -> Vec<Id> {
    let mut runs = Vec::new();
    for n in 0..count {
        runs.push(host.order("orders", &format!("A-{n}")).await);
    }
    runs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_connectors_are_cut_at_their_limits_and_fifty_normal_runs_go_on_beside_them() {
    let destination = destination().await;
    let host = host(&destination, 8).await;
    let drip = host.order("drip", "drip").await;
    let cut = host.order("cut", "cut").await;
    let mut hostile = Vec::new();
    for villain in villains() {
        hostile.push((host.order(villain.name, villain.name).await, villain));
    }
    for run in normal_runs(&host, NORMAL).await {
        let view = host.settle(run).await;
        assert_eq!(
            (view.state(), view.step("chat").state.attempts),
            (run::State::Completed, 1)
        );
    }
    // They did not wait for the slowest of their neighbours.
    assert_eq!(host.run(drip).await.stands("chat"), "processing");

    let view = host.settle(cut).await;
    assert_eq!(view.attempts("chat")[0].evidence, Some(Evidence::MaybeSent));
    assert!(view.reason("chat").effect_may_exist());

    for (run, villain) in hostile {
        let name = villain.name;
        let view = host.settle(run).await;
        let done = matches!(villain.outcome, Outcome::Confirmed(_));
        assert_eq!(
            view.stands("puppet"),
            if done { "completed" } else { "needs_review" },
            "{name}"
        );
        let attempts = view.attempts("puppet");
        let performed = attempts.iter().filter(|attempt| attempt.kind != AttemptKind::Lookup);
        assert_eq!(performed.count(), 1, "{name}");
        assert_eq!(attempts.len() > 1, !villain.lookup.is_empty(), "{name} is asked");
        assert_eq!(
            (attempts[0].report, attempts[0].outcome),
            (Some(villain.report), Some(villain.outcome)),
            "{name}: {:?}",
            attempts[0].message
        );
        assert!(
            done || view.reason("puppet").effect_may_exist() == (villain.sent > 0),
            "{name}"
        );
        assert_eq!(destination.writes_of(name), villain.sent as u64, "{name}");
    }
    assert_eq!(destination.count("chat").effects_total, NORMAL as u64);
    assert_eq!(destination.duplicates(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_house_costs_a_wait_and_no_attempt() {
    let destination = destination().await;
    let host = host(&destination, 1).await;
    let slow = Behaviour {
        answer_after_ms: 500,
        ..Behaviour::usual()
    };
    destination.script_next("chat", [slow]);
    let runs = normal_runs(&host, 1).await;
    let sent = destination.until(|tally| tally.services["chat"].requests == 1);
    tokio::time::timeout(PATIENCE, sent).await.expect("the house is full");
    let trap = host.order("trap", "trap").await;
    for run in runs.into_iter().chain([host.order("orders", "last").await]) {
        let view = host.settle(run).await;
        assert_eq!(
            (view.state(), view.step("chat").state.attempts),
            (run::State::Completed, 1)
        );
        assert_eq!(view.attempts("chat").len(), 1, "{:#?}", view.attempts("chat"));
    }
    let view = host.settle(trap).await;
    assert_eq!(view.attempts("puppet").len(), 1, "{:#?}", view.attempts("puppet"));
    assert_eq!(
        view.step("puppet").state.attempts,
        0,
        "nothing was tried but to compute"
    );
}

/// They come again and again, and whoever has nothing to do with them does not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn normal_runs_are_as_quick_beside_hostile_connectors_as_alone() {
    const NORMAL: (&str, &str) = ("orders", "chat");
    let destination = destination().await;
    let host = host(&destination, 8).await;
    let alone = takes(&destination, &host, NORMAL, "alone").await;
    let mut hostile = 0;
    let again_and_again = async {
        loop {
            for villain in villains() {
                host.order(villain.name, &format!("{hostile}")).await;
            }
            hostile += 1;
        }
    };
    let beside = tokio::select! {
        () = again_and_again => unreachable!("they never end"),
        beside = takes(&destination, &host, NORMAL, "beside") => beside,
    };
    assert!(hostile > 0, "nobody did any harm meanwhile");
    assert_as_quick(alone, beside);
    assert_eq!(destination.count("chat").effects_total, 2 * TIMED as u64);
}

/// Neither what a guest takes nor what it says is kept: not in memory, and not in the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_takes_memory_or_floods_the_log_leaves_the_host_as_small_as_it_was() {
    const ROUNDS: usize = 4;
    const LOG_BYTES_MAX: u64 = 1_000_000;
    // What one guest may have, with room for what the host holds of its last answer.
    const GROWTH_MB_MAX: u64 = 200;
    let destination = destination().await;
    let host = ChildHost::start(HOST, &folder(&destination)).await;
    let before_mb = host.memory_mb();
    for round in 0..ROUNDS {
        for (name, state) in [
            ("grow", "needs_review"),
            ("huge", "needs_review"),
            ("flood", "completed"),
        ] {
            let id = format!("{name}-{round}");
            assert_eq!(host.order(name, &id).await.unwrap().status, 202);
            let most_mb = AtomicU64::new(0);
            let watch = async {
                loop {
                    most_mb.fetch_max(host.memory_mb(), Ordering::Relaxed);
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            };
            tokio::select! {
                () = watch => unreachable!("it never ends"),
                run = host.settled(&id) => assert_eq!(run["state"], state, "{run:#}"),
            }
            let grown_mb = most_mb.into_inner().saturating_sub(before_mb);
            assert!(grown_mb < GROWTH_MB_MAX, "{id}: {grown_mb} MB more than {before_mb}");
        }
    }
    let log_bytes = host.data().join("host.log").metadata().unwrap().len();
    assert!(log_bytes < LOG_BYTES_MAX, "a log of {log_bytes} bytes");
}
