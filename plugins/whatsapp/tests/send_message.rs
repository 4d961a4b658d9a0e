//! What goes out to WhatsApp, and what its answers and error codes become.
#![allow(clippy::unwrap_used)]

use oncegate_sdk::mock::Mock;
use oncegate_sdk::{Answer, Failure, Json, SendError};
use oncegate_whatsapp::SendMessage;
use serde_json::{Value, json};

fn host() -> Mock {
    Mock::new()
        .key("og1_k7")
        .settings(json!({"phone_number_id": "106540352242922"}))
}

fn input() -> Value {
    json!({"to": "+49 (151) 000-0000", "text": "New lead: Ada"})
}

fn taken() -> Value {
    json!({"messaging_product": "whatsapp", "contacts": [{"input": "+491510000000", "wa_id": "491510000000"}],
        "messages": [{"id": "wamid.A"}]})
}

fn sent(host: &Mock) -> Value {
    serde_json::from_slice(host.requests()[0].body.as_deref().unwrap()).unwrap()
}

#[test]
fn a_text_goes_to_the_number_of_the_settings_endpoint_with_the_key_for_the_webhooks() {
    let host = host().answer(200, taken());
    assert_eq!(host.perform::<SendMessage>(input()), Ok(json!({"id": "wamid.A"})));
    let request = &host.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/v23.0/106540352242922/messages")
    );
    let expected = json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+491510000000",
        "biz_opaque_callback_data": "og1_k7",
        "type": "text",
        "text": {"body": "New lead: Ada", "preview_url": false},
    });
    assert_eq!(sent(&host), expected);
}

#[test]
fn a_template_has_its_parameters_in_order_and_other_components_digit_by_digit() {
    let held = json!({"messages": [{"id": "wamid.B", "message_status": "held_for_quality_assessment"}]});
    let host = Mock::new()
        .settings(json!({"phone_number_id": "12345", "version": "v24.0"}))
        .answer(200, held);
    let input = r#"{"to":"+4915100000000","template":{"name":"new_lead","language":"en_US","parameters":["Ada",9007199254740993],
        "components":[{"type":"header","parameters":[{"type":"currency","amount_1000":12.30}]}]}}"#;
    let output = host.perform::<SendMessage>(Json::parse(input).unwrap());
    assert_eq!(
        output,
        Ok(json!({"id": "wamid.B", "status": "held_for_quality_assessment"}))
    );
    assert_eq!(host.requests()[0].path, "/v24.0/12345/messages");
    let body = sent(&host);
    assert_eq!((&body["type"], &body["text"]), (&json!("template"), &Value::Null));
    let parameters = json!([{"type": "text", "text": "Ada"}, {"type": "text", "text": "9007199254740993"}]);
    assert_eq!(
        body["template"]["components"][0],
        json!({"type": "body", "parameters": parameters})
    );
    assert_eq!(body["template"]["language"], json!({"code": "en_US"}));
    let text = String::from_utf8(host.requests()[0].body.clone().unwrap()).unwrap();
    assert!(text.contains(r#""amount_1000":12.30"#), "{text}");
}

#[test]
fn a_template_without_parameters_has_no_components() {
    let host = host().answer(200, taken());
    host.perform::<SendMessage>(
        json!({"to": "+4915100000000", "template": {"name": "hello_world", "language": "en_US"}}),
    )
    .unwrap();
    assert_eq!(
        sent(&host)["template"],
        json!({"name": "hello_world", "language": {"code": "en_US"}})
    );
}

#[test]
fn an_answer_that_names_no_message_proves_nothing() {
    for odd in [
        json!({"messages": []}),
        json!({}),
        json!({"messages": [{}]}),
        json!({"error": {"code": 1}}),
    ] {
        let told = host().answer(200, &odd).perform::<SendMessage>(input());
        assert!(matches!(told, Err(Failure::Unsure(_))), "{odd}: {told:?}");
    }
    let lost = host().fail(SendError::MaybeSent("cut".into()));
    assert!(matches!(lost.perform::<SendMessage>(input()), Err(Failure::Unsure(_))));
}

#[test]
fn each_error_code_becomes_what_it_means_in_words_that_help() {
    let kind = |failure: &Failure| match failure {
        Failure::Rejected(_) => "rejected",
        Failure::Unauthorized(_) => "unauthorized",
        Failure::Temporary(_) => "temporary",
        Failure::Unsure(_) => "unsure",
    };
    for (status, code, meant, words) in [
        (401, 0, "unauthorized", "access token has expired"),
        (401, 190, "unauthorized", "access token has expired"),
        (400, 190, "unauthorized", "access token has expired"),
        (403, 10, "unauthorized", "whatsapp_business_messaging"),
        (403, 200, "unauthorized", "whatsapp_business_messaging"),
        (403, 299, "unauthorized", "whatsapp_business_messaging"),
        (403, 131_005, "unauthorized", "whatsapp_business_messaging"),
        (403, 368, "rejected", "restricted the business account"),
        (403, 131_031, "rejected", "restricted the business account"),
        (400, 4, "temporary", "`rate`"),
        (400, 130_429, "temporary", "`rate`"),
        (400, 131_056, "temporary", "this one number"),
        (400, 131_047, "rejected", "only a template"),
        (400, 131_026, "rejected", "cannot be reached"),
        (400, 132_000, "rejected", "parameters are not those"),
        (404, 132_001, "rejected", "no approved template"),
        (400, 100, "rejected", "was refused"),
        (400, 999_999, "rejected", "was refused"),
        (400, 1, "unsure", "does not say whether"),
        (500, 131_000, "unsure", "may have gone out"),
        (500, 131_016, "unsure", "may have gone out"),
        (503, 2, "unsure", "may have gone out"),
        (500, 131_026, "unsure", "may have gone out"),
    ] {
        let error = json!({"error": {"message": format!("(#{code}) So it is"), "type": "OAuthException", "code": code,
            "error_data": {"messaging_product": "whatsapp", "details": "In particular."}, "fbtrace_id": "A"}});
        let failure = host()
            .answer(status, error)
            .perform::<SendMessage>(input())
            .unwrap_err();
        assert_eq!(kind(&failure), meant, "{status} {code}");
        let problem = failure.problem();
        assert_eq!(problem.code, code.to_string());
        assert!(problem.message.contains(words), "{}", problem.message);
        assert!(
            problem
                .message
                .ends_with(&format!("(#{code}) So it is (In particular.)")),
            "{}",
            problem.message
        );
    }
}

#[test]
fn answers_that_are_not_whatsapps_mean_what_their_status_means() {
    let page = |status| Answer {
        status,
        headers: vec![],
        body: b"<h1>Sorry</h1>".to_vec(),
    };
    let told = |status| {
        host()
            .answer_with(page(status))
            .perform::<SendMessage>(input())
            .unwrap_err()
    };
    assert!(matches!(told(400), Failure::Rejected(_)));
    assert!(matches!(told(429), Failure::Temporary(_)));
    assert!(matches!(told(502), Failure::Unsure(_)));
}

#[test]
fn what_cannot_be_a_message_sends_nothing_and_says_why() {
    let to = "+4915100000000";
    for (input, why) in [
        (json!({"to": "015100000000", "text": "Hi"}), "+ and the country code"),
        (json!({"to": "4915100000000", "text": "Hi"}), "+ and the country code"),
        (json!({"to": "+04915100000000", "text": "Hi"}), "+ and the country code"),
        (json!({"to": "+49151", "text": "Hi"}), "+ and the country code"),
        (
            json!({"to": "+4915100000000000", "text": "Hi"}),
            "+ and the country code",
        ),
        (json!({"to": "+49151x0000000", "text": "Hi"}), "+ and the country code"),
        (json!({"to": "", "text": "Hi"}), "+ and the country code"),
        (json!({"to": to}), "a text or a template"),
        (
            json!({"to": to, "text": "Hi", "template": {"name": "a", "language": "en"}}),
            "a text or a template",
        ),
        (json!({"to": to, "text": " "}), "1 to 4096 characters"),
        (json!({"to": to, "text": "ä".repeat(4_097)}), "1 to 4096 characters"),
        (json!({"to": to, "template": {"name": "a"}}), "missing field `language`"),
        (
            json!({"to": to, "template": {"name": "a", "language": "en", "parameters": [""]}}),
            "not empty",
        ),
        (
            json!({"to": to, "template": {"name": "a", "language": "en", "parameters": [null]}}),
            "not empty",
        ),
        (json!({"to": to, "body": "Hi"}), "unknown field"),
    ] {
        let host = host();
        let told = host.perform::<SendMessage>(input.clone());
        assert!(
            matches!(&told, Err(Failure::Rejected(problem)) if problem.message.contains(why)),
            "{input}: {told:?}"
        );
        assert!(host.requests().is_empty());
    }
    let longest = host().answer(200, taken());
    assert!(
        longest
            .perform::<SendMessage>(json!({"to": to, "text": "ä".repeat(4_096)}))
            .is_ok()
    );
}
