//! Taking events in: once, whatever comes how often.

use super::*;

on_both! {
    an_accepted_event_is_all_there,
    the_same_event_again_is_counted_and_not_executed,
    a_duplicate_of_a_finished_run_leads_to_its_result,
    the_same_key_at_the_same_time_makes_one_run,
    another_content_under_a_used_key_is_kept_for_a_person,
    a_fingerprint_that_covers_nothing_makes_no_conflict,
    the_same_signed_bytes_under_another_key_are_the_same_event,
    whatever_comes_again_together_is_counted_each_time,
    one_failing_command_fails_alone,
    what_was_accepted_survives_a_host_that_never_closed,
    runs_are_listed_newest_first_in_pages,
}

async fn an_accepted_event_is_all_there(house: House) {
    let (run, steps) = house.run("A-1").await;
    let stored = house.ledger.run_load(run).await.unwrap().unwrap();
    assert_eq!(
        (stored.id, stored.flow_id, stored.flow_revision, stored.key.as_str()),
        (run, house.flow, 1, "A-1")
    );
    assert_eq!(stored.created_ms, NOW_MS);
    assert_eq!(stored.event.body, raw(b"A-1"));
    assert_eq!(stored.event.headers["x-id"], "7");
    assert_eq!(stored.steps.iter().map(|step| step.id).collect::<Vec<_>>(), steps);
    assert_eq!(
        (stored.steps[0].state.clone(), stored.steps[1].state.clone()),
        (ready(), Step::new())
    );
    assert_eq!((stored.steps[0].due_ms, stored.steps[1].due_ms), (Some(NOW_MS), None));
    assert_eq!(
        (stored.steps[0].version, stored.steps[0].epoch),
        (0, house.ledger.epoch())
    );
    assert!(house.ledger.run_load(steps[0]).await.unwrap().is_none());
}

async fn the_same_event_again_is_counted_and_not_executed(house: House) {
    let (first, second) = (house.event("A-1"), house.event("A-1"));
    let ids = [first.id, second.id];
    let Accepted::New { run, event, .. } = house.ledger.accept(first).await.unwrap() else {
        panic!()
    };
    let again = house.ledger.accept(second).await.unwrap();
    assert!(
        matches!(again, Accepted::Duplicate { run: first, .. } if first == run),
        "{again:?}"
    );
    let detail = house.ledger.run_show(run).await.unwrap().unwrap();
    assert_eq!(
        (event, detail.event.id),
        (ids[0], ids[0]),
        "the event of the run stays the first"
    );
    let listed: Vec<_> = detail.deliveries.iter().map(|delivery| delivery.id).collect();
    assert_eq!(listed, ids);
    assert_eq!(detail.run.duplicates, 1);
    let kinds: Vec<_> = detail.deliveries.iter().map(|delivery| delivery.kind).collect();
    assert_eq!(kinds, [DeliveryKind::First, DeliveryKind::Duplicate]);
    assert_eq!(detail.steps.len(), 2);
    let counts = house.ledger.counts().await.unwrap();
    assert_eq!((counts.events, counts.duplicates, counts.conflicts), (2, 1, 0));
}

async fn a_duplicate_of_a_finished_run_leads_to_its_result(house: House) {
    let mut event = house.event("A-1");
    event.steps.truncate(1);
    let Accepted::New { run, steps, .. } = house.ledger.accept(event.clone()).await.unwrap() else {
        panic!()
    };
    let write = StepWrite {
        output: Some(serde_json::json!({"id": 7}).into()),
        ..StepWrite::new(steps[0], 0, completed())
    };
    let finish = house.finish(run, write, Some(confirmed(1, false)));
    house
        .ledger
        .finish(Finish {
            run_state: Some(run::State::Completed),
            ..finish
        })
        .await
        .unwrap();
    let expected = serde_json::json!({"crm": {"id": 7}});
    let again = NewEvent {
        id: new_id(NOW_MS),
        ..event
    };
    let again = house.ledger.accept(again).await.unwrap();
    let state = run::State::Completed;
    assert_eq!(again, Accepted::Duplicate { run, state });
    let result = house.ledger.run_result(run).await.unwrap().unwrap();
    assert!(result.finished);
    assert_eq!((result.state, result.outputs), (state, expected));
}

async fn the_same_key_at_the_same_time_makes_one_run(house: House) {
    let accept = || house.ledger.accept(house.event("A-1"));
    let verdicts = futures::future::join_all((0..DUPLICATES_COUNTED_MAX).map(|_| accept())).await;
    let mut new = 0;
    let mut runs = std::collections::HashSet::new();
    for verdict in verdicts {
        match verdict.unwrap() {
            Accepted::New { run, .. } => {
                new += 1;
                runs.insert(run);
            }
            Accepted::Duplicate { run, .. } => drop(runs.insert(run)),
            Accepted::Conflict { .. } => panic!("conflict"),
        }
    }
    assert_eq!((new, runs.len()), (1, 1));
    let counts = house.ledger.counts().await.unwrap();
    let duplicates = DUPLICATES_COUNTED_MAX - 1;
    assert_eq!((counts.events, counts.duplicates), (duplicates + 1, duplicates));
    assert_eq!(counts.runs.iter().map(|(_, runs)| runs).sum::<u64>(), 1);
    let run = *runs.iter().next().unwrap();
    let shown = async || house.ledger.run_show(run).await.unwrap().unwrap().run.duplicates;
    assert_eq!(shown().await, duplicates);
    for _ in 0..2 {
        accept().await.unwrap();
    }
    assert_eq!(shown().await, DUPLICATES_COUNTED_MAX, "and not one more");
}

async fn another_content_under_a_used_key_is_kept_for_a_person(house: House) {
    let (run, _) = house.run("A-1").await;
    let other = || NewEvent {
        fingerprint: [2; 32],
        body: RawBody {
            encoding: ContentEncoding::Gzip,
            ..raw(b"as packed")
        },
        ..house.event("A-1")
    };
    let Accepted::Conflict {
        run: holder,
        event,
        item,
    } = house.ledger.accept(other()).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(holder, run);
    let detail = house.ledger.review_show(item).await.unwrap().unwrap();
    assert_eq!(detail.item.subject, ReviewSubject::Conflict { event });
    assert_eq!((detail.item.version, detail.item.closed), (1, None));
    assert_eq!(detail.conflicting.unwrap().body, other().body);
    // The very same conflict again is the same item.
    let again = house.ledger.accept(other()).await.unwrap();
    assert_eq!(again, Accepted::Conflict { run, event, item });
    let third = NewEvent {
        fingerprint: [3; 32],
        ..house.event("A-1")
    };
    assert!(
        matches!(house.ledger.accept(third).await.unwrap(), Accepted::Conflict { item: other, .. } if other != item)
    );
    assert_eq!(
        house
            .ledger
            .review_list(false, Page::default())
            .await
            .unwrap()
            .items
            .len(),
        2
    );
}

async fn a_fingerprint_that_covers_nothing_makes_no_conflict(house: House) {
    let (run, _) = house.run("A-1").await;
    let other = NewEvent {
        fingerprint: [2; 32],
        fingerprint_covers: false,
        ..house.event("A-1")
    };
    let again = house.ledger.accept(other).await.unwrap();
    assert!(matches!(again, Accepted::Duplicate { run: first, .. } if first == run));
}

async fn the_same_signed_bytes_under_another_key_are_the_same_event(house: House) {
    let signed = |key: &str| NewEvent {
        signed_digest: Some([9; 32]),
        ..house.event(key)
    };
    // In one group as well.
    let (first, second) = tokio::join!(house.ledger.accept(signed("A-1")), house.ledger.accept(signed("A-2")));
    let Accepted::New { run, .. } = first.unwrap() else {
        panic!()
    };
    assert!(matches!(second.unwrap(), Accepted::Duplicate { run: same, .. } if same == run));
    let third = house.ledger.accept(signed("A-3")).await.unwrap();
    assert!(matches!(third, Accepted::Duplicate { run: same, .. } if same == run));
    let other = NewEvent {
        signed_digest: Some([8; 32]),
        ..house.event("A-4")
    };
    assert!(matches!(
        house.ledger.accept(other).await.unwrap(),
        Accepted::New { .. }
    ));
}

async fn whatever_comes_again_together_is_counted_each_time(house: House) {
    let signed = |key: &str, digest| NewEvent {
        signed_digest: Some([digest; 32]),
        ..house.event(key)
    };
    let Accepted::New { run, .. } = house.ledger.accept(signed("A-1", 1)).await.unwrap() else {
        panic!()
    };
    house.run("A-2").await;
    // Once by the key and once by the bytes, in one group: two rows of it are about one run.
    let again = [
        house.event("A-1"),
        signed("B-1", 1),
        house.event("A-2"),
        house.event("A-3"),
        house.event("A-1"),
        signed("B-2", 1),
    ];
    let verdicts = futures::future::join_all(again.map(|event| house.ledger.accept(event))).await;
    let new = |verdict: &Result<Accepted>| matches!(verdict.as_ref().unwrap(), Accepted::New { .. });
    assert_eq!(
        verdicts.iter().map(new).collect::<Vec<_>>(),
        [false, false, false, true, false, false]
    );
    let detail = house.ledger.run_show(run).await.unwrap().unwrap();
    assert_eq!((detail.run.duplicates, detail.deliveries.len()), (4, 5));
    let counts = house.ledger.counts().await.unwrap();
    assert_eq!((counts.events, counts.duplicates), (8, 5));
}

async fn one_failing_command_fails_alone(house: House) {
    let first = house.event("first");
    // Another event under the id of one that is there.
    let bad = NewEvent {
        id: first.id,
        ..house.event("bad")
    };
    house.ledger.accept(first).await.unwrap();
    let good: Vec<_> = (0..20).map(|number| house.event(&format!("A-{number}"))).collect();
    let good = futures::future::join_all(good.into_iter().map(|event| house.ledger.accept(event)));
    let (good, bad) = tokio::join!(good, house.ledger.accept(bad));
    assert!(matches!(bad.unwrap_err(), LedgerError::Invalid { .. }));
    assert!(good.iter().all(|verdict| matches!(verdict, Ok(Accepted::New { .. }))));
    assert_eq!(house.ledger.counts().await.unwrap().events, 21);
    assert!(house.ledger.writer_counts().rollbacks >= 1);
}

async fn what_was_accepted_survives_a_host_that_never_closed(house: House) {
    let (run, _) = house.run("A-1").await;
    let epoch = house.ledger.epoch();
    let secret = house.ledger.installation().secret.0;
    let house = house.reopen().await;
    assert_eq!(house.ledger.epoch(), epoch + 1);
    assert_eq!(house.ledger.installation().secret.0, secret);
    let again = house.ledger.accept(house.event("A-1")).await.unwrap();
    assert!(matches!(again, Accepted::Duplicate { run: first, .. } if first == run));
    let due = house.due().await;
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].run, due[0].epoch), (run, epoch));
}

async fn runs_are_listed_newest_first_in_pages(house: House) {
    let mut runs = Vec::new();
    for number in 0..5 {
        runs.push(house.run(&format!("A-{number}")).await.0);
    }
    runs.sort();
    runs.reverse();
    let list = |filter: RunFilter, after, limit| house.ledger.run_list(filter, Page { after, limit });
    let all = RunFilter::default;
    let first = list(all(), None, 2).await.unwrap();
    assert_eq!(first.items.iter().map(|run| run.id).collect::<Vec<_>>(), runs[..2]);
    let second = list(all(), first.next, 2).await.unwrap();
    assert_eq!(second.items.iter().map(|run| run.id).collect::<Vec<_>>(), runs[2..4]);
    let third = list(all(), second.next, 2).await.unwrap();
    assert_eq!((third.items.len(), third.next), (1, None));

    let by = |text: &str| RunFilter {
        text: Some(text.into()),
        ..all()
    };
    assert_eq!(list(by("A-3"), None, 9).await.unwrap().items.len(), 1);
    assert_eq!(list(by("№ A"), None, 9).await.unwrap().items.len(), 5);
    assert_eq!(list(by("A_3"), None, 9).await.unwrap().items.len(), 0);
    let state = |state| RunFilter {
        state: Some(state),
        ..all()
    };
    assert_eq!(list(state(run::State::Pending), None, 9).await.unwrap().items.len(), 5);
    assert_eq!(
        list(state(run::State::Completed), None, 9).await.unwrap().items.len(),
        0
    );
    let flow = |flow| RunFilter {
        flow_id: Some(flow),
        ..all()
    };
    assert_eq!(list(flow(house.flow), None, 9).await.unwrap().items[0].flow, "lead");
    assert_eq!(list(flow(runs[0]), None, 9).await.unwrap().items.len(), 0);
}
