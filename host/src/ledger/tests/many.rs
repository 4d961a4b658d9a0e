//! Ledgers with more than anybody reads at once: what is found in pages, what is counted without reading, where a search
//! stops and how it goes on.

use super::*;

on_both! {
    a_search_stops_at_its_bound_says_so_and_goes_on_until_it_has_seen_all,
    a_search_within_its_bound_has_no_more_to_tell,
    counts_are_what_counting_row_by_row_would_give,
    runs_are_read_a_page_at_a_time_as_they_are_read_one_by_one,
    what_is_under_way_is_found_in_pages_oldest_first,
    what_connections_wait_for_is_told_by_few_of_many_steps,
}

/// A run for each of these keys, oldest first.
async fn runs(house: &House, keys: impl Iterator<Item = String>) -> Vec<Id> {
    let keys: Vec<String> = keys.collect();
    let mut runs = Vec::with_capacity(keys.len());
    for (part, keys) in keys.chunks(1_000).enumerate() {
        // Each part a second later, for ids of the same moment are in no order.
        let received_ms = NOW_MS + 1_000 * i64::try_from(part).unwrap();
        let accepts = keys.iter().map(|key| {
            house.ledger.accept(NewEvent {
                id: new_id(received_ms),
                received_ms,
                steps: vec![new_step(0, "crm", ready())],
                ..house.event(key)
            })
        });
        for accepted in futures::future::join_all(accepts).await {
            match accepted.unwrap() {
                Accepted::New { run, .. } => runs.push(run),
                other => panic!("{other:?}"),
            }
        }
    }
    runs
}

/// Asks on until nothing is left; the runs found, and how many parts it took.
async fn search(house: &House, filter: RunFilter) -> (Vec<RunSummary>, usize) {
    let (mut found, mut parts, mut page) = (Vec::new(), 0, Page::default());
    loop {
        let part = house.ledger.run_list(filter.clone(), page).await.unwrap();
        parts += 1;
        found.extend(part.items);
        assert!(part.stopped.is_none() || part.next.is_some(), "stopped, and no way on");
        match part.next {
            Some(next) => page.after = Some(next),
            None => return (found, parts),
        }
    }
}

async fn a_search_stops_at_its_bound_says_so_and_goes_on_until_it_has_seen_all(house: House) {
    let searched = RUNS_SEARCHED_MAX as usize;
    let keys = (0..2 * searched + 1_000).map(|number| match number {
        7 => "needle".to_owned(),
        _ => format!("straw-{number}"),
    });
    let all = runs(&house, keys).await;

    let filter = RunFilter {
        text: Some("needle".to_owned()),
        ..RunFilter::default()
    };
    let first = house.ledger.run_list(filter.clone(), Page::default()).await.unwrap();
    assert!(first.items.is_empty());
    let stopped = first.stopped.unwrap();
    assert_eq!(
        (stopped.items, stopped.back_to_ms),
        (RUNS_SEARCHED_MAX, first.next.unwrap().made_ms())
    );
    let (found, parts) = search(&house, filter.clone()).await;
    assert_eq!(
        (found.iter().map(|run| run.id).collect::<Vec<_>>(), parts),
        (vec![all[7]], 3)
    );

    // The same where few runs qualify: they alone are looked at.
    for state in [None, Some(run::State::Pending)] {
        let mine = RunFilter {
            flow_id: Some(house.flow),
            state,
            ..RunFilter::default()
        };
        let page = house.ledger.run_list(mine, Page::default()).await.unwrap();
        assert_eq!(
            (page.items.len(), page.stopped),
            (50, None),
            "a full page is no search that stopped"
        );
        let nobodys = RunFilter {
            flow_id: Some(new_id(NOW_MS)),
            state,
            ..RunFilter::default()
        };
        let (found, parts) = search(&house, nobodys).await;
        assert_eq!((found.len(), parts), (0, 3));
    }
    let none_completed = RunFilter {
        state: Some(run::State::Completed),
        ..RunFilter::default()
    };
    assert_eq!(search(&house, none_completed).await.1, 3);
    let in_review = RunFilter {
        state: Some(run::State::NeedsReview),
        ..filter
    };
    let page = house.ledger.run_list(in_review, Page::default()).await.unwrap();
    assert_eq!(
        (page.items.len(), page.next, page.stopped),
        (0, None, None),
        "there is none to look at"
    );
}

async fn a_search_within_its_bound_has_no_more_to_tell(house: House) {
    let all = runs(&house, (0..60).map(|number| format!("A-{number}"))).await;
    let filter = RunFilter {
        text: Some("A-".to_owned()),
        ..RunFilter::default()
    };
    let (found, parts) = search(&house, filter).await;
    assert_eq!((found.len(), parts), (all.len(), 2));
}

async fn counts_are_what_counting_row_by_row_would_give(house: House) {
    let all = runs(&house, (0..2_000).map(|number| format!("A-{number}"))).await;
    for run in &all[..1_500] {
        let step = house.step(*run, 0).await;
        let mut finish = house.finish(*run, StepWrite::new(step.id, 0, completed()), None);
        finish.run_state = Some(run::State::Completed);
        house.ledger.finish(finish).await.unwrap();
    }
    house.ledger.accept(house.event("A-0")).await.unwrap();
    house.ledger.accept(house.event("A-0")).await.unwrap();
    let other = NewEvent {
        fingerprint: [2; 32],
        ..house.event("A-1")
    };
    house.ledger.accept(other).await.unwrap();
    // Kept a while where counting took long.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let counts = house.ledger.counts().await.unwrap();
    assert_eq!((counts.events, counts.duplicates, counts.conflicts), (2_003, 2, 1));
    assert_eq!(
        counts.runs,
        [(run::State::Completed, 1_500), (run::State::Pending, 500)]
    );
    assert_eq!(counts.review, [("conflict".to_owned(), 1)]);
    // Of the newest thousand, half are completed.
    let effects: Vec<_> = counts
        .effects
        .iter()
        .map(|effect| (effect.step.as_str(), effect.completed))
        .collect();
    assert_eq!(
        (effects.as_slice(), counts.effects_in_runs),
        ([("crm", 500)].as_slice(), 1_000)
    );
}

async fn runs_are_read_a_page_at_a_time_as_they_are_read_one_by_one(house: House) {
    let all = runs(&house, (0..RUNS_PER_PAGE).map(|number| format!("A-{number}"))).await;
    let page = house.ledger.runs_load(&all).await.unwrap();
    assert_eq!(page.len(), RUNS_PER_PAGE);
    for run in page {
        let alone = house.ledger.run_load(run.id).await.unwrap().unwrap();
        assert_eq!(format!("{run:?}"), format!("{alone:?}"));
        assert_eq!(run.steps.len(), 1);
    }
    let (two, _) = house.run("two steps").await;
    let some = house.ledger.runs_load(&[new_id(NOW_MS), two]).await.unwrap();
    assert_eq!(
        some.iter().map(|run| (run.id, run.steps.len())).collect::<Vec<_>>(),
        [(two, 2)]
    );
    assert_eq!(
        some[0].steps.iter().map(|step| step.ordinal).collect::<Vec<_>>(),
        [0, 1]
    );
    assert!(house.ledger.runs_load(&[]).await.unwrap().is_empty());
}

async fn what_is_under_way_is_found_in_pages_oldest_first(house: House) {
    let all = runs(&house, (0..50).map(|number| format!("A-{number}"))).await;
    let mut expected = Vec::new();
    for run in all.iter().step_by(5) {
        let step = house.step(*run, 0).await.id;
        house.ledger.intend(house.intent(*run, step, 0, 1)).await.unwrap();
        expected.push(step);
    }
    expected.sort_unstable();
    assert_eq!(
        house.ledger.under_way(None, 3).await.unwrap(),
        [],
        "of a host that lives"
    );
    let house = house.reopen().await;
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = house.ledger.under_way(after, 3).await.unwrap();
        found.extend(page.iter().map(|under_way| under_way.step.id));
        after = found.last().copied();
        if page.len() < 3 {
            break;
        }
    }
    assert_eq!(found, expected);
}

async fn what_connections_wait_for_is_told_by_few_of_many_steps(house: House) {
    let waiting = |until_ms: i64, reason: Wait| Step {
        state: State::Waiting {
            reason,
            until_ms: NOW_MS + until_ms,
        },
        ..ready()
    };
    let all = runs(&house, (0..300).map(|number| format!("A-{number}"))).await;
    for (number, run) in all.iter().enumerate() {
        let reason = if number % 2 == 0 {
            Wait::BreakerOpen
        } else {
            Wait::Timer
        };
        let step = house.step(*run, 0).await.id;
        let write = StepWrite {
            // Later ones were told nothing new.
            last_error: (number < 10).then(|| "away".to_owned()),
            ..StepWrite::new(step, 0, waiting(i64::try_from(number).unwrap(), reason))
        };
        house.ledger.finish(house.finish(*run, write, None)).await.unwrap();
    }
    let expected = ConnectionWait {
        connection: "crm".to_owned(),
        reason: Wait::BreakerOpen,
        until_ms: NOW_MS + 298,
        why: Some("away".to_owned()),
    };
    assert_eq!(
        house.ledger.waits().await.unwrap(),
        [expected],
        "a timer is nobody's but the step's"
    );
}
