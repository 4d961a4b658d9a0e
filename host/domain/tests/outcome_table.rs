//! Every row of "from evidence to outcome" (DESIGN section 3), data in and data out.
#![allow(clippy::unwrap_used)]

use oncegate_domain::doubt::{Finding, FindingReport, LookupSight, judge_lookup};
use oncegate_domain::evidence::{Cut, Evidence, Facts, Report};
use oncegate_domain::outcome::{Outcome, Permanent, Proof, Refusal, Trust, of_read, of_write};

const REPORTS: [Report; 10] = [
    Report::Ok,
    Report::Accepted,
    Report::Rejected,
    Report::Unauthorized,
    Report::Temporary,
    Report::Unsure,
    Report::Cut(Cut::Trap),
    Report::Cut(Cut::Memory),
    Report::Cut(Cut::Cpu),
    Report::Cut(Cut::WallClock),
];

/// A row: the evidence, and the outcome for each report in the order ok, accepted, rejected, unauthorized, temporary,
/// unsure, trap, memory, cpu, wall clock.
type Row = (&'static str, &'static str);

/// `denied`, `fault`, `rejected`, `temp` (refused · temporary), `limit`, `unauth`, `unsent`, `unknown`, `found`, `taken`
/// (accepted), `ok` (confirmed by the answer); one word stands for all ten reports.
fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Confirmed(Proof::Answered(_)) => "ok",
        Outcome::Confirmed(Proof::FoundAlreadyThere) => "found",
        Outcome::Confirmed(Proof::Accepted) => "taken",
        Outcome::Refused(Refusal::Temporary) => "temp",
        Outcome::Refused(Refusal::RateLimited) => "limit",
        Outcome::Refused(Refusal::Unauthorized) => "unauth",
        Outcome::Refused(Refusal::Permanent(Permanent::Denied)) => "denied",
        Outcome::Refused(Refusal::Permanent(Permanent::ConnectorFault)) => "fault",
        Outcome::Refused(Refusal::Permanent(Permanent::Rejected)) => "rejected",
        Outcome::Unsent => "unsent",
        Outcome::Unknown => "unknown",
    }
}

fn facts(text: &str, report: Report) -> Facts {
    let words: Vec<&str> = text.split_whitespace().collect();
    let evidence = match words[0] {
        "none" => Evidence::None,
        "nothing_sent" => Evidence::NothingSent,
        "maybe_sent" => Evidence::MaybeSent,
        status => Evidence::Answered(status.parse().unwrap()),
    };
    Facts {
        evidence,
        denied: words.contains(&"denied"),
        read_answered_2xx: words.contains(&"read"),
        report,
    }
}

fn check(judge: fn(&Facts, &Trust) -> Outcome, trust: &Trust, rows: &[Row]) {
    for (evidence, expected) in rows {
        let outcomes: Vec<&str> = REPORTS
            .iter()
            .map(|report| word(judge(&facts(evidence, *report), trust)))
            .collect();
        let expected: Vec<&str> = expected.split_whitespace().collect();
        let expected = if expected.len() == 1 {
            vec![expected[0]; REPORTS.len()]
        } else {
            expected
        };
        assert_eq!(outcomes, expected, "evidence {evidence}, trust {trust:?}");
    }
}

#[test]
fn each_row_of_the_write_table_holds_with_no_trust_at_all() {
    check(
        of_write,
        &Trust::default(),
        &[
            ("none denied", "denied"),
            ("none denied read", "denied"),
            (
                "none",
                "fault fault rejected rejected unsent unsent fault fault fault unsent",
            ),
            (
                "none read",
                "fault fault rejected rejected unsent unsent fault fault fault unsent",
            ),
            ("nothing_sent", "unsent"),
            ("nothing_sent denied", "unsent"),
            ("maybe_sent", "unknown"),
            ("maybe_sent denied", "unknown"),
            (
                "200",
                "ok taken unknown unknown unknown unknown unknown unknown unknown unknown",
            ),
            (
                "204",
                "ok taken unknown unknown unknown unknown unknown unknown unknown unknown",
            ),
            (
                "299",
                "ok taken unknown unknown unknown unknown unknown unknown unknown unknown",
            ),
            (
                "200 denied",
                "ok taken unknown unknown unknown unknown unknown unknown unknown unknown",
            ),
            ("401", "unauth"),
            (
                "403",
                "fault fault rejected unauth rejected rejected rejected rejected rejected rejected",
            ),
            ("425", "limit"),
            ("429", "limit"),
            ("409", "unknown"),
            (
                "400",
                "fault unknown rejected rejected rejected unknown unknown unknown unknown unknown",
            ),
            (
                "404",
                "fault unknown rejected rejected rejected unknown unknown unknown unknown unknown",
            ),
            (
                "422",
                "fault unknown rejected rejected rejected unknown unknown unknown unknown unknown",
            ),
            (
                "499",
                "fault unknown rejected rejected rejected unknown unknown unknown unknown unknown",
            ),
            ("408", "unknown"),
            ("100", "unknown"),
            ("103", "unknown"),
            ("199", "unknown"),
            ("300", "unknown"),
            ("301", "unknown"),
            ("304", "unknown"),
            ("399", "unknown"),
            ("500", "unknown"),
            ("503", "unknown"),
            ("599", "unknown"),
            ("0", "unknown"),
            ("600", "unknown"),
            ("999", "unknown"),
        ],
    );
}

#[test]
fn each_row_of_the_write_table_holds_with_what_an_operator_may_approve() {
    let trust = Trust {
        confirms: vec![404, 409, 500, 301],
        refused_before_effect: vec![503, 200, 429, 401, 403],
        absent_on: vec![],
        errors_in_2xx_refused: true,
        may_find: true,
    };
    check(
        of_write,
        &trust,
        &[
            ("none denied read", "denied"),
            (
                "none",
                "fault fault rejected rejected unsent unsent fault fault fault unsent",
            ),
            (
                "none read",
                "found fault rejected rejected unsent unsent fault fault fault unsent",
            ),
            // A 2xx is never a refusal, whatever was approved.
            (
                "200",
                "ok taken rejected rejected unknown unknown unknown unknown unknown unknown",
            ),
            (
                "404",
                "ok unknown rejected rejected rejected unknown unknown unknown unknown unknown",
            ),
            (
                "409",
                "ok unknown unknown unknown unknown unknown unknown unknown unknown unknown",
            ),
            (
                "422",
                "fault unknown rejected rejected rejected unknown unknown unknown unknown unknown",
            ),
            ("503", "temp"),
            ("403", "temp"),
            ("401", "unauth"),
            ("429", "limit"),
            // Only a 4xx can be approved as a proof.
            ("500", "unknown"),
            ("301", "unknown"),
            ("maybe_sent read", "unknown"),
            ("nothing_sent read", "unsent"),
        ],
    );
}

#[test]
fn reads_know_no_unknown() {
    let trust = Trust {
        confirms: vec![404],
        refused_before_effect: vec![503],
        ..Trust::default()
    };
    check(
        of_read,
        &trust,
        &[
            ("none denied", "denied"),
            (
                "none",
                "fault fault rejected rejected unsent unsent fault fault fault unsent",
            ),
            ("nothing_sent", "unsent"),
            ("maybe_sent", "temp"),
            ("200", "ok fault rejected unauth temp temp fault fault fault temp"),
            (
                "200 denied",
                "ok fault rejected unauth temp temp fault fault fault temp",
            ),
            ("404", "ok fault rejected unauth temp temp fault fault fault temp"),
            ("422", "fault fault rejected unauth temp temp fault fault fault temp"),
            ("500", "fault fault rejected unauth temp temp fault fault fault temp"),
            ("503", "temp"),
            ("401", "unauth"),
            ("403", "fault fault rejected unauth temp temp fault fault fault temp"),
            ("429", "limit"),
            ("425", "limit"),
        ],
    );
}

/// From least to most cautious, as far as a second effect or a lost one is concerned.
fn caution(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Confirmed(_) => 0,
        Outcome::Refused(_) | Outcome::Unsent => 1,
        Outcome::Unknown => 2,
    }
}

/// What the evidence alone allows to believe at most, without any report.
fn least_caution(evidence: Evidence, trust: &Trust, read_answered_2xx: bool) -> u8 {
    match evidence {
        Evidence::None if trust.may_find && read_answered_2xx => 0,
        Evidence::None | Evidence::NothingSent => 1,
        Evidence::MaybeSent => 2,
        Evidence::Answered(200..=299) => 0,
        Evidence::Answered(401 | 403 | 425 | 429) => 1,
        Evidence::Answered(status) if trust.refused_before_effect.contains(&status) => 1,
        Evidence::Answered(408) => 2,
        Evidence::Answered(status @ 400..=499) if trust.confirms.contains(&status) => 0,
        Evidence::Answered(409) => 2,
        Evidence::Answered(400..=499) => 1,
        Evidence::Answered(_) => 2,
    }
}

#[test]
fn a_report_never_makes_an_outcome_less_cautious_than_the_evidence_allows() {
    let trusts = [
        Trust::default(),
        Trust {
            confirms: vec![409, 404],
            refused_before_effect: vec![503, 507],
            ..Trust::default()
        },
        Trust {
            errors_in_2xx_refused: true,
            may_find: true,
            ..Trust::default()
        },
    ];
    let evidence = [Evidence::None, Evidence::NothingSent, Evidence::MaybeSent]
        .into_iter()
        .chain((0..=1000).map(Evidence::Answered));
    for evidence in evidence {
        for trust in &trusts {
            for (report, denied, read) in REPORTS.into_iter().flat_map(|report| {
                [(false, false), (false, true), (true, false), (true, true)].map(|(d, r)| (report, d, r))
            }) {
                let facts = Facts {
                    evidence,
                    denied,
                    read_answered_2xx: read,
                    report,
                };
                let outcome = of_write(&facts, trust);
                assert!(
                    caution(outcome) >= least_caution(evidence, trust, read),
                    "{facts:?} {trust:?}: {outcome:?}"
                );
                // Only ok (or accepted) can confirm, and a refusal out of a 2xx needs the operator's word.
                if let Outcome::Confirmed(_) = outcome {
                    assert!(matches!(report, Report::Ok | Report::Accepted), "{facts:?}");
                }
                if let (Outcome::Refused(_), Evidence::Answered(200..=299)) = (outcome, evidence) {
                    assert!(trust.errors_in_2xx_refused, "{facts:?}");
                }
                assert_ne!(of_read(&facts, trust), Outcome::Unknown);
            }
        }
    }
}

#[test]
fn evidence_that_is_stronger_stands() {
    assert!(Evidence::None < Evidence::NothingSent);
    assert!(Evidence::NothingSent < Evidence::MaybeSent);
    assert!(Evidence::MaybeSent < Evidence::Answered(0));
}

#[test]
fn a_lookup_counts_only_when_the_host_saw_the_destination_answer() {
    let trust = Trust {
        absent_on: vec![404],
        ..Trust::default()
    };
    let judged = |report, statuses: &[u16]| judge_lookup(report, LookupSight::of(statuses, false, &trust));
    for (statuses, found, absent) in [
        (&[][..], Finding::Unsure, Finding::Unsure),
        (&[200][..], Finding::Found, Finding::Absent),
        (&[204][..], Finding::Found, Finding::Absent),
        (&[404][..], Finding::Unsure, Finding::Absent),
        (&[410][..], Finding::Unsure, Finding::Unsure),
        (&[500, 301, 429][..], Finding::Unsure, Finding::Unsure),
        (&[500, 200][..], Finding::Found, Finding::Absent),
    ] {
        assert_eq!(judged(FindingReport::Found, statuses), found, "{statuses:?}");
        assert_eq!(judged(FindingReport::Absent, statuses), absent, "{statuses:?}");
        assert_eq!(judged(FindingReport::Unsure, statuses), Finding::Unsure, "{statuses:?}");
    }
}

#[test]
fn a_lookup_that_was_denied_a_request_proves_nothing_whatever_it_says() {
    let trust = Trust {
        absent_on: vec![404],
        ..Trust::default()
    };
    for statuses in [&[][..], &[200], &[404], &[200; 16]] {
        let saw = LookupSight::of(statuses, true, &trust);
        for report in [FindingReport::Found, FindingReport::Absent, FindingReport::Unsure] {
            assert_eq!(judge_lookup(report, saw), Finding::Unsure, "{report:?} {statuses:?}");
        }
    }
}
