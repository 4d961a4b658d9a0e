//! How fast it is, by hand: `cargo test -p oncegate --lib ledger::tests::speed -- --ignored --nocapture`.

use super::*;

/// One event of one step: accept, intend, finish.
async fn one_step(house: &House, key: String) {
    let mut event = house.event(&key);
    event.steps.truncate(1);
    let Accepted::New { run, steps, .. } = house.ledger.accept(event).await.unwrap() else {
        panic!()
    };
    house.ledger.intend(house.intent(run, steps[0], 0, 1)).await.unwrap();
    let write = StepWrite {
        output: Some(serde_json::json!({"id": 7})),
        ..StepWrite::new(steps[0], 1, completed())
    };
    let finish = house.finish(run, write, Some(confirmed(1, true)));
    house
        .ledger
        .finish(Finish {
            run_state: Some(run::State::Completed),
            ..finish
        })
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn events_per_second() {
    use crate::clock::{Clock, SystemClock};
    let house = Arc::new(house().await);
    for concurrency in [1_usize, 16, 64, 256] {
        let (before, begun_ms) = (house.ledger.writer_counts(), SystemClock.boot_ms());
        let each = if concurrency == 1 { 300 } else { 6_000 / concurrency };
        let workers = (0..concurrency).map(|worker| {
            let house = house.clone();
            tokio::spawn(async move {
                for number in 0..each {
                    one_step(&house, format!("{concurrency}-{worker}-{number}")).await;
                }
            })
        });
        futures::future::join_all(workers)
            .await
            .into_iter()
            .for_each(|worker| worker.unwrap());
        let (after, took_ms) = (house.ledger.writer_counts(), SystemClock.boot_ms() - begun_ms);
        let events = (each * concurrency) as f64;
        println!(
            "concurrency {concurrency}: {:.0} events/s, {:.0} rows/s, {:.2} commits an event",
            events * 1e3 / took_ms as f64,
            events * 7e3 / took_ms as f64,
            (after.commits - before.commits) as f64 / events,
        );
    }
}
