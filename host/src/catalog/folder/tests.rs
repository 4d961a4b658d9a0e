#![allow(clippy::unwrap_used)]

mod applied;
mod files;
mod versions;

use super::super::approved::tests::{CRM, HTTP, MAIL};
use super::super::manifest::{GOOD, Manifest};
use super::super::section::{self, ActionSchemas, Schemas};
use super::*;
use crate::ledger::{CatalogRows, KnownConnector, StoredConnection, StoredFlow};
use oncegate_domain::id::Id;
use serde_json::json;

const FLOW: &str = r#"name = "website-lead"
title = "Website lead to CRM"

[trigger.webhook]
path = "leads"
verify = "none"
key = "{{ body.id }}"
example = "lead.example.json"

[[steps]]
id = "crm"
use = "crm.upsert-contact"
with = { email = "{{ body.email }}" }
"#;

const EXAMPLE: &str = r#"{"id": "L-1", "email": "a@b.c"}"#;

/// A component that exports what a connector exports, and does nothing.
fn component(manifest: &str) -> Vec<u8> {
    let empty = r#"(component (instance $a) (export "oncegate:connector/actions@0.1.0" (instance $a)))"#;
    let manifest = Manifest::parse(manifest).unwrap();
    let any = ActionSchemas {
        input: json!(true),
        output: json!(true),
    };
    let actions = manifest
        .actions
        .keys()
        .map(|name| (name.clone(), any.clone()))
        .collect();
    let json = section::to_json(
        &manifest,
        &Schemas {
            actions,
            settings: None,
        },
    );
    section::embed(&wat::parse_str(empty).unwrap(), &json).unwrap()
}

fn folder() -> Folder {
    Folder {
        connectors: [("connectors/hubspot.wasm".into(), component(GOOD))].into(),
        connections: [("connections/crm.toml".into(), CRM.into())].into(),
        flows: [("flows/lead.toml".into(), FLOW.into())].into(),
        examples: [("lead.example.json".into(), EXAMPLE.into())].into(),
        not_text: Default::default(),
    }
}

/// The ledger after this folder was applied.
fn applied(folder: &Folder) -> CatalogRows {
    let mut rows = CatalogRows::default();
    for bytes in folder.connectors.values() {
        let description = section::read(bytes).unwrap();
        rows.connectors.push(KnownConnector {
            digest: digest_of(bytes),
            name: description.manifest.name,
            version: description.manifest.version,
            bytes_len: bytes.len() as u64,
            manifest: description.json,
        });
    }
    for source in folder.connections.values() {
        let spec = crate::catalog::ConnectionSpec::parse(source).unwrap();
        let connector = rows.connectors.iter().find(|row| row.name == spec.connector).unwrap();
        rows.connections.push(StoredConnection {
            name: spec.name,
            revision: 1,
            active: true,
            source: source.clone(),
            digest: connector.digest.clone(),
            flows: spec.flows.into_iter().map(|pattern| pattern.0).collect(),
        });
    }
    for source in folder.flows.values() {
        let (flow, _) = crate::flow::Flow::parse(source, &|name| folder.examples.get(name).cloned()).unwrap();
        rows.flows.push(StoredFlow {
            id: Id::new(1, [0; 10]),
            name: flow.name().to_owned(),
            revision: 1,
            active: true,
            source: source.clone(),
            examples: folder.examples.clone(),
        });
    }
    rows
}

#[track_caller]
fn planned(folder: &Folder, rows: &CatalogRows, approve: &[&str]) -> Plan {
    let approve: Vec<String> = approve.iter().map(|name| (*name).to_owned()).collect();
    let problems = |problems: Vec<FileProblem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    plan(folder, rows, &approve).map_err(problems).unwrap()
}

#[track_caller]
fn wrong(folder: &Folder) -> Vec<String> {
    plan(folder, &CatalogRows::default(), &[])
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// The text of a plan, digests shortened.
fn said(plan: &Plan) -> String {
    let text: Vec<String> = plan
        .to_string()
        .split("sha256:")
        .enumerate()
        .map(|(n, part)| {
            if n == 0 {
                part.to_owned()
            } else {
                format!("sha256:…{}", &part[64..])
            }
        })
        .collect();
    text.concat()
}

#[test]
fn a_first_apply_says_all_that_comes() {
    let plan = planned(&folder(), &CatalogRows::default(), &[]);
    let warnings = plan.warnings.len();
    let text = said(&Plan {
        warnings: Vec::new(),
        ..plan
    });
    assert_eq!(
        text,
        "\
+ add connector hubspot 0.1.0
      sha256:…
      the host signs with the secret \"token\" as a bearer token
      talks to the endpoint \"api\"; proposed: https://api.hubapi.com
      the host asks GET /account-info/v3/details by itself, to see whether the credentials work
      upsert-contact (changes the destination): creates or updates one contact, found by its e-mail address
        changes by POST /crm/v3/objects/contacts/batch/upsert
        reads by GET /crm/v3/objects/contacts/{email}, query idProperty and properties, headers x-trace
        the same request again leaves the same state, by /email of the input
        after a lost answer it can be asked whether the effect exists, 30s later at the earliest
+ add connection crm
      hubspot at https://api.hubapi.com, account \"prod\"
      for the flows website-*
      upsert-contact: when an answer is lost, it is asked for, 30s later; else sent again within 10m, unless overtaken
+ add flow website-lead
      Website lead to CRM
      started by POST /hooks/leads, open: anybody may call it
      steps: crm (crm.upsert-contact)
"
    );
    assert_eq!(warnings, 0);
}

#[test]
fn what_is_as_the_folder_says_is_left_alone() {
    let plan = planned(&folder(), &applied(&folder()), &[]);
    assert!(plan.is_empty(), "{plan}");
    assert_eq!(plan.to_string(), "Nothing to change: the host matches the folder.\n");
}

#[test]
fn what_the_folder_no_longer_holds_is_deactivated() {
    let mut less = folder();
    less.flows.clear();
    less.connections.clear();
    less.connectors.clear();
    let text = said(&planned(&less, &applied(&folder()), &[]));
    assert_eq!(
        text,
        "\
- deactivate flow website-lead
      it takes no more events; its runs go on, its records and keys stay
- deactivate connection crm
      no step can use it any more; its records stay
"
    );
}

#[test]
fn a_renamed_flow_is_changed_and_not_deactivated() {
    let mut renamed = folder();
    let flow = FLOW.replace(
        "name = \"website-lead\"",
        "name = \"website-contact\"\nrenamed_from = \"website-lead\"",
    );
    renamed.flows.insert("flows/lead.toml".into(), flow);
    let text = said(&planned(&renamed, &applied(&folder()), &[]));
    assert!(text.starts_with("~ change flow website-contact\n"), "{text}");
    assert!(
        text.contains("was called \"website-lead\"; it keeps its keys"),
        "{text}"
    );
    assert!(!text.contains("deactivate"), "{text}");
}

#[test]
fn another_event_key_is_said_aloud_also_where_the_flow_is_renamed() {
    let said_of = |flow: String| {
        let mut changed = folder();
        changed.flows.insert("flows/lead.toml".into(), flow);
        said(&planned(&changed, &applied(&folder()), &[]))
    };
    let words = "one that has run before the change runs again if it is delivered once more";
    let other_key = FLOW.replace("{{ body.id }}", "{{ body.email }}");
    assert!(said_of(other_key.clone()).contains(words));
    let renamed = "name = \"website-contact\"\nrenamed_from = \"website-lead\"";
    assert!(said_of(other_key.replace("name = \"website-lead\"", renamed)).contains(words));
    assert!(!said_of(FLOW.replace("Website lead", "Lead")).contains(words));
    assert!(!said(&planned(&folder(), &CatalogRows::default(), &[])).contains(words));
}

#[test]
fn another_place_is_said_aloud() {
    let mut moved = folder();
    moved.connections.insert(
        "connections/crm.toml".into(),
        CRM.replace("account = \"prod\"", "account = \"test\""),
    );
    let text = said(&planned(&moved, &applied(&folder()), &[]));
    assert!(
        text.contains("it goes to another place: steps in doubt at the old one are not asked for or sent again"),
        "{text}"
    );
}

#[test]
fn every_error_of_every_file_is_reported_at_once() {
    let mut bad = folder();
    bad.connectors
        .insert("connectors/other.wasm".into(), b"\0asm\x01\0\0\0".to_vec());
    bad.connections
        .insert("connections/mail.toml".into(), "name = \"mail\"\nflow = []\n".into());
    bad.flows.insert("flows/zzz.toml".into(), "name = \n".into());
    let said = wrong(&bad);
    assert!(
        said.iter().any(|line| line.starts_with("connectors/other.wasm: ")),
        "{said:#?}"
    );
    assert!(
        said.iter()
            .any(|line| line.starts_with("connections/mail.toml:2:1: the connection has no field `flow`")),
        "{said:#?}"
    );
    assert!(
        said.iter().any(|line| line.starts_with("flows/zzz.toml:1:")),
        "{said:#?}"
    );
}

#[test]
fn a_flow_uses_only_what_is_granted_to_it() {
    let mut other = folder();
    other
        .connections
        .insert("connections/crm.toml".into(), CRM.replace("website-*", "shop-*"));
    assert_eq!(
        wrong(&other),
        [
            "flows/lead.toml:12:7: the connection \"crm\" is not granted to the flow \"website-lead\"; add \"website-lead\" to \
          `flows` in connections/crm.toml"
        ]
    );
    let mut other = folder();
    other.flows.insert(
        "flows/lead.toml".into(),
        FLOW.replace("upsert-contact", "delete-contact"),
    );
    assert_eq!(
        wrong(&other),
        [
            "flows/lead.toml:12:7: the connection \"crm\" approves no action \"delete-contact\"; it approves: upsert-contact"
        ]
    );
    other
        .flows
        .insert("flows/lead.toml".into(), FLOW.replace("crm.upsert", "cmr.upsert"));
    assert_eq!(
        wrong(&other),
        ["flows/lead.toml:12:7: there is no connection \"cmr\"; the connections are: crm"]
    );
}

#[test]
fn names_and_paths_are_taken_once() {
    let mut twice = folder();
    twice.connectors.insert("connectors/copy.wasm".into(), component(GOOD));
    twice.connections.insert("connections/zopy.toml".into(), CRM.into());
    twice.flows.insert("flows/zopy.toml".into(), FLOW.into());
    let said = wrong(&twice);
    assert_eq!(
        said,
        [
            "connectors/hubspot.wasm: this connector and connectors/copy.wasm are both called \"hubspot\"; keep one of them",
            "connections/zopy.toml:1:1: connections/crm.toml has the name \"crm\" too; give each its own name",
            "flows/zopy.toml: flows/lead.toml has the name \"website-lead\" too; give each flow its own name",
            "flows/zopy.toml: flows/lead.toml has the webhook path \"leads\" too; give each flow its own path",
        ]
    );
}

#[test]
fn a_connection_needs_its_connector() {
    let mut alone = folder();
    let crm = CRM.replace("connector = \"hubspot\"", "connector = \"sugar\"");
    alone.connections.insert("connections/crm.toml".into(), crm);
    let said = wrong(&alone);
    assert!(
        said[0]
            .starts_with("connections/crm.toml:2:1: there is no connector \"sugar\"; put its .wasm into connectors/"),
        "{said:?}"
    );
    let unknown = plan(&folder(), &CatalogRows::default(), &["mail".into()]).unwrap_err();
    assert_eq!(
        unknown[0].to_string(),
        "connections: --approve mail: there is no such connection; name a connection of this folder"
    );
}

#[test]
fn an_action_without_requests_is_not_offered() {
    let mut http = folder();
    http.connectors.insert("connectors/http.wasm".into(), component(HTTP));
    http.connections.insert("connections/mail.toml".into(), MAIL.into());
    http.flows.insert(
        "flows/lead.toml".into(),
        FLOW.replace("crm.upsert-contact", "mail.read"),
    );
    let said = wrong(&http);
    assert_eq!(
        said,
        ["flows/lead.toml:12:7: the connection \"mail\" approves no action \"read\"; it approves: send"]
    );
}

#[test]
fn a_plan_rests_on_what_it_saw() {
    let rows = applied(&folder());
    let mut later = applied(&folder());
    later.flows[0].revision = 2;
    assert_eq!(plan::seen(&rows), plan::seen(&applied(&folder())));
    assert_ne!(plan::seen(&rows), plan::seen(&later));
}
