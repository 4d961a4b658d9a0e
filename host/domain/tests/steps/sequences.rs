//! Properties over whole sequences of attempts, lookups, crashes, waits and decisions: pairs of attempts would never have
//! shown what C16 shows. The rules are stated a second time in [`World`](crate::world::World), independently of the code.

use crate::world::World;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    /// No request after an unknown without a lookup or an open key window, none by natural key past its bound; no refused
    /// ending, no backoff, no one-click retry in doubt; never more attempts than the policy; one resend after absent; final
    /// states stay final; and the destination counts at most one effect, exactly one where the step says *completed*.
    #[test]
    fn no_sequence_of_events_breaks_the_promise(numbers in prop::collection::vec(any::<u16>(), 0..400)) {
        World::new(numbers).play();
    }
}

/// A property over sequences that never come to the hard places would hold for any code.
#[test]
fn the_sequences_reach_every_way_out() {
    let mut seen = BTreeSet::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..1_500 {
        let numbers = (0..300).map(|_| {
            // xorshift64
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 32) as u16
        });
        let mut world = World::new(numbers.collect());
        world.play();
        seen.append(&mut world.seen);
    }
    let missing: Vec<&str> = [
        "Perform",
        "Lookup",
        "Resend",
        "WaitUntil",
        "completed",
        "failed",
        "cancelled",
        "cancelling",
        "Refused(Denied)",
        "Refused(ConnectorFault)",
        "Refused(Rejected)",
        "AttemptsUsedUp",
        "WaitedTooLong",
        "ToldToWaitTooLong",
        "Doubt(NoWayToAsk)",
        "Doubt(LookupUnclear)",
        "Doubt(Absent)",
        "Doubt(WindowOver)",
        "Doubt(AttemptsUsedUp)",
        "Doubt(Overtaken)",
        "Doubt(Cancelled)",
        "Doubt(WaitedTooLong)",
        "restored",
        "suspect",
        "Doubt(Forgotten)",
        "Doubt(Blocked(RequestChanged))",
        "Doubt(Blocked(PlaceChanged))",
        "Doubt(Blocked(OtherHost))",
    ]
    .into_iter()
    .filter(|way| !seen.contains(*way))
    .collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}
