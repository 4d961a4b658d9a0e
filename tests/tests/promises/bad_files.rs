//! Bad flows, manifests, connections and components: one clear error each, with the place, and nothing changes.

use crate::CHAT;
use oncegate_tests::{Connection, Destination, Folder, Service, TestHost, connectors, orders};

async fn host() -> (Destination, TestHost, Connection) {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::chat(&destination.origin("chat"));
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    let host = TestHost::start(&folder).await;
    (destination, host, chat)
}

/// The folder is refused with exactly one error, which holds all of these.
#[track_caller]
fn one_error(refused: Result<String, String>, holds: &[&str]) {
    let said = refused.expect_err("refused");
    // An indented line goes on with what the one before it says.
    let errors = said.lines().filter(|line| !line.starts_with(' ')).count();
    assert_eq!(errors, 1, "one error:\n{said}");
    for text in holds {
        assert!(said.contains(text), "{text:?} is missing in: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_flow_is_refused_with_line_column_and_how_to_mend_it_and_the_old_one_stays() {
    let (destination, host, chat) = host().await;
    let good = orders("orders", CHAT);
    let bad: [(&str, String, &[&str]); 6] = [
        (
            "syntax",
            good.replace("title = \"Orders\"", "title = \"Orders"),
            &["flows/orders.toml:2:"],
        ),
        (
            "an unknown field",
            good.replace("title =", "tittle ="),
            &["flows/orders.toml:2:", "tittle"],
        ),
        (
            "no key",
            good.replace("key = \"{{ body.order.id }}\"\n", ""),
            &["flows/orders.toml:", "key"],
        ),
        (
            "a key of the time",
            good.replace(
                "{{ body.order.id }}\"\n\n[context]",
                "{{ event.received_at }}\"\n\n[context]",
            ),
            &["flows/orders.toml:7:"],
        ),
        (
            "no such connection",
            good.replace("chat.send", "chit.send"),
            &["flows/orders.toml:", "chit"],
        ),
        (
            "an unknown name",
            good.replace("Order {{ body.order.id }}", "Order {{ bodi.order.id }}"),
            &["flows/orders.toml:", "bodi"],
        ),
    ];
    for (what, flow, holds) in bad {
        let refused = host.apply(&Folder::new().connection(&chat).flow("orders", &flow)).await;
        assert!(refused.is_err(), "{what} was accepted: {refused:?}");
        one_error(refused, holds);
    }
    let run = host.order("orders", "A-1").await;
    host.settle(run).await;
    assert_eq!(destination.effects_total(), 1, "the flow that was there is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_connection_is_refused_with_its_place() {
    let (_destination, host, chat) = host().await;
    let flow = orders("orders", CHAT);
    let bad = [
        (chat.toml().replace("account", "acount"), "connections/chat.toml:3:"),
        (chat.toml().replace("plain_http = true\n", ""), "plain http"),
        (chat.toml().replace("\"10s\"", "\"soon\""), "timeout"),
        (chat.toml().replace("\"http\"", "\"htpp\""), "connections/chat.toml:2:"),
        (
            chat.clone()
                .trust("lookup_after = \"1s\"")
                .reads("GET /messages")
                .toml(),
            "lookup_after",
        ),
        (chat.clone().reads("POST /messages").toml(), "POST /messages"),
    ];
    for (toml, holds) in bad {
        let folder = Folder::new().flow("orders", &flow);
        folder.write("connections/chat.toml", toml.as_bytes());
        let refused = host.apply(&folder).await;
        let said = refused.expect_err(holds);
        assert!(said.contains(holds), "{holds:?} is missing in: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_component_is_refused_with_its_name() {
    let (_destination, host, chat) = host().await;
    let good = connectors::wasm("puppet");
    let bad = [
        b"this is no WebAssembly".to_vec(),
        Vec::new(),
        b"\0asm\x01\0\0\0".to_vec(),
        good[..good.len() / 2].to_vec(),
    ];
    for bytes in bad {
        let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
        folder.write("connectors/puppet.wasm", &bytes);
        one_error(host.apply(&folder).await, &["connectors/puppet.wasm"]);
    }
}

/// The manifest is a custom section: another one is put in its place byte by byte, of the same length.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_manifest_is_refused_with_its_connector() {
    let (_destination, host, chat) = host().await;
    let good = connectors::wasm("puppet");
    for (from, to) in [
        ("\"effect\":\"write\"", "\"effect\":\"wride\""),
        ("\"name\":\"puppet\"", "\"name\":\"Puppet\""),
    ] {
        let at = good.windows(from.len()).position(|bytes| bytes == from.as_bytes());
        let at = at.unwrap_or_else(|| panic!("the manifest does not say {from}"));
        let mut bytes = good.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
        folder.write("connectors/puppet.wasm", &bytes);
        one_error(host.apply(&folder).await, &["connectors/puppet.wasm"]);
    }
}
