//! C19 and C20: what a connector says is believed only as far as the host saw it.

use crate::PUPPET;
use oncegate_domain::doubt::Finding;
use oncegate_domain::outcome::{Outcome, Permanent, Refusal};
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::{Behaviour, Connection, Destination, Folder, Rule, RunView, Service, TestHost, orders};

const SEND: &str = "{ op = \"send\", path = \"/messages\", json = { text = \"{{key}}\" } }";

fn puppet(destination: &Destination, script: &str) -> Connection {
    Connection::puppet("puppet", &destination.origin("chat"))
        .settings(&format!("script = [{script}]"))
        .writes("POST /messages")
}

/// A puppet that does this once; how the run ended.
async fn plays(destination: &Destination, connection: Connection) -> RunView {
    let folder = Folder::new()
        .connection(&connection)
        .flow("orders", &orders("orders", PUPPET));
    let host = TestHost::start(&folder).await;
    let run = host.order("orders", "A-1").await;
    let view = host.settle(run).await;
    assert_ne!(
        view.state(),
        run::State::Completed,
        "completed on the word of a connector"
    );
    assert!(destination.count("chat").requests <= 1, "a second request left");
    view
}

/// Sends, and says ok whatever the answer was.
async fn ok_to(status: u16) -> RunView {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let behaviour = if status == 429 {
        Behaviour::retry_after("999999999")
    } else {
        Behaviour::status(status)
    };
    destination.script(Rule::always("chat", behaviour));
    plays(
        &destination,
        puppet(&destination, &format!("{SEND}, {{ op = \"ok\" }}")),
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ok_without_sending_is_a_fault_of_the_connector() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let view = plays(&destination, puppet(&destination, "{ op = \"ok\" }")).await;
    assert_eq!(view.reason("puppet"), Review::Refused(Permanent::ConnectorFault));
    assert_eq!(destination.count("chat").connections, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ok_on_a_refusal_is_a_fault_of_the_connector() {
    for status in [403, 404, 422] {
        let view = ok_to(status).await;
        let reason = view.reason("puppet");
        // A 403 says no whatever the connector makes of it.
        let expected = [
            Review::Refused(Permanent::ConnectorFault),
            Review::Refused(Permanent::Rejected),
        ];
        assert!(expected.contains(&reason), "{status}: {reason:?}");
        assert!(!reason.effect_may_exist());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ok_on_a_redirect_is_unknown() {
    let view = ok_to(301).await;
    assert!(view.reason("puppet").effect_may_exist(), "{:?}", view.reason("puppet"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ok_on_a_429_is_still_being_told_to_wait() {
    let view = ok_to(429).await;
    assert_eq!(
        view.attempts("puppet")[0].outcome,
        Some(Outcome::Refused(Refusal::RateLimited))
    );
    assert_eq!(view.reason("puppet"), Review::ToldToWaitTooLong);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ok_after_an_unknown_send_is_unknown() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    destination.script(Rule::always("chat", Behaviour::effect_then_reset()));
    let view = plays(
        &destination,
        puppet(&destination, &format!("{SEND}, {{ op = \"ok\" }}")),
    )
    .await;
    assert!(view.reason("puppet").effect_may_exist());
    assert_eq!(destination.effects_total(), 1);
}

/// A lookup that says `word` without having asked anybody.
async fn lookup_says(word: &str) -> RunView {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    destination.script(Rule::always("chat", Behaviour::effect_then_reset()));
    let connection = puppet(&destination, &format!("{SEND}, {{ op = \"judge\" }}"))
        .settings(&format!("lookup = [{{ op = \"{word}\" }}]"))
        .trust("lookup_after = \"10s\"\nabsent_on = [404]")
        .reads("GET /messages/{id}");
    let view = plays(&destination, connection).await;
    assert_eq!(
        (destination.effects_total(), destination.count("chat").requests),
        (1, 1)
    );
    view
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn found_and_absent_from_lookups_that_asked_nothing_settle_nothing() {
    for word in ["found", "absent"] {
        let view = lookup_says(word).await;
        assert!(
            view.reason("puppet").effect_may_exist(),
            "{word}: {:?}",
            view.reason("puppet")
        );
        assert!(view.step("puppet").state.in_doubt());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lookup_that_tries_to_write_sends_nothing() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    destination.script(Rule::always("chat", Behaviour::effect_then_reset()));
    let connection = puppet(&destination, &format!("{SEND}, {{ op = \"judge\" }}"))
        .settings(&format!("lookup = [{SEND}, {{ op = \"absent\" }}]"))
        .trust("lookup_after = \"10s\"\nabsent_on = [404]")
        .reads("GET /messages/{id}");
    let view = plays(&destination, connection).await;
    assert!(view.reason("puppet").effect_may_exist());
    assert_eq!(
        (destination.effects_total(), destination.count("chat").requests),
        (1, 1)
    );
}

/// C20.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_write_is_denied_and_the_outcome_is_that_of_the_first() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    destination.script_next("chat", [Behaviour::effect_then_reset()]);
    let script = format!("{SEND}, {SEND}, {{ op = \"rejected\", message = \"no such thing\" }}");
    let view = plays(&destination, puppet(&destination, &script)).await;
    assert_eq!(view.attempts("puppet")[0].outcome, Some(Outcome::Unknown));
    assert!(view.reason("puppet").effect_may_exist());
    assert_eq!(
        (destination.effects_total(), destination.count("chat").requests),
        (1, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_not_listed_are_denied_before_anybody_is_connected_to() {
    let unlisted = [
        "{ op = \"send\", method = \"GET\", path = \"/messages\" }",
        "{ op = \"send\", path = \"/admins\", json = {} }",
        "{ op = \"send\", path = \"/messages/../admins\", json = {} }",
        "{ op = \"send\", path = \"/messages\", json = {}, headers = [[\"X-HTTP-Method-Override\", \"DELETE\"]] }",
        "{ op = \"send\", path = \"/messages\", json = {}, headers = [[\"Authorization\", \"Bearer x\"]] }",
        "{ op = \"send\", path = \"/messages\", json = {}, endpoint = \"other\" }",
        "{ op = \"send\", path = \"/messages\", json = {}, query = [[\"a\", \"b\"]] }",
    ];
    let destination = Destination::start([Service::chat().also("POST", "/admins")])
        .await
        .unwrap();
    for request in unlisted {
        let view = plays(
            &destination,
            puppet(&destination, &format!("{request}, {{ op = \"judge\" }}")),
        )
        .await;
        assert_eq!(view.reason("puppet"), Review::Refused(Permanent::Denied), "{request}");
        let message = view.step("puppet").last_error.clone().unwrap_or_default();
        assert!(message.contains("denied"), "{request}: {message}");
    }
    assert_eq!(destination.count("chat").connections, 0);
}

/// Reads are bounded in number: they burden the destination, and what only reads is the operator's word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_reads_leave_beside_the_write_and_one_more_is_denied() {
    let read = "{ op = \"send\", method = \"GET\", path = \"/account\" }, ";
    for (reads, then) in [(16, format!("{SEND}, ")), (17, String::new())] {
        let destination = Destination::start([Service::chat()]).await.unwrap();
        let well = Behaviour::status_with(200, &[], "{}");
        destination.script(Rule::always("chat", well).reads());
        let script = format!("{}{then}{{ op = \"judge\" }}", read.repeat(reads));
        let folder = Folder::new()
            .connection(&puppet(&destination, &script).reads("GET /account"))
            .flow("orders", &orders("orders", PUPPET));
        let host = TestHost::start(&folder).await;
        let run = host.order("orders", "A-1").await;
        let view = host.settle(run).await;
        let (seen, writes) = (destination.count("chat").requests, destination.writes_of("chat"));
        assert_eq!(seen - writes, 16, "{reads}");
        if reads == 16 {
            assert_eq!((view.state(), writes), (run::State::Completed, 1));
        } else {
            assert_eq!(view.reason("puppet"), Review::Refused(Permanent::Denied));
            let said = view.step("puppet").last_error.clone().unwrap_or_default();
            assert!(said.contains("at most 16 times"), "{said}");
        }
    }
}

/// A write whose answer is lost after `lost`, and a lookup that reads so many times and then says `word`: what becomes of it.
async fn asks(destination: &Destination, lost: Behaviour, reads: u32, word: &str) -> RunView {
    destination.script_next("chat", [lost]);
    destination.script(Rule::always("chat", Behaviour::status_with(200, &[], "{}")).reads());
    let read = format!("{{ op = \"send\", method = \"GET\", path = \"/account\", times = {reads} }}");
    let connection = puppet(destination, &format!("{SEND}, {{ op = \"judge\" }}"))
        .settings(&format!("lookup = [{read}, {{ op = \"{word}\" }}]"))
        .trust("lookup_after = \"10s\"")
        .reads("GET /account");
    let folder = Folder::new()
        .connection(&connection)
        .flow("orders", &orders("orders", PUPPET));
    let host = TestHost::start(&folder).await;
    let run = host.order("orders", "A-1").await;
    host.settle(run).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lookup_says_after_sixteen_reads_counts() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let view = asks(&destination, Behaviour::effect_then_reset(), 16, "found").await;
    let (seen, writes) = (destination.count("chat").requests, destination.writes_of("chat"));
    assert_eq!((view.state(), seen - writes, writes), (run::State::Completed, 16, 1));

    // Seen absent twice, and then sent once more.
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let view = asks(&destination, Behaviour::reset_after_all(), 16, "absent").await;
    let (seen, writes) = (destination.count("chat").requests, destination.writes_of("chat"));
    assert_eq!((view.state(), seen - writes, writes), (run::State::Completed, 32, 2));
    assert_eq!(destination.effects_total(), 1);
}

/// Whoever reads page after page and is denied the next one has not seen where the record stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lookup_says_that_was_denied_its_seventeenth_read_settles_nothing() {
    for word in ["absent", "found"] {
        let destination = Destination::start([Service::chat()]).await.unwrap();
        let view = asks(&destination, Behaviour::effect_then_reset(), 17, word).await;
        assert!(view.reason("puppet").effect_may_exist(), "{word}");
        assert!(view.step("puppet").state.in_doubt(), "{word}");
        assert_eq!(
            (destination.effects_total(), destination.writes_of("chat")),
            (1, 1),
            "{word}"
        );
        let asked = &view.attempts("puppet")[1..];
        assert!(!asked.is_empty(), "{word}");
        for lookup in asked {
            assert_eq!(lookup.finding, Some(Finding::Unsure), "{word}");
            let said = lookup.message.clone().unwrap_or_default();
            assert!(
                said.contains("denied a request: a call may read at most 16 times"),
                "{word}: {said}"
            );
        }
    }
}
