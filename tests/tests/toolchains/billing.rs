//! A small invoicing API, scripted, and a host that is connected to it.

use oncegate_domain::id::Id;
use oncegate_tests::{Destination, Folder, Service, TestHost, orders};
use serde_json::Value;

/// The API and the host.
pub struct Billing {
    /// Counts what it was made to do.
    pub destination: Destination,
    /// Runs the connector under test.
    pub host: TestHost,
}

const STEP: &str = r#"[[steps]]
id = "invoice"
use = "billing.create-invoice"
[steps.with]
customer = "{{ body.order.customer }}"
lines = "{{ body.order.lines }}"
note = "Order {{ body.order.id }}"
"#;

/// Lines of the connection that say a currency.
pub const CURRENCY: &str = "[settings]\ncurrency = \"EUR\"\n";

impl Billing {
    /// With a connector, and `settings` in the connection.
    pub async fn start(wasm: &[u8], settings: &str) -> Billing {
        let service = Service::new("billing", "/invoices")
            .dedup(oncegate_tests::Dedup::Header("Idempotency-Key".to_owned()))
            .lookup("/invoices/by-key/{}")
            .identity(&["/note"]);
        let destination = Destination::start([service]).await.unwrap();
        let folder = installation(wasm, &destination, settings);
        let host = TestHost::start(&folder.flow("orders", &orders("orders", STEP))).await;
        Billing { destination, host }
    }

    /// Delivers one order; its run. The numbers are those that a double would change.
    pub async fn order(&self) -> Id {
        let body =
            r#"{"order": {"id": "A-1", "customer": 9007199254740993, "lines": [{"text": "Tea", "amount": 12.30}]}}"#;
        let answer = self.host.deliver("orders", body).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        oncegate_tests::run_of(&answer)
    }

    /// The installation, for a command that is run in it.
    pub fn folder_for_calls(&self, wasm: &[u8]) -> Folder {
        installation(wasm, &self.destination, CURRENCY)
    }

    /// The methods of all requests.
    pub fn methods(&self) -> Vec<String> {
        let requests = self.destination.requests_of("billing");
        requests.into_iter().map(|request| request.method).collect()
    }
}

fn installation(wasm: &[u8], destination: &Destination, settings: &str) -> Folder {
    let folder = Folder::empty();
    folder.write("connectors/invoices.wasm", wasm);
    let connection = connection(&destination.origin("billing"), settings);
    folder.write("connections/billing.toml", connection.as_bytes());
    folder.write("secrets/hook", oncegate_tests::HOOK_SECRET.as_bytes());
    folder
}

fn connection(origin: &str, settings: &str) -> String {
    format!(
        "name = \"billing\"\nconnector = \"invoices\"\naccount = \"test\"\nflows = [\"*\"]\n\n\
         [endpoints]\napi = \"{origin}\"\nplain_http = true\nallow_addresses = [\"127.0.0.1/32\"]\n\n\
         [secrets]\ntoken = {{ file = \"hook\" }}\n\n{settings}\n[trust]\nabsent_on = [404]\n"
    )
}

/// What the step put out.
pub fn output(view: &oncegate_tests::RunView) -> Value {
    view.step("invoice").output.clone().unwrap_or_default()
}
