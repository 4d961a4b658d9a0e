//! Properties over whole sequences of attempts, lookups, crashes, waits and decisions: pairs of attempts would never have
//! shown what C16 shows. The rules are stated a second time in [`World`](crate::world::World), independently of the code.

use crate::world::World;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    /// No request after an unknown without a lookup or an open key window, none by natural key past its bound; no refused
    /// ending, no backoff, no one-click retry in doubt; never more attempts than the policy; one resend after absent; final
    /// states stay final; and the destination counts at most one effect, exactly one where the step says *completed*.
    #[test]
    fn no_sequence_of_events_breaks_the_promise(numbers in prop::collection::vec(any::<u16>(), 0..400)) {
        World::new(numbers).play();
    }
}
