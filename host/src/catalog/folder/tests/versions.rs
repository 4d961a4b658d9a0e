//! Another version of a connector under a connection: nothing changes before somebody says so.

use super::*;

/// A folder whose connector is version 0.2.0, with this after its manifest.
fn newer(more: &str) -> Folder {
    let mut newer = folder();
    let manifest = GOOD.replace("0.1.0", "0.2.0") + more;
    newer
        .connectors
        .insert("connectors/hubspot.wasm".into(), component(&manifest));
    newer
}

const DELETES: &str = "[[actions.requests]]\nmethod = \"DELETE\"\npath = \"/contacts/{id}\"\nkind = \"write\"\n";

fn digest(folder: &Folder) -> String {
    digest_of(&folder.connectors["connectors/hubspot.wasm"])
}

fn used(plan: &Plan) -> &str {
    &plan.connections[0].digest
}

fn with_digest(mut folder: Folder, digest: &str) -> Folder {
    let pinned = CRM.replace(
        "account = \"prod\"",
        &format!("account = \"prod\"\ndigest = \"{digest}\""),
    );
    folder.connections.insert("connections/crm.toml".into(), pinned);
    folder
}

#[test]
fn another_version_waits_and_the_difference_in_rights_is_said() {
    let plan = planned(&newer(DELETES), &applied(&folder()), &[]);
    assert_eq!(used(&plan), digest(&folder()));
    let text = said(&plan);
    assert!(text.starts_with("+ add connector hubspot 0.2.0\n"), "{text}");
    assert!(!text.contains("change connection"), "{text}");
    assert!(
        text.ends_with(
            "\
! connection crm
      it stays with hubspot 0.1.0 (sha256:…); hubspot 0.2.0 (sha256:…) is there and not approved:
      + upsert-contact: changes by DELETE /contacts/{id}
      apply with --approve crm to use it
"
        ),
        "{text}"
    );
}

#[test]
fn an_approval_moves_the_connection_and_says_what_becomes_of_doubts() {
    let plan = planned(&newer(DELETES), &applied(&folder()), &["crm"]);
    assert_eq!(used(&plan), digest(&newer(DELETES)));
    assert!(plan.waiting.is_empty());
    let text = said(&plan);
    assert!(
        text.contains(
            "\
~ change connection crm
      its connector changes from hubspot 0.1.0 (sha256:…) to hubspot 0.2.0 (sha256:…):
      + upsert-contact: changes by DELETE /contacts/{id}
      steps in doubt are settled with the bytes that sent them, all others go on with the new ones
"
        ),
        "{text}"
    );
    let same = said(&planned(&newer(""), &applied(&folder()), &["crm"]));
    assert!(same.contains("what it may do stays the same\n"), "{same}");
}

#[test]
fn an_unapproved_version_holds_up_nothing_else() {
    let newer_folder = newer(DELETES);
    let mut edited = newer(DELETES);
    let slower = CRM.replace("\"10s\"", "\"20s\"");
    edited.connections.insert("connections/crm.toml".into(), slower);
    let plan = planned(&edited, &applied(&folder()), &[]);
    assert_eq!(used(&plan), digest(&folder()));
    assert!(
        said(&plan).contains("~ change connection crm\n      hubspot at "),
        "{plan}"
    );
    assert_eq!(plan.waiting.len(), 1);
    // Once the new version is stored, what waits is still said.
    let mut rows = applied(&folder());
    rows.connectors.extend(applied(&newer_folder).connectors);
    let plan = planned(&newer_folder, &rows, &[]);
    assert!(plan.is_empty(), "{plan}");
    assert!(
        said(&plan).starts_with("Nothing to change: the host matches the folder.\n! connection crm\n"),
        "{plan}"
    );
}

#[test]
fn a_digest_in_the_file_is_an_approval() {
    let folder_pinned = with_digest(newer(DELETES), &digest(&newer(DELETES)));
    let plan = planned(&folder_pinned, &applied(&folder()), &[]);
    assert_eq!(used(&plan), digest(&newer(DELETES)));
    assert!(plan.waiting.is_empty());
    assert!(said(&plan).contains("+ upsert-contact: changes by DELETE"), "{plan}");
}

#[test]
fn a_digest_in_the_file_also_holds_a_connection_back_or_takes_it_back() {
    let old = digest(&folder());
    let plan = planned(&with_digest(newer(""), &old), &applied(&folder()), &[]);
    assert_eq!((used(&plan), plan.waiting.len()), (old.as_str(), 0));
    // Nobody has the old bytes any more but the ledger, where they stay.
    let mut rows = applied(&newer(DELETES));
    rows.connectors.extend(applied(&folder()).connectors);
    let plan = planned(&with_digest(newer(DELETES), &old), &rows, &[]);
    assert_eq!(used(&plan), old);
    assert!(said(&plan).contains("- upsert-contact: changes by DELETE"), "{plan}");
    let unknown = wrong(&with_digest(newer(""), &old)).remove(0);
    assert!(
        unknown.starts_with(&format!(
            "connections/crm.toml:4:1: the approved bytes are {old}, and connectors/hubspot.wasm is "
        )),
        "{unknown}"
    );
}

#[test]
fn what_only_fits_the_version_that_waits_says_so() {
    let more = "[[actions]]\nname = \"forget\"\neffect = \"write\"\nsays = \"deletes a contact\"\n\
                [[actions.requests]]\nmethod = \"DELETE\"\npath = \"/contacts/{id}\"\nkind = \"write\"\n";
    let problems = |folder: &Folder, approve: &[String]| plan(folder, &applied(&super::folder()), approve);
    let mut folder = newer(more);
    folder
        .flows
        .insert("flows/lead.toml".into(), FLOW.replace("upsert-contact", "forget"));
    let text = problems(&folder, &[]).unwrap_err()[0].to_string();
    assert!(
        text.contains("approves no action \"forget\"; it approves: upsert-contact; hubspot 0.2.0 (sha256:")
            && text.ends_with("has it, use that with --approve crm"),
        "{text}"
    );
    assert!(problems(&folder, &["crm".into()]).is_ok());

    let mut folder = newer(more);
    folder.connections.insert(
        "connections/crm.toml".into(),
        format!("{CRM}[trust.actions.forget]\nconfirms = [404]\n"),
    );
    let text = problems(&folder, &[]).unwrap_err()[0].to_string();
    assert!(
        text.contains("has no action \"forget\"") && text.ends_with("which it fits, with --approve crm"),
        "{text}"
    );
    assert!(problems(&folder, &["crm".into()]).is_ok());
}
