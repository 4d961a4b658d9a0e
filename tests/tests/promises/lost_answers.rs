//! An answer is lost: the effect may exist. What the destination offers decides how that is settled.

use crate::{CHAT, CRM, HOST, MAIL};
use oncegate::clock::parse_utc;
use oncegate_domain::doubt::Unsettled;
use oncegate_domain::run;
use oncegate_domain::step::Review;
use oncegate_tests::about_step;
use oncegate_tests::{Behaviour, ChildHost, Connection, Destination, Folder, Rule, Service, TestHost, orders};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_leaves_one_record_and_the_step_is_confirmed_by_asking() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    destination.script_next("crm", [Behaviour::effect_then_reset()]);

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(destination.effects_total(), 1);
    assert_eq!(
        destination.count("crm").requests,
        2,
        "one request, one lookup, no resend"
    );
    assert_eq!(run.state(), run::State::Completed);
    assert_eq!(run.step("crm").reference.as_deref(), Some("crm-1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_got_lost_on_its_way_is_sent_again_once_the_destination_says_that_it_is_absent() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::crm(&destination.origin("crm")))
        .flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    destination.script_next("crm", [Behaviour::reset_after_all()]);

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(run.state(), run::State::Completed);
    assert_eq!(destination.effects_total(), 1);
    let requests = destination.requests_of("crm");
    let methods: Vec<&str> = requests.iter().map(|request| request.method.as_str()).collect();
    assert_eq!(
        methods,
        ["POST", "GET", "POST"],
        "one absent is enough where keys are honoured as well"
    );
    assert_eq!(
        requests[0].header("idempotency-key"),
        requests[2].header("idempotency-key")
    );
    assert_eq!(requests[0].body, requests[2].body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_no_key_protects_the_resend_absent_must_be_seen_twice_and_the_resend_is_the_only_one() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let crm = Connection::http("crm", &destination.origin("crm"))
        .writes("POST /contacts")
        .trust("dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"unknown\" }")
        .asked("10s");
    let folder = Folder::new().connection(&crm).flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    destination.script(Rule::always("crm", Behaviour::reset_after_all()));

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(run.state(), run::State::NeedsReview);
    let requests = destination.requests_of("crm");
    let methods: Vec<&str> = requests.iter().map(|request| request.method.as_str()).collect();
    assert_eq!(
        methods,
        ["POST", "GET", "GET", "POST", "GET", "GET"],
        "a second doubt is asked about, not resent"
    );
    assert_eq!(
        about_step(&host.review().await),
        (Review::Doubt(Unsettled::Absent), true)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_with_a_key_only_is_settled_by_the_same_request_under_the_same_key() {
    let destination = Destination::start([Service::mailer()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::mailer(&destination.origin("mailer")))
        .flow("orders", &orders("orders", MAIL));
    let host = TestHost::start(&folder).await;
    destination.script_next("mailer", [Behaviour::effect_then_reset()]);

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(run.state(), run::State::Completed);
    let count = destination.count("mailer");
    assert_eq!((count.effects_total, count.requests, count.replays), (1, 2, 1));
    let requests = destination.requests_of("mailer");
    assert_eq!(
        requests[0].header("idempotency-key"),
        requests[1].header("idempotency-key")
    );
    assert_eq!(requests[0].body, requests[1].body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_with_neither_goes_to_a_person_who_is_told_that_the_effect_may_exist() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let folder = Folder::new()
        .connection(&Connection::chat(&destination.origin("chat")))
        .flow("orders", &orders("orders", CHAT));
    let host = TestHost::start(&folder).await;
    destination.script_next("chat", [Behaviour::effect_then_reset()]);

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(run.state(), run::State::NeedsReview);
    assert_eq!(
        about_step(&host.review().await),
        (Review::Doubt(Unsettled::NoWayToAsk), true)
    );
    assert_eq!(
        (destination.effects_total(), destination.count("chat").requests),
        (1, 1)
    );
}

/// C17, in real time: the destination commits long after we gave up, and recognises no keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_that_commits_late_is_not_asked_before_the_effect_can_be_seen() {
    let destination = Destination::start([Service::crm().commits_after(1_500)]).await.unwrap();
    let crm = Connection::http("crm", &destination.origin("crm"))
        .timeout("500ms")
        .writes("POST /contacts")
        .trust("dedup = { kind = \"header\", name = \"Idempotency-Key\", window = \"unknown\" }")
        .asked("3s");
    let folder = Folder::new().connection(&crm).flow("orders", &orders("orders", CRM));
    let host = ChildHost::start(HOST, &folder).await;

    assert_eq!(host.order("orders", "A-1").await.unwrap().status, 202);
    let run = host.settled("A-1").await;

    assert_eq!(run["state"], "completed", "{run:#}");
    let requests = destination.requests_of("crm");
    let methods: Vec<&str> = requests.iter().map(|request| request.method.as_str()).collect();
    assert_eq!(methods, ["POST", "GET"], "found at the first look, never sent again");
    // Half a second until it was given up, and `lookup_after` from then on.
    let attempts = run["steps"][0]["timeline"].as_array().unwrap();
    let at_ms = |nth: usize, what: &str| parse_utc(attempts[nth][what].as_str().unwrap()).unwrap();
    assert!(at_ms(0, "ended_at") - at_ms(0, "intent_at") >= 500, "{run:#}");
    assert!(at_ms(1, "started_at") - at_ms(0, "ended_at") >= 3_000, "{run:#}");
    assert!(requests[1].at_ms - requests[0].at_ms >= 3_000);
    assert_eq!(destination.effects_total(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asking_by_a_key_that_was_never_sent_proves_nothing() {
    let destination = Destination::start([Service::crm()]).await.unwrap();
    let crm = Connection::http("crm", &destination.origin("crm"))
        .writes("POST /contacts")
        .asked("10s");
    let folder = Folder::new().connection(&crm).flow("orders", &orders("orders", CRM));
    let host = TestHost::start(&folder).await;
    destination.script_next("crm", [Behaviour::effect_then_reset()]);

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(
        destination.effects_total(),
        1,
        "the destination knows the record under no key of ours"
    );
    assert_eq!(run.state(), run::State::NeedsReview);
    assert_eq!(
        about_step(&host.review().await),
        (Review::Doubt(Unsettled::LookupUnclear), true)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connector_that_never_asks_does_not_keep_a_doubt_from_a_person() {
    let destination = Destination::start([Service::chat()]).await.unwrap();
    let chat = Connection::http("chat", &destination.origin("chat"))
        .writes("POST /messages")
        .reads("GET /messages/{key}")
        .trust("lookup_after = \"10s\"");
    let folder = Folder::new().connection(&chat).flow("orders", &orders("orders", CHAT));
    let host = TestHost::start(&folder).await;
    destination.script_next("chat", [Behaviour::effect_then_reset()]);

    let run = host.order("orders", "A-1").await;
    let run = host.settle(run).await;

    assert_eq!(run.state(), run::State::NeedsReview);
    assert_eq!(destination.count("chat").requests, 1);
}
