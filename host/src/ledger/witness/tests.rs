use super::*;

fn seen() -> Witness {
    Witness {
        installation: Id::from_bytes([1; 16]),
        incarnation: 7,
        epoch: 3,
        started_ms: 1_000,
        position: 40,
        in_order: false,
        server: Some(Server {
            system: Some("one".into()),
            timeline: Some(1),
        }),
    }
}

fn known() -> Known {
    Known {
        installation: Id::from_bytes([1; 16]),
        incarnation: 7,
        incarnation_is_known: true,
        position: Some(40),
        server: seen().server,
    }
}

#[test]
fn a_file_that_lags_behind_the_ledger_is_no_sign_of_anything() {
    assert_eq!(judge(&seen(), &known()), Judged::Remembers);
    let further = Known {
        position: Some(41),
        ..known()
    };
    assert_eq!(judge(&seen(), &further), Judged::Remembers);
}

#[test]
fn a_ledger_that_does_not_know_what_was_seen_has_forgotten_it() {
    let forgot = |known: &Known| matches!(judge(&seen(), known), Judged::Forgot(_));
    assert!(forgot(&Known {
        position: Some(39),
        ..known()
    }));
    assert!(forgot(&Known {
        position: None,
        ..known()
    }));
    assert!(forgot(&Known {
        incarnation: 6,
        incarnation_is_known: false,
        ..known()
    }));
}

#[test]
fn what_somebody_has_noticed_before_is_not_noticed_again() {
    let later = Known {
        incarnation: 8,
        position: None,
        ..known()
    };
    assert_eq!(judge(&seen(), &later), Judged::Remembers);
}

#[test]
fn the_ledger_of_another_installation_is_told() {
    let other = Known {
        installation: Id::from_bytes([2; 16]),
        ..known()
    };
    assert_eq!(judge(&seen(), &other), Judged::Another);
}

#[test]
fn another_server_is_trusted_only_where_the_last_commit_is_known_to_be_there() {
    let promoted = Known {
        server: Some(Server {
            system: Some("one".into()),
            timeline: Some(2),
        }),
        ..known()
    };
    assert!(matches!(judge(&seen(), &promoted), Judged::Forgot(_)));
    let in_order = Witness {
        in_order: true,
        ..seen()
    };
    assert_eq!(judge(&in_order, &promoted), Judged::Remembers);
    // A server that does not tell who it is tells nothing by that.
    let silent = Known {
        server: Some(Server::default()),
        ..known()
    };
    assert_eq!(judge(&seen(), &silent), Judged::Remembers);
}

#[test]
fn it_is_read_as_it_was_written_and_one_that_cannot_be_read_is_no_missing_one() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Witness::read(dir.path()), Ok(None));
    seen().write(dir.path()).unwrap();
    assert_eq!(Witness::read(dir.path()), Ok(Some(seen())));
    std::fs::write(dir.path().join(FILE), "{").unwrap();
    assert!(Witness::read(dir.path()).unwrap_err().contains("cannot be read"));
}
