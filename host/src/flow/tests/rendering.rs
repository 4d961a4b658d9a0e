//! What templates become.

use super::*;

#[test]
fn exactly_one_expression_keeps_its_type_and_anything_around_it_makes_text() {
    let body = r#"{"n": 5, "t": true, "l": [1, {"a": null}], "z": null}"#;
    assert_eq!(rendered("\"{{ body.n }}\"", body), "5");
    assert_eq!(rendered("\"{{body.n}}\"", body), "5");
    assert_eq!(rendered("\" {{ body.n }}\"", body), "\" 5\"");
    assert_eq!(rendered("\"{{ body.t }}\"", body), "true");
    assert_eq!(rendered("\"is {{ body.t }}\"", body), "\"is true\"");
    assert_eq!(rendered("\"{{ body.l }}\"", body), r#"[1,{"a":null}]"#);
    assert_eq!(rendered("\"{{ body.l[1] }}!\"", body), r#""{\"a\":null}!""#);
    assert_eq!(rendered("\"{{ body.z }}\"", body), "null");
    assert_eq!(rendered("\"({{ body.z }})\"", body), "\"()\"");
    assert_eq!(rendered("\"{{ body.n + 1 }}\"", body), "6");
}

#[test]
fn values_of_the_definition_keep_their_form() {
    let flow = flow(&with_input(
        "a = 1_000, b = 1.50, c = true, d = [0x10, 'x'], e = { f = 1e3, g = 2026-03-29 }",
    ));
    let delivery = Delivery::new("{}");
    let input = flow.input(0, &scope(&delivery.event(), &[None])).unwrap();
    assert_eq!(
        input.to_string(),
        r#"{"a":1000,"b":1.50,"c":true,"d":[16,"x"],"e":{"f":1e+3,"g":"2026-03-29"}}"#
    );
    assert!(check(&with_input("a = inf")).contains("this number has no JSON form"));
}

#[test]
fn what_was_rendered_is_never_rendered_again() {
    let body = r#"{"name": "{{ body.secret }}", "secret": "s3cr3t"}"#;
    assert_eq!(rendered("\"{{ body.name }}\"", body), "\"{{ body.secret }}\"");
    assert_eq!(
        rendered("\"Hello {{ body.name | trim }}\"", body),
        "\"Hello {{ body.secret }}\""
    );
    assert_eq!(rendered("\"{{ '{{' }} body.secret }}\"", body), "\"{{ body.secret }}\"");
}

#[test]
fn a_template_that_cannot_be_evaluated_sends_nothing_and_names_the_path() {
    for (template, error) in [
        ("{{ body.nick }}", "`body.nick` is missing in this event"),
        ("Dear {{ body.nick }}", "`body.nick` is missing in this event"),
        ("{{ body.name.first }}", "`body.name.first` is missing in this event"),
        ("{{ body.nick | upper }}", "`body.nick` is missing in this event"),
        ("{{ 'a' ~ body.nick }}", "`body.nick` is missing in this event"),
        ("{{ [body.name, body.nick] }}", "`body.nick` is missing in this event"),
        ("{{ body.a ~ body.b }}", "`body.a`, `body.b` are missing in this event"),
        ("{{ body.items[0] }}", "`body.items[0]` is missing in this event"),
        ("{{ (body.items | first).sku }}", "it has no value for this event"),
        ("{{ body.name / 2 }}", "`body.name` is not a whole number here"),
    ] {
        let text = rendered(&format!("\"{template}\""), r#"{"name": "Ada", "items": []}"#);
        assert!(text.starts_with("nothing sent: steps.a.with.x: "), "{template}: {text}");
        assert!(text.contains(error), "{template}: {text}");
    }
}

#[test]
fn the_place_of_a_failing_template_is_exact() {
    let flow = flow(&with_input("list = [{ deep = \"{{ body.nick }}\" }]"));
    let delivery = Delivery::new("{}");
    let error = flow.input(0, &scope(&delivery.event(), &[None])).unwrap_err();
    assert_eq!(
        (error.at.as_str(), error.path.as_str()),
        ("steps.a.with.list[0].deep", "body.nick")
    );
}

#[test]
fn what_may_be_missing_can_have_a_default() {
    assert_eq!(rendered("\"{{ body.nick | default('friend') }}\"", "{}"), "\"friend\"");
    assert_eq!(rendered("\"{{ body.a.b.c | default('friend') }}\"", "{}"), "\"friend\"");
    assert_eq!(
        rendered("\"{{ body.nick or body.name }}\"", r#"{"name": "Ada"}"#),
        "\"Ada\""
    );
    assert_eq!(
        rendered("\"{{ body.nick if body.nick else body.name }}\"", r#"{"name": "Ada"}"#),
        "\"Ada\""
    );
    assert_eq!(rendered("\"{{ body.nick is defined }}\"", "{}"), "false");
}

#[test]
fn whole_numbers_are_exact_to_128_bits_inside_an_expression() {
    let body = r#"{"n": 9007199254740993, "u": 340282366920938463463374607431768211455, "m": -170141183460469231731687303715884105728}"#;
    assert_eq!(rendered("\"{{ body.n + 1 }}\"", body), "9007199254740994");
    assert_eq!(
        rendered("\"{{ [body.u][0] }}\"", body),
        "340282366920938463463374607431768211455"
    );
    assert_eq!(
        rendered("\"{{ [body.m][0] }}\"", body),
        "-170141183460469231731687303715884105728"
    );
}

#[test]
fn other_numbers_enter_an_expression_as_the_text_they_were() {
    let body = r#"{"p": 12.30, "e": 1e3, "big": 340282366920938463463374607431768211456}"#;
    assert_eq!(rendered("\"{{ [body.p][0] }}\"", body), "\"12.30\"");
    assert_eq!(rendered("\"{{ [body.e][0] }}\"", body), "\"1e+3\"");
    assert_eq!(
        rendered("\"{{ [body.big][0] }}\"", body),
        "\"340282366920938463463374607431768211456\""
    );
    assert_eq!(rendered("\"{{ (body.p | float) * 2 }}\"", body), "24.6");
    assert_eq!(rendered("\"{{ 'EUR ' ~ body.p }}\"", body), "\"EUR 12.30\"");
}

#[test]
fn text_is_never_taken_for_a_number_by_accident() {
    // The engine by itself would say "12.3012.30", "12.301", and that any text is greater than any number.
    let body = r#"{"p": 12.30}"#;
    for template in [
        "{{ body.p * 2 }}",
        "{{ body.p + 1 }}",
        "{{ body.p > 10 }}",
        "{{ 10 < body.p }}",
        "{{ body.p == 12 }}",
    ] {
        let text = rendered(&format!("\"{template}\""), body);
        assert!(
            text.contains("`body.p` is not a whole number here; write `(body.p | float)`"),
            "{template}: {text}"
        );
    }
}

#[test]
fn every_filter_and_test_of_the_list_works() {
    let body = r#"{"s": " Ada B ", "l": [3, 1, 2], "o": [{"n": "a", "ok": true}, {"n": "b", "ok": false}], "f": "2.6", "n": -3}"#;
    for (template, result) in [
        ("body.n | abs", "3"),
        ("body.s | trim | capitalize", "\"Ada b\""),
        ("body.x | default(1)", "1"),
        ("body.l | first", "3"),
        ("body.f | float", "2.6"),
        ("body.f | int", "2"),
        ("body.l | join('-')", "\"3-1-2\""),
        (
            "body.o | json",
            r#""[{\"n\":\"a\",\"ok\":true},{\"n\":\"b\",\"ok\":false}]""#,
        ),
        ("body.l | last", "2"),
        ("body.l | length", "3"),
        ("body.s | lower", "\" ada b \""),
        ("body.o | map(attribute='n')", r#"["a","b"]"#),
        ("body.l | max", "3"),
        ("body.l | min", "1"),
        ("body.s | replace(' ', '')", "\"AdaB\""),
        ("body.l | reverse", "[2,1,3]"),
        ("body.f | float | round", "3.0"),
        ("body.o | selectattr('ok') | map(attribute='n')", r#"["a"]"#),
        ("body.o | selectattr('n', 'eq', 'b') | map(attribute='n')", r#"["b"]"#),
        ("body.l | sort", "[1,2,3]"),
        ("body.s | trim | split(' ')", r#"["Ada","B"]"#),
        ("body.n | string", "\"-3\""),
        ("body.l | sum", "6"),
        ("body.s | upper", "\" ADA B \""),
        (
            "body.s is string and body.n is number and body.l is sequence and body.n is integer",
            "true",
        ),
        ("body.x is defined or body.x is none or body.n is even", "false"),
        (
            "body.n is odd and body.o[0] is mapping and body.o[0].ok is boolean and 6 is divisibleby 3",
            "true",
        ),
        (
            "body.s is startingwith ' ' and body.s is endingwith ' ' and body.x is undefined",
            "true",
        ),
        ("3 in body.l and 'Ada' in body.s", "true"),
        ("{'a': body.n}", r#"{"a":-3}"#),
        ("body.s[1:4]", "\"Ada\""),
    ] {
        assert_eq!(
            rendered(&format!("\"{{{{ {template} }}}}\""), body),
            result,
            "{template}"
        );
    }
}

#[test]
fn an_expression_cannot_cost_more_than_its_fuel_nor_grow_beyond_its_bounds() {
    let text = rendered("\"{{ ('x' * 100000000) | length }}\"", "{}");
    assert!(text.contains("it costs more than an expression may"), "{text}");
    let long = format!("{{\"s\": \"{}\"}}", "x".repeat(600_000));
    let text = rendered("\"{{ body.s }}{{ body.s }}\"", &long);
    assert!(text.contains("larger than"), "{text}");
    assert!(rendered("\"{{ body.s }}\"", &long).len() > 600_000);
}

#[test]
fn an_expression_is_bounded_in_length_and_depth_on_both_sides() {
    let terms = |count: usize| rendered(&format!("\"{{{{ {}1 }}}}\"", "1 + ".repeat(count - 1)), "{}");
    assert_eq!(terms(250), "250");
    let refused = |source: &str| check(&with_input(&format!("x = \"{{{{ {source} }}}}\"")));
    assert!(refused(&format!("{}1", "1 + ".repeat(250))).contains("too long or too deep"));
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(refused(&nested(24)), "ok");
    assert!(refused(&nested(25)).contains("too long or too deep"));
    assert_eq!(refused("not not not not 1"), "ok");
    assert!(refused("not not not not not 1").contains("too long or too deep"));
}

#[test]
fn a_condition_is_false_when_missing_empty_false_or_0_and_true_otherwise() {
    for (value, result) in [
        ("null", "false"),
        ("\"\"", "false"),
        ("[]", "false"),
        ("{}", "false"),
        ("false", "false"),
        ("0", "false"),
        ("-0", "false"),
        ("0.00", "false"),
        ("0e9", "false"),
        ("\"0\"", "true"),
        ("\"false\"", "true"),
        ("\" \"", "true"),
        ("[0]", "true"),
        ("0.01", "true"),
        ("1", "true"),
        ("true", "true"),
    ] {
        assert_eq!(runs("body.x", &format!("{{\"x\": {value}}}")), result, "{value}");
    }
    assert_eq!(runs("body.x", "{}"), "false");
    assert_eq!(runs("body.x.y.z", "{}"), "false");
}

#[test]
fn a_condition_that_meets_something_missing_is_false() {
    assert_eq!(runs("body.amount > 100", "{}"), "false");
    assert_eq!(runs("body.amount < 100", "{}"), "false");
    assert_eq!(runs("body.amount < 100", r#"{"amount": null}"#), "false");
    assert_eq!(runs("body.amount > 100", r#"{"amount": 101}"#), "true");
    assert_eq!(runs("100 < body.amount", r#"{"amount": 101}"#), "true");
    assert_eq!(runs("body.status == 'paid'", "{}"), "false");
    assert_eq!(runs("body.status != 'paid'", "{}"), "true");
    assert_eq!(runs("not body.status", "{}"), "true");
    assert_eq!(runs("body.phone and body.consent", r#"{"phone": "1"}"#), "false");
    assert_eq!(runs("body.tags and 'vip' in body.tags", "{}"), "false");
}

#[test]
fn a_condition_that_compares_unlike_things_is_not_guessed_at() {
    let text = runs("body.amount > 100", r#"{"amount": "abc"}"#);
    assert_eq!(
        text,
        "unknown: steps.a.when: `body.amount` is not a whole number here; write `(body.amount | float)` where it is to be taken as a number"
    );
    assert_eq!(runs("body.amount | float > 100", r#"{"amount": 100.5}"#), "true");
    assert_eq!(runs("body.date > '2026'", r#"{"date": "2026-03-29"}"#), "true");
    assert!(runs("body.date > '2026'", r#"{"date": 2027}"#).contains("is not a text here"));
}

#[test]
fn a_condition_is_a_bare_expression() {
    let source = with_steps("[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwhen = \"{{ body.x }}\"");
    assert!(check(&source).contains("`when` is an expression already; write it without braces"));
}

#[test]
fn fractions_in_the_example_are_warned_about_where_they_would_be_text() {
    let source = with_steps("[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwhen = \"body.p > 10\"")
        .replace("verify = \"none\"", "verify = \"none\"\nexample = \"e.json\"");
    let text = check_with(&source, &|_| Some(r#"{"id": 1, "p": 12.30}"#.to_owned()));
    assert!(
        text.contains("`body.p` has a fraction or exponent in the example"),
        "{text}"
    );
}

#[test]
fn run_and_event_are_known_and_instants_are_written_as_rfc_3339() {
    let text = rendered(
        "\"{{ run.id }} {{ run.key }} {{ run.started_at }} {{ event.id }} {{ event.received_at }} {{ event.source }}\"",
        "{}",
    );
    assert_eq!(text, "\"R1 K 2026-09-21T14:13:21Z E1 2026-09-21T14:13:20Z webhook\"");
}

#[test]
fn vars_are_values_of_the_flow() {
    let flow = flow(&with_steps(
        "[vars]\nteam = \"sales\"\nlimits = { high = 100 }\n[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwith = { t = \"{{ vars.team }}\", h = \"{{ vars.limits.high }}\" }",
    ));
    let delivery = Delivery::new("{}");
    let input = flow.input(0, &scope(&delivery.event(), &[None])).unwrap();
    assert_eq!(input, json!({"t": "sales", "h": 100}));
}

#[test]
fn a_context_word_is_text_and_never_refuses_an_event() {
    let flow = flow(
        "name = \"test\"\n[trigger.webhook]\npath = \"t\"\nverify = \"none\"\nkey = \"{{ body.id }}\"\n[context]\nid = \"{{ body.id }}\"\nnone = \"{{ body.none }}\"\nlong = \"{{ body.long }}\"\n[[steps]]\nid = \"a\"\nuse = \"crm.make\"\n",
    );
    let delivery = Delivery::new(&format!("{{\"id\": 7, \"long\": \"{}\"}}", "é".repeat(500)));
    let context = flow.context(&delivery.event()).unwrap();
    assert_eq!((context[0].value.as_str(), context[1].value.as_str()), ("7", ""));
    assert_eq!(context[2].value.len(), 512);
}

#[test]
fn an_index_beyond_the_steps_is_an_error_and_no_panic() {
    let flow = flow(&with_input("x = 1"));
    let delivery = Delivery::new("{}");
    let event = delivery.event();
    assert!(flow.input(9, &scope(&event, &[])).is_err());
    assert!(flow.when(9, &scope(&event, &[])).is_err());
}

#[test]
fn an_object_cannot_pose_as_a_number_on_its_way_through() {
    assert!(check(&with_input("x = { '$serde_json::private::Number' = '5' }")).contains("cannot be a name"));
    let text = rendered("\"{{ {'$serde_json::private::Number': '5'} }}\"", "{}");
    assert!(text.contains("a map with a reserved name"), "{text}");
}
