use super::*;
use std::task::{Context, Poll, Waker};

fn poll(sleep: &mut Sleep<'_>) -> Poll<()> {
    sleep.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn the_system_clock_never_runs_backwards_in_any_thread() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                let mut last = (0, 0);
                for _ in 0..20_000 {
                    let now = (SystemClock.now_ms(), SystemClock.boot_ms());
                    assert!(now.0 >= last.0 && now.1 >= last.1, "{now:?} after {last:?}");
                    last = now;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn the_system_clock_follows_the_wall() {
    let wall_ms = read_ms(ClockId::Realtime);
    assert!((SystemClock.now_ms() - wall_ms).abs() < 1_000);
}

#[tokio::test]
async fn the_system_clock_wakes_no_earlier_than_asked() {
    let at_ms = SystemClock.now_ms() + 30;
    SystemClock.sleep_until(at_ms).await;
    assert!(SystemClock.now_ms() >= at_ms);
    SystemClock.sleep_until(i64::MIN).await;
}

#[test]
fn a_manual_clock_wakes_its_sleepers_when_their_instant_has_come() {
    let clock = ManualClock::new(1_000);
    let mut sleep = clock.sleep_until(3_000);
    assert_eq!(poll(&mut sleep), Poll::Pending);
    clock.advance(1_999);
    assert_eq!(poll(&mut sleep), Poll::Pending);
    clock.advance(1);
    assert_eq!(poll(&mut sleep), Poll::Ready(()));
    assert_eq!(poll(&mut clock.sleep_until(3_000)), Poll::Ready(()));
}

#[tokio::test]
async fn a_manual_clock_wakes_a_task_on_another_thread() {
    let clock = Arc::new(ManualClock::new(0));
    let sleeper = tokio::spawn({
        let clock = clock.clone();
        async move { clock.sleep_until(10).await }
    });
    tokio::task::yield_now().await;
    clock.advance(10);
    sleeper.await.unwrap();
}

#[test]
fn both_clocks_of_a_manual_clock_move_together_unless_told_apart() {
    let clock = ManualClock::new(0);
    let boot_ms = clock.boot_ms();
    clock.advance(5);
    assert_eq!((clock.now_ms(), clock.boot_ms() - boot_ms), (5, 5));
    clock.advance_boot(7);
    assert_eq!((clock.now_ms(), clock.boot_ms() - boot_ms), (5, 12));
    clock.advance_wall(-3);
    assert_eq!((clock.now_ms(), clock.boot_ms() - boot_ms), (2, 12));
    clock.advance_to(10);
    assert_eq!((clock.now_ms(), clock.boot_ms() - boot_ms), (10, 20));
    clock.advance_to(1);
    assert_eq!(clock.now_ms(), 10);
}

#[test]
fn instants_are_written_for_people() {
    assert_eq!(utc(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(utc(1_774_746_000_250), "2026-03-29T01:00:00.250Z");
    assert!(utc(i64::MAX).starts_with("9999-12-30"));
    assert!(utc(i64::MIN).starts_with("-009999-"));
}
