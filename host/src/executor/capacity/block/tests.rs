use super::*;

const MINUTE_MS: i64 = 60_000;

fn id(n: u8) -> Id {
    Id::new(1_000, [n; 10])
}

/// A 401 of step `n` of run `n`, at 0.
fn refused(credentials: &mut Credentials, n: u8, probe: Probe) -> (Verdict, bool) {
    let refusal = Refusal {
        run: id(n),
        step: id(n),
        probe,
        why: format!("401, request {n}"),
    };
    credentials.refused(refusal, 0)
}

fn blocked() -> Credentials {
    let mut credentials = Credentials::default();
    assert_eq!(refused(&mut credentials, 1, Probe::Refused), (Verdict::Block, true));
    credentials
}

#[test]
fn the_third_different_run_in_a_row_blocks_where_no_probe_can_tell() {
    let mut credentials = Credentials::default();
    for run in [1, 1, 1, 2, 2] {
        assert_eq!(refused(&mut credentials, run, Probe::None), (Verdict::Backoff, false));
    }
    assert!(!credentials.accepted(id(9)), "it was not blocked");
    for run in [4, 5] {
        assert_eq!(
            refused(&mut credentials, run, Probe::Unclear),
            (Verdict::Backoff, false),
            "from the beginning"
        );
    }
    assert_eq!(refused(&mut credentials, 3, Probe::None), (Verdict::Block, true));
}

#[test]
fn what_a_probe_explained_is_none_in_the_row() {
    let mut credentials = Credentials::default();
    for run in 1..=9 {
        assert_eq!(refused(&mut credentials, run, Probe::Accepted).0, Verdict::AboutStep);
        assert_eq!(refused(&mut credentials, run, Probe::Replaced).0, Verdict::Backoff);
    }
    assert!(!credentials.is_blocked());
}

#[test]
fn under_a_block_one_looks_each_minute_and_the_others_wait() {
    let mut credentials = blocked();
    assert_eq!(credentials.closed_until(0), Some(MINUTE_MS));
    assert_eq!(
        refused(&mut credentials, 2, Probe::None),
        (Verdict::Block, false),
        "sent before the block"
    );
    assert!(credentials.has_room() && credentials.closed_until(MINUTE_MS).is_none());
    credentials.begin(id(3));
    assert!(
        !credentials.has_room() && credentials.closed_until(MINUTE_MS).is_none(),
        "the others stand in the queue"
    );
    credentials.end(id(3), MINUTE_MS);
    assert_eq!(
        credentials.closed_until(MINUTE_MS),
        Some(2 * MINUTE_MS),
        "it found nothing out"
    );
}

#[test]
fn only_who_was_sent_to_find_out_ends_a_block() {
    let mut credentials = blocked();
    credentials.begin(id(3));
    assert!(!credentials.accepted(id(2)), "sent before the block");
    assert!(credentials.accepted(id(3)));
    assert!(!credentials.is_blocked());
}

#[test]
fn who_looked_in_vain_is_asked_last() {
    let mut credentials = blocked();
    assert!(credentials.looked_in_vain(id(1)) && !credentials.looked_in_vain(id(3)));
    credentials.begin(id(3));
    assert_eq!(refused(&mut credentials, 3, Probe::None), (Verdict::Block, false));
    assert!(credentials.looked_in_vain(id(3)));
}

#[test]
fn a_block_is_news_once_for_each_reason_and_once_when_it_is_over() {
    let mut credentials = Credentials::default();
    let secrets = |why: &str| Cause::Secrets(why.to_owned());
    let refused = |why: &str| Cause::Refused(why.to_owned());
    let news = [
        secrets("no secret"),
        secrets("no secret"),
        secrets("too short"),
        refused("401, request 1"),
        refused("401, request 2"),
    ]
    .map(|cause| credentials.block(cause, 0));
    assert_eq!(news, [true, false, true, true, false]);
    assert!(!credentials.secrets_are_there(), "that is not why");
    credentials.begin(id(1));
    assert_eq!(
        [credentials.accepted(id(1)), credentials.accepted(id(1))],
        [true, false]
    );
    assert!(credentials.block(secrets("no secret"), 0));
    assert_eq!(
        [credentials.secrets_are_there(), credentials.secrets_are_there()],
        [true, false]
    );
}

#[test]
fn after_a_restart_nobody_goes_before_somebody_has_looked() {
    let mut credentials = Credentials::default();
    credentials.was_blocked(Some("the destination answered 401".to_owned()), 40_000, 30_000);
    let why = credentials.blocked().expect("it is blocked").why;
    assert!(why.starts_with("the destination answered 401 (so it was"), "{why}");
    assert_eq!(
        (credentials.closed_until(30_000), credentials.news()),
        (Some(40_000), None)
    );
    assert!(
        credentials.block(Cause::Refused("401".to_owned()), 40_000),
        "told once by each process"
    );
    let mut later = Credentials::default();
    later.was_blocked(None, 40_000, 90_000);
    assert!(
        later.is_blocked() && later.closed_until(90_000).is_none(),
        "whoever comes looks at once"
    );
}

#[test]
fn a_changed_connection_is_looked_at_at_once() {
    let mut credentials = blocked();
    credentials.look_now(5_000);
    assert_eq!(credentials.closed_until(5_000), None);
}

#[test]
fn who_was_refused_while_others_were_accepted_blocks_nothing() {
    let mut credentials = Credentials::default();
    for bad in [1, 2] {
        refused(&mut credentials, bad, Probe::None);
    }
    assert!(!credentials.accepted(id(9)));
    for bad in [1, 2, 1, 2] {
        assert_eq!(refused(&mut credentials, bad, Probe::None), (Verdict::Backoff, false));
        assert!(credentials.refused_alone(id(bad)));
    }
    for fresh in [3, 4] {
        assert_eq!(refused(&mut credentials, fresh, Probe::None).0, Verdict::Backoff);
    }
    // It was about what they asked then; once accepted they speak for the credentials again.
    credentials.accepted(id(1));
    for fresh in [1, 5] {
        assert_eq!(refused(&mut credentials, fresh, Probe::None).0, Verdict::Backoff);
    }
    assert_eq!(refused(&mut credentials, 6, Probe::None), (Verdict::Block, true));
}

#[test]
fn who_brought_a_block_about_is_told_apart_once_another_is_accepted() {
    let mut credentials = Credentials::default();
    for bad in 1..=3 {
        refused(&mut credentials, bad, Probe::None);
    }
    assert!((1..=3).all(|bad| credentials.looked_in_vain(id(bad))));
    credentials.begin(id(9));
    assert!(credentials.accepted(id(9)));
    for bad in [1, 2, 3, 1, 2, 3] {
        assert_eq!(refused(&mut credentials, bad, Probe::Unclear).0, Verdict::Backoff);
    }
    assert!(!credentials.is_blocked());
}

#[test]
fn a_read_without_a_verdict_keeps_a_block_for_three_looks_and_then_a_step_finds_out() {
    let mut credentials = blocked();
    for round in 0..2 {
        for look in 1..=3 {
            let now_ms = (4 * round + look) * MINUTE_MS;
            assert!(credentials.asks_first(), "look {look}");
            credentials.no_verdict(now_ms);
            assert_eq!(credentials.closed_until(now_ms), Some(now_ms + MINUTE_MS));
        }
        assert!(!credentials.asks_first());
    }
    assert!(credentials.asks_first());
}
