//! Whom people want forgotten: found by their words, erased now, or told why not.

use super::*;

on_both! {
    whoever_is_to_be_forgotten_is_found_by_all_words_and_no_other,
    what_cannot_be_forgotten_yet_says_why,
    a_conflicting_event_is_forgotten_once_somebody_decided,
}

fn words(words: &[(&str, &str)]) -> Vec<Word> {
    let word = |(name, value): &(&str, &str)| Word {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    words.iter().map(word).collect()
}

fn forget(runs: &[Id], events: &[Id]) -> Forget {
    Forget {
        runs: runs.to_vec(),
        events: events.to_vec(),
        who: "ada".into(),
        why: "customer hmac:xyz".into(),
        at_ms: NOW_MS + 7,
    }
}

async fn whoever_is_to_be_forgotten_is_found_by_all_words_and_no_other(house: House) {
    let mut hers = vec![over(&house, "A", WORD).await, over(&house, "B", WORD).await];
    hers.sort_unstable();
    let bobs = over(&house, "C", "bob").await;
    over(&house, "D", &WORD.to_uppercase()).await;
    over(&house, "E", &format!("{WORD}.evil")).await;
    let found = async |asked: &[(&str, &str)]| house.ledger.runs_about(&words(asked), None).await.unwrap();
    let about_her = found(&[("customer", WORD)]).await;
    assert_eq!((about_her.runs.as_slice(), about_her.looked_at), (hers.as_slice(), 5));
    assert!(!about_her.more);
    assert_eq!(found(&[("customer", WORD), ("shop", "north")]).await.runs, hers);
    assert!(found(&[("customer", WORD), ("shop", "south")]).await.runs.is_empty());
    assert!(found(&[("shop", WORD)]).await.runs.is_empty());

    let could = house.ledger.could_forget(&hers).await.unwrap();
    assert_eq!(could.runs.len(), 2);
    assert_eq!(erased_ms(&house, hers[0]).await, None, "asking changes nothing");
    let done = house.ledger.forget(forget(&hers, &[])).await.unwrap();
    assert_eq!((done.runs.len(), done.kept.len()), (2, 0));
    let shown = house.ledger.run_show(hers[0]).await.unwrap().unwrap();
    let line = &shown.audit[0].entry;
    assert_eq!((line.what.as_str(), line.who.as_str()), ("run.forget", "ada"));
    assert_eq!(line.why, "customer hmac:xyz");
    assert_eq!(shown.run.erased_ms, Some(NOW_MS + 7));
    assert_eq!(erased_ms(&house, bobs).await, None);
    // What is erased is not found again, and erasing it again is nothing.
    assert!(found(&[("customer", WORD)]).await.runs.is_empty());
    assert!(house.ledger.forget(forget(&hers, &[])).await.unwrap().runs.is_empty());
    let again = house.ledger.accept(about(&house, "A", WORD)).await.unwrap();
    assert!(matches!(again, Accepted::Duplicate { .. }), "{again:?}");
    // Retention passes by what is erased already.
    assert_eq!(erase(&house, old(91)).await, 3);
    assert_eq!(erased_ms(&house, hers[0]).await, Some(NOW_MS + 7));
}

async fn what_cannot_be_forgotten_yet_says_why(house: House) {
    let (pending, _) = accepted(&house, about(&house, "pending", WORD)).await;
    let (in_doubt, steps) = accepted(&house, about(&house, "doubt", WORD)).await;
    house
        .ledger
        .intend(house.intent(in_doubt, steps[0], 0, 1))
        .await
        .unwrap();
    let contested = over(&house, "contested", WORD).await;
    let (event, _) = conflict(&house, "contested", "bob", 2).await;
    let runs = [pending, in_doubt, contested];
    let mut could = house.ledger.could_forget(&runs).await.unwrap().kept;
    let mut done = house.ledger.forget(forget(&runs, &[event])).await.unwrap();
    let mut expected = vec![
        (pending, Kept::NotOver),
        (in_doubt, Kept::InDoubt),
        (contested, Kept::InReview),
    ];
    for kept in [&mut could, &mut done.kept, &mut expected] {
        kept.sort_unstable_by_key(|(run, _)| *run);
    }
    assert_eq!((&could, &done.kept), (&expected, &expected));
    assert!(done.runs.is_empty() && done.events.is_empty());
    for run in runs {
        assert_eq!(erased_ms(&house, run).await, None);
    }
}

async fn a_conflicting_event_is_forgotten_once_somebody_decided(house: House) {
    let run = over(&house, "A", "bob").await;
    let (event, item) = conflict(&house, "A", WORD, 2).await;
    let (first, last) = (Id::from_bytes([0; 16]), Id::from_bytes([0xff; 16]));
    let found = house.ledger.conflicting_events(first, last).await.unwrap();
    assert_eq!(
        (found[0].event, found[0].item, found[0].run, found[0].is_open),
        (event, item, run, true)
    );
    house.ledger.decide_conflict(decided(item, NOW_MS, None)).await.unwrap();
    let found = house.ledger.conflicting_events(first, last).await.unwrap();
    assert_eq!((found.len(), found[0].is_open), (1, false));
    assert!(house.ledger.conflicting_events(event, last).await.unwrap().is_empty());
    let done = house.ledger.forget(forget(&[], &[event])).await.unwrap();
    assert_eq!(done.events, [event]);
    assert!(house.ledger.conflicting_events(first, last).await.unwrap().is_empty());
    assert_eq!(house.ledger.event(event).await.unwrap().erased_ms, Some(NOW_MS + 7));
    assert_eq!(erased_ms(&house, run).await, None, "the run is about somebody else");
    assert!(all_that_is_stored(&house).await.contains("bob"));
}
