//! From a folder on the disk to what is in force, over a real ledger, runtime and built-in connector.

use super::super::*;
use super::{EXAMPLE, FLOW};
use crate::catalog::approved::tests::MAIL;
use crate::catalog::{Denied, NotApproved, Purpose, RequestKind};
use crate::clock::ManualClock;
use crate::ledger::Ledger;
use crate::runtime::{Request, Runtime, RuntimeLimits};
use std::sync::Arc;

fn write(dir: &Path, file: &str, text: &str) {
    let file = dir.join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_folder_says_is_in_force_after_apply_and_after_a_restart() {
    let (dir, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(dir.path(), "connections/mail.toml", MAIL);
    write(
        dir.path(),
        "flows/lead.toml",
        &FLOW.replace("crm.upsert-contact", "mail.send"),
    );
    write(dir.path(), "flows/lead.example.json", EXAMPLE);
    let ledger = Ledger::open(data.path(), Arc::new(ManualClock::new(1_000)))
        .await
        .unwrap();
    let runtime = Runtime::new(RuntimeLimits::default(), None).unwrap();
    let catalog = Catalog::load(&ledger, &runtime).await.unwrap();
    assert!(catalog.flow_by_path("leads").is_none());

    let plan = catalog.plan(dir.path(), &[]).await.unwrap();
    let late = catalog.plan(dir.path(), &[]).await.unwrap();
    catalog.apply(plan, "admin", 1_000).await.unwrap();
    let flow = catalog.flow_by_path("leads").unwrap();
    let approved = catalog.approve(flow.flow.name(), "mail", "send").unwrap();
    assert_eq!(
        catalog.component(&approved.connector_digest).await.unwrap().digest(),
        approved.connector_digest
    );
    assert!(matches!(
        catalog.approve("website-lead", "mail", "read"),
        Err(NotApproved::NoAction { .. })
    ));
    assert!(matches!(
        catalog.approve("website-lead", "chat", "send"),
        Err(NotApproved::NoConnection(_))
    ));
    let mut request = Request {
        method: "POST".into(),
        endpoint: "api".into(),
        path: "/messages".into(),
        query: Vec::new(),
        headers: Vec::new(),
        body: Vec::new(),
        has_body: false,
    };
    assert_eq!(approved.check(&request, Purpose::Perform, "k"), Ok(RequestKind::Write));
    request.path = "/other".into();
    assert!(matches!(
        approved.check(&request, Purpose::Perform, "k"),
        Err(Denied(_))
    ));

    assert!(
        matches!(catalog.apply(late, "admin", 1_000).await, Err(FolderError::Stale)),
        "a plan rests on what it saw"
    );
    assert!(catalog.plan(dir.path(), &[]).await.unwrap().is_empty());
    let again = Catalog::load(&ledger, &runtime).await.unwrap();
    assert_eq!(again.flow_by_path("leads").unwrap().id, flow.id);
    assert!(again.snapshot().broken().is_empty());

    std::fs::remove_file(dir.path().join("flows/lead.toml")).unwrap();
    write(dir.path(), "connections/mail.toml", &MAIL.replace("24h", "12h"));
    let plan = catalog.plan(dir.path(), &[]).await.unwrap();
    catalog.apply(plan, "admin", 2_000).await.unwrap();
    assert!(catalog.flow_by_path("leads").is_none());
    let now = catalog.snapshot().counterpart("mail", "send").unwrap();
    let revision = approved.connection_revision;
    let then = catalog.approved_as_recorded(&now, revision, "send").await.unwrap();
    assert_eq!(
        (then.connection_revision, &then.terms),
        (revision, &now.approved.terms),
        "a step in doubt finds the revision of its intent, and the operator's word of now"
    );
    assert_ne!(then.terms, approved.terms);
    assert_eq!(
        catalog.flow_at(flow.id, flow.revision).await.unwrap().flow.name(),
        "website-lead"
    );
}
