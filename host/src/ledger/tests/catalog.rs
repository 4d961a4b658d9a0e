//! What describes the installation: revisions are added, never changed.

use super::*;

on_both! {
    a_flow_keeps_its_id_over_revisions_and_names,
    connectors_and_connections_are_kept,
    tokens_are_found_by_their_hash_until_revoked,
}

async fn a_flow_keeps_its_id_over_revisions_and_names(house: House) {
    let save = |flow| house.ledger.save_flow(flow);
    assert_eq!(save(new_flow("lead", "name = 'lead'")).await.unwrap(), (house.flow, 1));
    assert_eq!(save(new_flow("lead", "# changed")).await.unwrap(), (house.flow, 2));
    let with_example = NewFlow {
        examples: BTreeMap::from([("a.json".to_owned(), "{}".to_owned())]),
        ..new_flow("lead", "# changed")
    };
    assert_eq!(save(with_example.clone()).await.unwrap(), (house.flow, 3));
    let renamed = NewFlow {
        name: "website-lead".into(),
        renamed_from: Some("lead".into()),
        ..with_example
    };
    assert_eq!(save(renamed).await.unwrap(), (house.flow, 3));
    let other = save(new_flow("lead", "")).await.unwrap();
    assert_ne!(other.0, house.flow);

    house
        .ledger
        .deactivate_flow("website-lead", "admin", NOW_MS)
        .await
        .unwrap();
    assert!(house.ledger.deactivate_flow("nothing", "admin", NOW_MS).await.is_err());
    let flows = house.ledger.catalog_all().await.unwrap().flows;
    let flows: Vec<_> = flows
        .iter()
        .map(|flow| (flow.name.as_str(), flow.revision, flow.active))
        .collect();
    assert_eq!(flows, [("lead", 1, true), ("website-lead", 3, false)]);
    let old = house.ledger.flow_revision(house.flow, 1).await.unwrap().unwrap();
    assert_eq!(old.source, "name = 'lead'");
    assert!(house.ledger.flow_revision(house.flow, 4).await.unwrap().is_none());
    // Saved again, it takes events again.
    house
        .ledger
        .save_flow(new_flow("website-lead", "# changed"))
        .await
        .unwrap();
    assert!(
        house
            .ledger
            .catalog_all()
            .await
            .unwrap()
            .flows
            .iter()
            .all(|flow| flow.active)
    );
}

async fn connectors_and_connections_are_kept(house: House) {
    let connector = NewConnector {
        digest: "sha256:aa".into(),
        name: "http".into(),
        version: "0.1.0".into(),
        bytes: vec![0, 1, 2],
        manifest: "{}".into(),
        at_ms: NOW_MS,
        who: "admin".into(),
    };
    house.ledger.save_connector(connector.clone()).await.unwrap();
    house.ledger.save_connector(connector).await.unwrap();
    let connection = NewConnection {
        name: "crm".into(),
        source: "account = 'prod'".into(),
        digest: "sha256:aa".into(),
        flows: vec!["lead".into()],
        at_ms: NOW_MS,
        who: "admin".into(),
    };
    let save = |connection| house.ledger.save_connection(connection);
    assert_eq!(save(connection.clone()).await.unwrap(), 1);
    assert_eq!(save(connection.clone()).await.unwrap(), 1);
    assert_eq!(
        save(NewConnection {
            digest: "sha256:bb".into(),
            ..connection
        })
        .await
        .unwrap(),
        2
    );
    house
        .ledger
        .deactivate_connection("crm", "admin", NOW_MS)
        .await
        .unwrap();
    let all = house.ledger.catalog_all().await.unwrap();
    assert_eq!((all.connectors.len(), all.connectors[0].bytes_len), (1, 3));
    assert_eq!((all.connections[0].revision, all.connections[0].active), (2, false));
    assert_eq!(all.connections[0].flows, ["lead"]);
    assert_eq!(
        house
            .ledger
            .connection_revision("crm", 1)
            .await
            .unwrap()
            .unwrap()
            .digest,
        "sha256:aa"
    );
    let stored = house.ledger.connector("sha256:aa").await.unwrap().unwrap();
    assert_eq!(
        (stored.name.as_str(), stored.bytes.as_slice()),
        ("http", [0, 1, 2].as_slice())
    );
    assert!(house.ledger.connector("sha256:bb").await.unwrap().is_none());
}

async fn tokens_are_found_by_their_hash_until_revoked(house: House) {
    let token = NewToken {
        name: "cli".into(),
        hash: [7; 32],
        role: "admin".into(),
        expires_ms: None,
        at_ms: NOW_MS,
    };
    let id = house.ledger.save_token(token.clone()).await.unwrap();
    assert!(matches!(
        house.ledger.save_token(token).await.unwrap_err(),
        LedgerError::Invalid { .. }
    ));
    let found = house.ledger.token([7; 32]).await.unwrap().unwrap();
    assert_eq!(
        (found.id, found.name.as_str(), found.role.as_str()),
        (id, "cli", "admin")
    );
    assert!(house.ledger.token([8; 32]).await.unwrap().is_none());
    house.ledger.revoke_token(id, "admin", NOW_MS).await.unwrap();
    assert!(house.ledger.token([7; 32]).await.unwrap().is_none());
    assert!(house.ledger.revoke_token(id, "admin", NOW_MS).await.is_err());
    assert!(house.ledger.tokens().await.unwrap().is_empty());
}
