//! No input makes a panic, and what is read is what was written.

use super::*;
use crate::flow::form::parse_form;
use proptest::prelude::*;

/// Pieces of which both right and wrong definitions are made.
fn toml_ish() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("[[steps]]\n".to_owned()),
        Just("[trigger.webhook]\n".to_owned()),
        Just("[[review.notify]]\n".to_owned()),
        Just("[context]\n".to_owned()),
        Just("[vars]\n".to_owned()),
        Just("[retry.a]\n".to_owned()),
        (
            "(id|use|after|when|with|retry|title|key|verify|path|name|limit|example|fingerprint|value|first|attempts)",
            value()
        )
            .prop_map(|(name, value)| format!("{name} = {value}\n")),
        "[ -~\n]{0,20}",
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        template().prop_map(|t| format!("'''{t}'''")),
        template().prop_map(|t| format!("[ '''{t}''', 1 ]")),
        template().prop_map(|t| format!("{{ x = '''{t}''', scheme = \"bearer\", secret = \"A\" }}")),
        Just("\"crm.make\"".to_owned()),
        Just("\"none\"".to_owned()),
        Just("\"a\"".to_owned()),
        "[0-9]{1,30}",
        Just("[]".to_owned()),
    ]
}

fn template() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("{{ "),
        Just(" }}"),
        Just("body"),
        Just("."),
        Just("name"),
        Just("steps.a.output"),
        Just("["),
        Just("]"),
        Just("("),
        Just(")"),
        Just("\""),
        Just("0"),
        Just("1.5"),
        Just(" | "),
        Just("upper"),
        Just("default"),
        Just(" is "),
        Just("defined"),
        Just(" and "),
        Just(" not "),
        Just("~"),
        Just("+"),
        Just("-"),
        Just("*"),
        Just(" > "),
        Just("=="),
        Just("{"),
        Just("}"),
        Just("ä"),
        Just("{%"),
        Just(" if "),
        Just(" else "),
        Just(","),
        Just(":"),
        Just("run.id"),
        Just("vars.x"),
        Just("\\"),
    ];
    prop::collection::vec(word, 0..14).prop_map(|words| words.concat())
}

/// Expressions that the engine takes, over every operator, filter and test.
fn expression() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        Just("body".to_owned()),
        Just("body.v".to_owned()),
        Just("body.l".to_owned()),
        Just("body.n".to_owned()),
        Just("body.s".to_owned()),
        Just("body.x.y".to_owned()),
        Just("vars".to_owned()),
        Just("steps.a.output".to_owned()),
        Just("170141183460469231731687303715884105727".to_owned()),
        Just("0".to_owned()),
        Just("2".to_owned()),
        Just("-1".to_owned()),
        Just("1.5".to_owned()),
        Just("1e308".to_owned()),
        Just("'a€'".to_owned()),
        Just("none".to_owned()),
        Just("true".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
    ];
    let operator = prop::sample::select(vec![
        "+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "and", "or", "in", "not in",
    ]);
    let filter = prop::sample::select(engine::FILTERS.to_vec());
    let test = prop::sample::select(engine::TESTS.to_vec());
    atom.prop_recursive(4, 24, 3, move |inner| {
        prop_oneof![
            (inner.clone(), operator.clone(), inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (inner.clone(), filter.clone()).prop_map(|(a, f)| format!("({a}) | {f}")),
            (inner.clone(), filter.clone(), inner.clone()).prop_map(|(a, f, b)| format!("(({a}) | {f}({b}))")),
            (inner.clone(), filter.clone(), inner.clone())
                .prop_map(|(a, f, b)| format!("(({a}) | {f}(attribute={b}))")),
            (inner.clone(), test.clone()).prop_map(|(a, t)| format!("(({a}) is {t})")),
            (inner.clone(), test.clone(), inner.clone()).prop_map(|(a, t, b)| format!("(({a}) is not {t}({b}))")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}: {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a})[{b}:{c}:{b}]")),
            inner.prop_map(|a| format!("(- {a})")),
        ]
    })
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,5})?(e[+-][0-9]{1,3})?".prop_map(|n| serde_json::from_str(&n).unwrap()),
        ".{0,10}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z/~]{0,6}", inner, 0..6)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn run_everything(flow: &Flow, body: &Value) {
    let (headers, query) = (BTreeMap::new(), BTreeMap::new());
    let event = EventView {
        id: "E",
        received_ms: i64::MAX,
        source: "s",
        body,
        headers: &headers,
        query: &query,
    };
    let outputs = vec![Some(body); flow.steps().len()];
    let scope = Scope {
        event: &event,
        outputs: &outputs,
        run: RunView {
            id: "R",
            key: "K",
            started_ms: i64::MIN,
        },
        review: None,
    };
    let review = ReviewView {
        summary: "s",
        run: "R",
        reason: "r",
    };
    let _ = (flow.event_key(&event), flow.fingerprint(&event), flow.context(&event));
    for step in 0..flow.steps().len() {
        let _ = (flow.when(step, &scope), flow.input(step, &scope));
    }
    for entry in 0..flow.notify().len() {
        let _ = flow.render_review_notify(entry, &scope, &review);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn no_definition_makes_a_panic(source in toml_ish(), body in json()) {
        let example = body.to_string();
        if let Ok((flow, _)) = Flow::parse(&source, &|_| Some(example.clone())) {
            run_everything(&flow, &body);
        }
    }

    #[test]
    fn no_template_makes_a_panic(template in template(), when in template(), body in json()) {
        let source = with_steps(&format!(
            "[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwhen = '''{when}'''\nwith = {{ x = '''{{{{{template}}}}}''', y = '''{template}''' }}"
        ));
        if let Ok((flow, _)) = Flow::parse(&source, &|_| None) {
            run_everything(&flow, &body);
        }
        let source = with_input(&format!("x = '''{{{{ {template} }}}}'''"));
        if let Ok((flow, _)) = Flow::parse(&source, &|_| None) {
            run_everything(&flow, &body);
        }
    }

    #[test]
    fn no_expression_makes_a_panic(expression in expression(), v in json(), l in json(), n in any::<i64>()) {
        let source = with_steps(&format!(
            "[vars]\nx = 1\n[[steps]]\nid = \"a\"\nuse = \"crm.make\"\n[[steps]]\nid = \"b\"\nuse = \"crm.make\"\nwhen = \"\"\"{expression}\"\"\"\nwith = {{ x = \"\"\"{{{{ {expression} }}}}\"\"\", y = \"\"\"- {{{{ {expression} }}}}\"\"\" }}"
        ));
        if let Ok((flow, _)) = Flow::parse(&source, &|_| None) {
            run_everything(&flow, &json!({"v": v, "l": [l, n, 1.5], "n": n, "s": "a b"}));
        }
    }

    #[test]
    fn no_text_makes_a_panic(source in "\\PC{0,200}", body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = check(&source);
        let _ = parse_json(&body, &BodyLimits::default());
        let _ = parse_form(&body, &BodyLimits::default());
    }

    #[test]
    fn json_is_read_as_it_was_written(value in json()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(parse_json(text.as_bytes(), &BodyLimits::default()).unwrap(), value);
    }

    #[test]
    fn what_is_read_is_what_the_library_reads(body in "[ \\[\\]{}:,\"0-9.eE+a\\-truefalsn\\\\]{0,12}") {
        let ours = parse_json(body.as_bytes(), &BodyLimits::default());
        let theirs = serde_json::from_str::<Value>(&body);
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(JsonError::Duplicate { .. }), Ok(_)) | (Err(_), Err(_)) => {}
            (ours, theirs) => prop_assert!(false, "{:?} {:?}", ours, theirs),
        }
    }

    #[test]
    fn a_path_passes_on_exactly_what_came(value in json()) {
        let flow = flow(&with_input("x = \"{{ body.v }}\""));
        let mut body = serde_json::Map::new();
        body.insert("v".to_owned(), value.clone());
        let delivery = Delivery::new(&Value::Object(body).to_string());
        let input = flow.input(0, &scope(&delivery.event(), &[None])).unwrap();
        prop_assert_eq!(input["x"].to_string(), value.to_string());
    }
}

#[test]
fn deep_brackets_are_refused_and_do_not_overflow_the_stack() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("not ", ""),
        ("-", ""),
        ("{'a':", "}"),
        ("body[", "]"),
        ("1 if ", ""),
    ] {
        let count = 4000 / (open.len() + close.len());
        let source = format!("{}1{}", open.repeat(count), close.repeat(count));
        let _ = check(&with_input(&format!("x = \"{{{{ {source} }}}}\"")));
    }
    let _ = check(&format!("a = {}", "[".repeat(100_000)));
    let _ = check(&format!("a = {}", "{ a = ".repeat(40_000)));
}
