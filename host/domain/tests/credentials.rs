//! What a 401 is about (DESIGN section 4), row by row.

use oncegate_domain::credentials::{Probe, Shown, Verdict, after_refusal, probe_said, shown};
use oncegate_domain::evidence::Evidence;
use oncegate_domain::outcome::{Outcome, Permanent, Proof, Refusal};

#[test]
fn each_401_is_a_block_a_matter_of_its_step_or_tried_again() {
    // The probe, the runs refused in a row (this one included), what follows.
    for (probe, runs, verdict) in [
        (Probe::Refused, 1, Verdict::Block),
        (Probe::Refused, 3, Verdict::Block),
        (Probe::Accepted, 1, Verdict::AboutStep),
        (Probe::Accepted, 9, Verdict::AboutStep),
        (Probe::Replaced, 1, Verdict::Backoff),
        (Probe::Replaced, 9, Verdict::Backoff),
        (Probe::None, 1, Verdict::Backoff),
        (Probe::None, 2, Verdict::Backoff),
        (Probe::None, 3, Verdict::Block),
        (Probe::Unclear, 1, Verdict::Backoff),
        (Probe::Unclear, 2, Verdict::Backoff),
        (Probe::Unclear, 3, Verdict::Block),
    ] {
        assert_eq!(after_refusal(false, probe, runs), verdict, "{probe:?}, {runs} runs");
        assert_eq!(after_refusal(true, probe, runs), Verdict::Block, "blocked already");
    }
}

#[test]
fn only_a_2xx_of_the_probe_says_that_the_credentials_work() {
    for (evidence, probe) in [
        (Evidence::Answered(200), Probe::Accepted),
        (Evidence::Answered(204), Probe::Accepted),
        (Evidence::Answered(401), Probe::Refused),
        (Evidence::Answered(302), Probe::Unclear),
        (Evidence::Answered(403), Probe::Unclear),
        (Evidence::Answered(404), Probe::Unclear),
        (Evidence::Answered(408), Probe::Away),
        (Evidence::Answered(429), Probe::Away),
        (Evidence::Answered(500), Probe::Away),
        (Evidence::Answered(503), Probe::Away),
        (Evidence::MaybeSent, Probe::Away),
        (Evidence::NothingSent, Probe::Away),
        (Evidence::None, Probe::Away),
    ] {
        assert_eq!(probe_said(evidence), probe, "{evidence:?}");
    }
}

#[test]
fn answers_show_whether_the_destination_knew_who_asked() {
    let unauthorized = Some(Outcome::Refused(Refusal::Unauthorized));
    let rejected = Some(Outcome::Refused(Refusal::Permanent(Permanent::Rejected)));
    let done = Some(Outcome::Confirmed(Proof::Answered(201)));
    for (statuses, outcome, expected) in [
        (&[][..], None, Shown::Nothing),
        (&[], Some(Outcome::Unsent), Shown::Nothing),
        (&[201], done, Shown::Accepted),
        (&[422], rejected, Shown::Accepted),
        (&[404], None, Shown::Accepted),
        (&[401], unauthorized, Shown::Refused),
        (&[403], unauthorized, Shown::Refused),
        (&[403], rejected, Shown::Nothing),
        (&[401], rejected, Shown::Refused),
        (&[401], None, Shown::Refused),
        (&[401, 201], done, Shown::Accepted),
        (&[200, 401], unauthorized, Shown::Refused),
        (&[429], None, Shown::Nothing),
        (&[503], None, Shown::Nothing),
        (&[302], None, Shown::Nothing),
    ] {
        assert_eq!(shown(statuses, outcome), expected, "{statuses:?} {outcome:?}");
    }
}
