//! Three hosts on one database, while all that can go away goes away: hosts are killed, stopped for twice their lease and sent
//! home in order, the database crashes, the destination loses answers. Each event has one effect, or stands before a person.
//!
//! Here it is bounded. The long one takes minutes: `ONCEGATE_CHAOS_EVENTS=20000 cargo test --workspace --test promises chaos --
//! --nocapture`, and `ONCEGATE_CHAOS_SEED` plays the dice of an earlier one again.

mod cast;
mod trouble;

use crate::{CHAT, CRM};
use cast::Cast;
use oncegate_tests::{Connection, Destination, Folder, Service, orders};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

const HOSTS: usize = 3;
/// Without a word from outside.
const EVENTS: usize = 600;
/// Events that are on their way to the hosts at the same time.
const SENDERS: usize = 8;
/// How long one sender rests after an event, so that trouble comes in the midst of work and not after it.
const REST: Duration = Duration::from_millis(250);
/// Longer than any wait of this play: a doubt is asked about within seconds.
const STUCK_AFTER: Duration = Duration::from_secs(60);

fn wanted(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(number) => number
            .parse()
            .unwrap_or_else(|_| panic!("{name} is {number:?} and no number")),
        Err(_) => otherwise,
    }
}

/// A CRM that honours keys and can be asked, and a chat that does neither. Both lose answers.
async fn destination(seed: u64) -> Destination {
    let chances = oncegate::destination::Chances {
        seed,
        lost_answer: 0.05,
        unavailable: 0.02,
        silence_ms: 3_000,
        ..oncegate::destination::Chances::default()
    };
    Destination::start([
        Service::crm().chances(chances.clone()),
        Service::chat().chances(chances),
    ])
    .await
    .unwrap()
}

fn folder(destination: &Destination) -> Folder {
    let crm = Connection::http("crm", &destination.origin("crm"))
        .timeout("2s")
        .writes("POST /contacts")
        .keyed("24h")
        .asked("2s");
    let chat = Connection::chat(&destination.origin("chat")).timeout("2s");
    Folder::new()
        .connection(&crm)
        .connection(&chat)
        .flow("leads", &orders("leads", CRM))
        .flow("talk", &orders("talk", CHAT))
}

/// Of four events one goes to the chat.
fn hook(event: usize) -> &'static str {
    if event.is_multiple_of(4) { "talk" } else { "leads" }
}

fn id(event: usize) -> String {
    format!("E-{event:06}")
}

/// Sends its share of the events, each to any host until one takes it in; one in ten once more to another.
async fn send(cast: Arc<Cast>, mut dice: SmallRng, events: Vec<usize>) {
    for event in events {
        cast.deliver(&mut dice, hook(event), &id(event)).await;
        if dice.random_ratio(1, 10) {
            cast.deliver(&mut dice, hook(event), &id(event)).await;
        }
        tokio::time::sleep(REST).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_away_each_event_has_one_effect_or_stands_before_a_person() {
    let events = wanted("ONCEGATE_CHAOS_EVENTS", EVENTS);
    let seed = wanted("ONCEGATE_CHAOS_SEED", usize::from_ne_bytes(rand::random())) as u64;
    println!("{events} events, ONCEGATE_CHAOS_SEED={seed}");
    let mut dice = SmallRng::seed_from_u64(seed);
    let destination = destination(seed).await;
    let cast = Arc::new(Cast::start(HOSTS, &folder(&destination)).await);

    let mut senders = JoinSet::new();
    for sender in 0..SENDERS {
        let share = (0..events).filter(|event| event % SENDERS == sender).collect();
        senders.spawn(send(Arc::clone(&cast), SmallRng::seed_from_u64(dice.random()), share));
    }
    let trouble = tokio::spawn(trouble::make(Arc::clone(&cast), SmallRng::seed_from_u64(dice.random())));
    while let Some(sent) = senders.join_next().await {
        sent.unwrap();
    }
    cast.enough();
    println!("{}", trouble.await.unwrap());

    settled(&cast).await;
    judge(&cast, &destination, events).await;
}

/// Waits until nothing goes on any more, for as long as something still comes to its end.
async fn settled(cast: &Cast) {
    let (mut least, mut since) = (u64::MAX, Instant::now());
    loop {
        let left = cast.under_way().await;
        if left == 0 {
            return;
        }
        if left < least {
            (least, since) = (left, Instant::now());
        }
        assert!(since.elapsed() < STUCK_AFTER, "{left} runs are stuck");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn judge(cast: &Cast, destination: &Destination, events: usize) {
    assert_eq!(destination.duplicates(), []);
    let mut effects = BTreeMap::<String, usize>::new();
    for effect in destination.effects_in_full() {
        let at = effect.body.find("E-").expect("a body names its event");
        *effects.entry(effect.body[at..at + 8].to_owned()).or_default() += 1;
    }
    let in_review = cast.keys_in("needs_review").await;
    let completed = cast.keys_in("completed").await;
    println!("{} completed, {} before a person", completed.len(), in_review.len());
    let all: BTreeSet<String> = (0..events).map(id).collect();
    for event in &all {
        let times = effects.get(event).copied().unwrap_or_default();
        assert!(times <= 1, "{event} took effect {times} times");
        assert!(
            in_review.contains(event) || (completed.contains(event) && times == 1),
            "{event} took effect {times} times, and its run is neither completed nor before a person"
        );
    }
    let runs: BTreeSet<String> = in_review.union(&completed).cloned().collect();
    assert_eq!(runs, all, "there is a run for each event, and none beside");
}
