//! Evidence that comes after its attempt was given up.

use super::people::{decision, reviewed};
use super::*;

on_both! {
    late_evidence_is_kept_and_a_person_must_look_again,
    only_evidence_that_proves_an_effect_calls_the_owner,
}

pub(super) fn late(house: &House, run: Id, attempt: AttemptId) -> LateEvidence {
    LateEvidence {
        run,
        attempt,
        epoch: house.ledger.epoch(),
        evidence: Evidence::Answered(200),
        status: Some(200),
        outcome: Some(Outcome::Confirmed(Proof::Answered(200))),
        output: Some(serde_json::json!({ "id": 7 })),
        reference: Some("crm-7".into()),
        at_ms: NOW_MS + 3,
    }
}

async fn only_evidence_that_proves_an_effect_calls_the_owner(house: House) {
    let (run, steps, _) = reviewed(&house, "A-1").await;
    let attempt = AttemptId {
        step: steps[0],
        number: 1,
    };
    for outcome in [
        None,
        Some(Outcome::Unknown),
        Some(Outcome::Unsent),
        Some(Outcome::Confirmed(Proof::Accepted)),
    ] {
        let evidence = LateEvidence {
            outcome,
            ..late(&house, run, attempt)
        };
        assert_eq!(house.ledger.late_evidence(evidence).await.unwrap(), None, "{outcome:?}");
        assert!(house.due().await.is_empty(), "{outcome:?}");
    }
    let owner = house.ledger.late_evidence(late(&house, run, attempt)).await.unwrap();
    assert_eq!(owner, Some(house.ledger.epoch()));
    assert_eq!(
        house.due().await.iter().map(|due| due.id).collect::<Vec<_>>(),
        [steps[0]]
    );
    // One that does not wait for a person has its time, and whoever begins it then reads the evidence.
    let (run, steps) = house.run("A-2").await;
    house.ledger.intend(house.intent(run, steps[0], 0, 1)).await.unwrap();
    let attempt = AttemptId {
        step: steps[0],
        number: 1,
    };
    assert_eq!(
        house.ledger.late_evidence(late(&house, run, attempt)).await.unwrap(),
        None
    );
}

async fn late_evidence_is_kept_and_a_person_must_look_again(house: House) {
    let (run, steps, item) = reviewed(&house, "A-1").await;
    let late = |number| late(&house, run, AttemptId { step: steps[0], number });
    house.ledger.late_evidence(late(1)).await.unwrap();
    assert!(matches!(
        house.ledger.late_evidence(late(9)).await.unwrap_err(),
        LedgerError::NotFound { .. }
    ));
    let attempt = &house.ledger.run_show(run).await.unwrap().unwrap().steps[0].1[0];
    assert_eq!(attempt.late, Some((Evidence::Answered(200), NOW_MS + 3)));
    let found = house.ledger.late_found(steps[0]).await.unwrap().unwrap();
    assert_eq!((found.number, found.reference.as_deref()), (1, Some("crm-7")));
    assert_eq!(found.output, Some(serde_json::json!({ "id": 7 })));
    assert_eq!(house.ledger.late_found(steps[1]).await.unwrap(), None);
    let retry = decision(&item, StepWrite::new(steps[0], 1, ready()), PersonAction::Retry);
    assert!(matches!(
        house.ledger.decide(retry).await.unwrap_err(),
        LedgerError::Stale { .. }
    ));
    // The host settles it, which closes the item.
    let settled = house.finish(run, StepWrite::new(steps[0], 1, completed()), None);
    house.ledger.finish(settled).await.unwrap();
    let closed = house.ledger.run_show(run).await.unwrap().unwrap().reviews[0]
        .closed
        .clone()
        .unwrap();
    assert_eq!((closed.action.as_str(), closed.who.as_str()), ("settled", "host"));
}
