//! Guests that compute for ever do not take the machine from the others.

#![allow(clippy::disallowed_methods, reason = "measures how long a call takes")]

use std::time::Instant;

use super::*;
use crate::clock::thread_cpu_ns;
use handmade::{Guest, LOOP, OK, send};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_calls_keep_pace_beside_guests_that_compute_for_ever() {
    let mut limits = RuntimeLimits::default();
    limits.small.cpu_ms_max = 500;
    let runtime = runtime(limits);
    let looping = runtime.load(&Guest::performing(LOOP).build()).await.unwrap();
    let normal = runtime
        .load(&Guest::performing(&format!("{}{OK}", send(16, 11))).build())
        .await
        .unwrap();
    let spawn = |component: &Component| {
        let (runtime, component) = (runtime.clone(), component.clone());
        tokio::spawn(async move {
            let start = Instant::now();
            let (_, returned) = runtime
                .perform(&component, call("key"), EVENT_MS, Recorder::default())
                .await;
            (start.elapsed(), returned)
        })
    };
    let hostile: Vec<_> = (0..8).map(|_| spawn(&looping)).collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    for task in (0..50).map(|_| spawn(&normal)).collect::<Vec<_>>() {
        let (took, returned) = task.await.unwrap();
        assert_eq!(returned, completed());
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    for task in hostile {
        assert_eq!(task.await.unwrap().1, Err(Stop::Cpu));
    }
}

#[tokio::test]
async fn a_call_costs_little() {
    let runtime = runtime(RuntimeLimits::default());
    let guest = Guest::performing(&format!("{}{OK}", send(16, 11)));
    let normal = runtime.load(&guest.build()).await.unwrap();
    let mut took = Vec::new();
    let cpu = thread_cpu_ns();
    for _ in 0..1_000 {
        let start = Instant::now();
        let (_, returned) = runtime
            .perform(&normal, call("key"), EVENT_MS, Recorder::default())
            .await;
        took.push(start.elapsed());
        assert_eq!(returned, completed());
    }
    let cpu = Duration::from_nanos((thread_cpu_ns() - cpu) / 1_000);
    took.sort();
    println!(
        "a call with one request: p50 {:?}, p99 {:?}, CPU {cpu:?}",
        took[500], took[990]
    );
    assert!(cpu < Duration::from_millis(2), "{cpu:?}");
}
