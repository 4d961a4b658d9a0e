//! The connectors for HubSpot, Resend and WhatsApp, each against a scripted one: what a destination offers decides how a
//! lost answer is settled, and it is never settled by a second effect.

use oncegate_domain::doubt::Unsettled;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Destination, Folder, Rule, RunView, Service, TestHost, about_step, orders};
use serde_json::json;

const CONTACT: &str = r#"[[steps]]
id = "contact"
use = "crm.upsert-contact"
with = { email = "Ada@Example.com", properties = { firstname = "Ada", order = "{{ body.order.id }}" } }
"#;
const NOTE: &str = r#"[[steps]]
id = "note"
use = "crm.create-note"
with = { contact = "512", text = "Ordered {{ body.order.id }}.", at = "{{ event.received_at }}" }
"#;
const MAIL: &str = r#"[[steps]]
id = "mail"
use = "mail.send-email"
with = { to = "ada@example.com", subject = "Thanks", text = "Your order is {{ body.order.id }}." }
"#;
const CHAT: &str = r#"[[steps]]
id = "chat"
use = "chat.send-message"
retry = { refusals = 3 }
with = { to = "+4915100000000", text = "Order {{ body.order.id }}" }
"#;

/// A host with one connection to one service of the destination, and a flow with one step.
struct Set {
    destination: Destination,
    service: String,
    host: TestHost,
}

impl Set {
    async fn up(service: Service, name: &str, connector: &str, more: &str, step: &str) -> Set {
        let service_name = service.name.clone();
        let destination = Destination::start([service]).await.unwrap();
        let connection = format!(
            "name = \"{name}\"\nconnector = \"{connector}\"\naccount = \"test\"\nflows = [\"*\"]\n[endpoints]\n\
             api = \"{}\"\nplain_http = true\nallow_addresses = [\"127.0.0.1/32\"]\n[secrets]\ntoken = {{ file = \"hook\" }}\n{more}\n",
            destination.origin(&service_name)
        );
        let folder = Folder::new()
            .connector(connector)
            .flow("orders", &orders("orders", step));
        folder.write(&format!("connections/{name}.toml"), connection.as_bytes());
        let host = TestHost::start(&folder).await;
        Set {
            destination,
            service: service_name,
            host,
        }
    }

    async fn contact() -> Set {
        let trust = "[trust.actions.upsert-contact]\nabsent_on = [404]";
        Set::up(Service::hubspot(), "crm", "hubspot", trust, CONTACT).await
    }

    async fn note(trust: &str) -> Set {
        Set::up(Service::hubspot_notes(), "crm", "hubspot", trust, NOTE).await
    }

    async fn mail() -> Set {
        let settings = "[settings]\nfrom = \"Acme <hello@acme.example>\"";
        Set::up(Service::resend(), "mail", "resend", settings, MAIL).await
    }

    async fn chat() -> Set {
        let settings = "[settings]\nphone_number_id = \"106540352242922\"";
        Set::up(Service::whatsapp(), "chat", "whatsapp", settings, CHAT).await
    }

    async fn order(&self) -> RunView {
        let run = self.host.order("orders", "A-1").await;
        self.host.settle(run).await
    }

    /// Method and last part of the path of every request.
    fn asked(&self) -> Vec<String> {
        let requests = self.destination.requests_of(&self.service);
        let short = |path: &str| {
            let path = path.split('?').next().unwrap_or_default();
            path.rsplit('/').next().unwrap_or_default().to_owned()
        };
        requests
            .iter()
            .map(|seen| format!("{} {}", seen.method, short(&seen.path)))
            .collect()
    }

    fn effects(&self) -> u64 {
        assert!(
            self.destination.duplicates().is_empty(),
            "{:?}",
            self.destination.duplicates()
        );
        self.destination.count(&self.service).effects_total
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contact_whose_answer_was_lost_is_found_by_its_content() {
    let set = Set::contact().await;
    set.destination.script_next("hubspot", [Behaviour::effect_then_reset()]);
    let run = set.order().await;
    assert_eq!(
        (run.state(), set.effects()),
        (run::State::Completed, 1),
        "{:#?}",
        run.0.steps
    );
    assert_eq!(set.asked(), ["POST upsert", "GET Ada%40Example.com"]);
    assert_eq!(run.step("contact").reference.as_deref(), Some("501"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contact_that_was_there_before_is_not_taken_for_ours_and_the_upsert_is_repeated() {
    let set = Set::contact().await;
    let older = json!({"inputs": [{"id": "ada@example.com", "properties": {"firstname": "Ada", "phone": "1"}}]});
    set.destination.put_record("hubspot", "ada@example.com", &older);
    set.destination.script_next("hubspot", [Behaviour::reset_after_all()]);
    let run = set.order().await;
    assert_eq!(
        (run.state(), set.effects()),
        (run::State::Completed, 1),
        "{:#?}",
        run.0.steps
    );
    assert_eq!(set.asked(), ["POST upsert", "GET Ada%40Example.com", "POST upsert"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_whose_answer_was_lost_is_found_by_its_key_once_the_search_shows_it() {
    let set = Set::note("").await;
    set.destination
        .script_next("hubspot-notes", [Behaviour::effect_then_reset()]);
    // The index lags: the first search does not show the note yet.
    let nothing_yet = Behaviour::ok(200, r#"{"total":0,"results":[]}"#);
    set.destination.script(Rule::next("hubspot-notes", nothing_yet).reads());
    let run = set.order().await;
    assert_eq!(
        (run.state(), set.effects()),
        (run::State::Completed, 1),
        "{:#?}",
        run.0.steps
    );
    assert_eq!(set.asked(), ["POST notes", "POST search", "POST search"]);
    assert_eq!(run.step("note").reference.as_deref(), Some("501"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_note_that_got_lost_on_its_way_is_made_once_after_two_searches_or_is_for_a_person() {
    let set = Set::note("").await;
    set.destination
        .script_next("hubspot-notes", [Behaviour::reset_after_all()]);
    let run = set.order().await;
    assert_eq!(
        (run.state(), set.effects()),
        (run::State::Completed, 1),
        "{:#?}",
        run.0.steps
    );
    assert_eq!(set.asked(), ["POST notes", "POST search", "POST search", "POST notes"]);

    let careful = Set::note("[trust.actions.create-note]\non_absent = \"review\"").await;
    careful
        .destination
        .script_next("hubspot-notes", [Behaviour::reset_after_all()]);
    let run = careful.order().await;
    assert_eq!(run.reason("note"), Review::Doubt(Unsettled::Absent));
    assert_eq!(careful.asked(), ["POST notes", "POST search", "POST search"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_e_mail_whose_answer_was_lost_is_asked_for_by_its_key_and_is_one_e_mail() {
    let set = Set::mail().await;
    let concurrent = r#"{"statusCode":409,"name":"concurrent_idempotent_requests","message":"still in progress"}"#;
    let still_at_it = Behaviour::status_with(409, &[], concurrent);
    set.destination
        .script_next("resend", [Behaviour::effect_then_reset(), still_at_it]);
    let run = set.order().await;
    assert_eq!(
        (run.state(), set.effects()),
        (run::State::Completed, 1),
        "{:#?}",
        run.0.steps
    );
    assert_eq!(set.asked(), ["POST emails"; 3]);
    let requests = set.destination.requests_of("resend");
    assert!(
        requests[0].key.as_deref().is_some_and(|key| key.starts_with("og1_")),
        "{requests:?}"
    );
    assert!(
        requests
            .iter()
            .all(|seen| (&seen.key, &seen.body) == (&requests[0].key, &requests[0].body))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_whose_answer_was_lost_is_for_a_person_and_is_never_sent_again() {
    for trouble in [
        Behaviour::effect_then_reset(),
        Behaviour::reset_after_all(),
        Behaviour::status(503),
    ] {
        let set = Set::chat().await;
        set.destination.script_next("whatsapp", [trouble]);
        set.order().await;
        let told = about_step(&set.host.review().await);
        assert_eq!(told, (Review::Doubt(Unsettled::NoWayToAsk), true));
        assert_eq!(
            (set.asked(), set.effects() <= 1),
            (vec!["POST messages".to_owned()], true)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_that_whatsapp_tells_as_a_refusal_is_waited_out_where_the_step_takes_refusals() {
    let set = Set::chat().await;
    let limited = r#"{"error":{"message":"(#130429) Rate limit hit","type":"OAuthException","code":130429}}"#;
    let limited = Behaviour::status_with(400, &[], limited);
    set.destination.script_next("whatsapp", [limited.clone(), limited]);
    let run = set.order().await;
    assert_eq!(
        (run.state(), set.effects()),
        (run::State::Completed, 1),
        "{:#?}",
        run.0.steps
    );
    assert_eq!(set.asked(), ["POST messages"; 3]);
}
