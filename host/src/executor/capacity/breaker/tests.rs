use super::*;

const FULL: usize = 16;

fn id(n: u8) -> Id {
    Id::new(1_000, [n; 10])
}

/// Notes what happened to a step that began just now.
fn saw(breaker: &mut Breaker, step: u8, health: Health, now_ms: i64) {
    told(breaker, step, health, now_ms);
}

/// The same, and what of it is news.
fn told(breaker: &mut Breaker, step: u8, health: Health, now_ms: i64) -> Option<News> {
    breaker.note(seen(step, health), breaker.era(), now_ms, FULL)
}

fn seen(step: u8, health: Health) -> Seen<'static> {
    Seen {
        step: id(step),
        health,
        why: "answered 500",
    }
}

fn opened() -> Breaker {
    let mut breaker = Breaker::default();
    for step in 1..=3 {
        saw(&mut breaker, step, Health::Bad, 0);
    }
    assert_eq!(breaker.closed_until(0), Some(OPEN_FIRST_MS));
    breaker
}

#[test]
fn three_different_steps_in_a_row_open_it_and_one_step_alone_never_does() {
    let mut breaker = Breaker::default();
    for _ in 0..9 {
        saw(&mut breaker, 1, Health::Bad, 0);
    }
    saw(&mut breaker, 2, Health::Bad, 0);
    saw(&mut breaker, 2, Health::Good, 0);
    saw(&mut breaker, 3, Health::Bad, 0);
    saw(&mut breaker, 4, Health::Silent, 0);
    saw(&mut breaker, 5, Health::Bad, 0);
    assert_eq!((breaker.closed_until(0), breaker.at_once_max(FULL)), (None, FULL));
    saw(&mut breaker, 6, Health::Bad, 0);
    assert_eq!(breaker.closed_until(0), Some(OPEN_FIRST_MS));
}

#[test]
fn after_a_restart_one_finds_out_for_all_whether_its_time_has_come_or_not() {
    for (until_ms, now_ms, closed_until) in [
        (9_000, 5_000, Some(9_000)),
        (1_000, 5_000, None),
        (i64::MAX, 5_000, Some(5_000 + OPEN_LONGEST_MS)),
    ] {
        let mut breaker = Breaker::default();
        breaker.was_open(until_ms, now_ms);
        assert_eq!(breaker.closed_until(now_ms), closed_until);
        assert_eq!((breaker.is_open(), breaker.at_once_max(FULL)), (true, 1));
        saw(&mut breaker, 1, Health::Good, until_ms);
        assert_eq!(breaker.at_once_max(FULL), 2, "it goes on as a ramp");
    }
}

#[test]
fn one_step_finds_out_and_the_rest_follow_as_a_ramp() {
    let mut breaker = opened();
    let mut widths = Vec::new();
    for step in 10..15 {
        widths.push(breaker.at_once_max(FULL));
        saw(&mut breaker, step, Health::Good, OPEN_FIRST_MS);
    }
    assert_eq!(widths, [1, 2, 4, 8, FULL]);
    saw(&mut breaker, 20, Health::Bad, OPEN_FIRST_MS);
    assert_eq!(
        breaker.closed_until(OPEN_FIRST_MS),
        None,
        "closed again: one failure is none"
    );
}

#[test]
fn the_longer_an_outage_lasts_the_fewer_probes_go_out() {
    let mut breaker = opened();
    let mut gaps = Vec::new();
    let mut now_ms = 0;
    for _ in 0..9 {
        let until_ms = breaker.closed_until(now_ms).expect("every probe failed");
        gaps.push(until_ms - now_ms);
        now_ms = until_ms;
        assert_eq!(breaker.at_once_max(FULL), 1, "one probe at a time");
        saw(&mut breaker, 9, Health::Bad, now_ms);
    }
    assert_eq!(
        gaps,
        [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]
    );
}

#[test]
fn what_began_before_it_opened_neither_closes_nor_prolongs_it() {
    let mut breaker = opened();
    for health in [Health::Good, Health::Bad] {
        breaker.note(seen(7, health), breaker.era() - 1, OPEN_FIRST_MS, FULL);
        assert_eq!(breaker.closed_until(OPEN_FIRST_MS - 1), Some(OPEN_FIRST_MS));
        assert_eq!(breaker.closed_until(OPEN_FIRST_MS), None);
        assert_eq!(breaker.at_once_max(FULL), 1);
    }
}

#[test]
fn a_read_that_goes_well_lets_one_step_through_and_one_that_does_not_none() {
    let mut breaker = opened();
    breaker.probed(Health::Bad, OPEN_FIRST_MS);
    let until_ms = 3 * OPEN_FIRST_MS;
    assert_eq!(breaker.closed_until(OPEN_FIRST_MS), Some(until_ms));
    breaker.probed(Health::Good, until_ms);
    assert!(!breaker.is_open() && breaker.is_probing());
    assert_eq!(breaker.at_once_max(FULL), 1, "it reads, and may not write");
    saw(&mut breaker, 10, Health::Bad, until_ms);
    assert_eq!(breaker.closed_until(until_ms), Some(until_ms + 4 * OPEN_FIRST_MS));
    breaker.probed(Health::Good, until_ms + 4 * OPEN_FIRST_MS);
    saw(&mut breaker, 11, Health::Good, until_ms + 4 * OPEN_FIRST_MS);
    assert_eq!(breaker.at_once_max(FULL), 2);
}

#[test]
fn a_ramp_that_meets_the_outage_again_opens_for_longer() {
    let mut breaker = opened();
    saw(&mut breaker, 10, Health::Good, OPEN_FIRST_MS);
    for step in 11..=13 {
        assert_eq!(breaker.closed_until(OPEN_FIRST_MS), None);
        saw(&mut breaker, step, Health::Bad, OPEN_FIRST_MS);
    }
    assert_eq!(breaker.closed_until(OPEN_FIRST_MS), Some(3 * OPEN_FIRST_MS));
}

#[test]
fn steps_that_failed_while_another_went_well_open_it_never_again() {
    let mut breaker = opened();
    saw(&mut breaker, 10, Health::Good, OPEN_FIRST_MS);
    for _ in 0..3 {
        for bad in 1..=3 {
            saw(&mut breaker, bad, Health::Bad, OPEN_FIRST_MS);
        }
    }
    assert!(breaker.fails_alone(id(1)) && !breaker.has_failed(id(1)));
    assert_eq!(
        (breaker.closed_until(OPEN_FIRST_MS), breaker.at_once_max(FULL)),
        (None, 2),
        "in the ramp"
    );
    for good in 11..=13 {
        saw(&mut breaker, good, Health::Good, OPEN_FIRST_MS);
    }
    for bad in 1..=3 {
        saw(&mut breaker, bad, Health::Bad, OPEN_FIRST_MS);
    }
    assert!(breaker.is_closed());
    // An outage of the destination is noticed all the same, by those who say something new.
    for fresh in 20..=22 {
        assert!(breaker.is_closed());
        saw(&mut breaker, fresh, Health::Bad, OPEN_FIRST_MS);
    }
    assert_eq!(breaker.closed_until(OPEN_FIRST_MS), Some(2 * OPEN_FIRST_MS));
}

#[test]
fn a_step_that_goes_well_counts_again_when_it_fails_later() {
    let mut breaker = opened();
    for step in [10, 1, 2, 3, 11] {
        saw(&mut breaker, step, Health::Good, OPEN_FIRST_MS);
    }
    assert!(breaker.is_closed() && !breaker.fails_alone(id(1)));
    for step in 1..=3 {
        saw(&mut breaker, step, Health::Bad, OPEN_FIRST_MS);
    }
    assert!(breaker.is_open());
}

#[test]
fn one_that_fails_alone_and_finds_out_makes_nobody_wait_longer() {
    let mut breaker = opened();
    saw(&mut breaker, 10, Health::Good, OPEN_FIRST_MS);
    for fresh in 20..=22 {
        saw(&mut breaker, fresh, Health::Bad, OPEN_FIRST_MS);
    }
    let gap_ms = 2 * OPEN_FIRST_MS;
    let mut now_ms = OPEN_FIRST_MS;
    for _ in 0..3 {
        assert_eq!(breaker.closed_until(now_ms), Some(now_ms + gap_ms));
        now_ms += gap_ms;
        saw(&mut breaker, 1, Health::Bad, now_ms);
    }
    saw(&mut breaker, 30, Health::Bad, now_ms);
    assert_eq!(breaker.closed_until(now_ms), Some(now_ms + 2 * gap_ms));
}

#[test]
fn an_outage_is_news_when_it_begins_and_when_it_is_over() {
    let mut breaker = Breaker::default();
    assert_eq!(told(&mut breaker, 1, Health::Bad, 5), None);
    assert_eq!(told(&mut breaker, 2, Health::Bad, 6), None);
    let failing = Failing {
        why: "3 different steps failed in a row; answered 500".to_owned(),
        since_ms: 7,
        until_ms: 7 + OPEN_FIRST_MS,
    };
    assert_eq!(
        told(&mut breaker, 3, Health::Bad, 7),
        Some(News::Failing(failing.clone()))
    );
    assert_eq!(breaker.failing(), Some(failing));
    // A probe that fails, a ramp that meets the outage again: the same outage.
    assert_eq!(told(&mut breaker, 4, Health::Bad, 2_000), None);
    assert_eq!(told(&mut breaker, 5, Health::Good, 4_000), None);
    assert_eq!(breaker.failing(), None, "something is sent again");
    for step in 6..=8 {
        assert_eq!(told(&mut breaker, step, Health::Bad, 4_000), None);
    }
    assert_eq!(breaker.failing().map(|failing| failing.since_ms), Some(7));
    for step in 10..=12 {
        assert_eq!(told(&mut breaker, step, Health::Good, 9_000), None);
    }
    assert_eq!(told(&mut breaker, 13, Health::Good, 9_000), Some(News::Well));
    assert_eq!(told(&mut breaker, 14, Health::Good, 9_000), None);
}
