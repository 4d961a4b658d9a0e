//! What the check says of whole definitions.

use super::*;

#[test]
fn the_website_lead_flow_is_right() {
    assert_eq!(check(WEBSITE_LEAD), "ok");
}

#[test]
fn the_website_lead_flow_plans_its_steps_in_file_order_with_the_chat_beside_the_mail() {
    let flow = flow(WEBSITE_LEAD);
    assert_eq!(
        (flow.name(), flow.title()),
        ("website-lead", "Website lead to CRM, e-mail and team chat")
    );
    let plan = |p: &StepPlan| {
        format!(
            "{} {}.{} after {:?} reads {:?}",
            p.id, p.connection, p.action, p.after, p.reads
        )
    };
    assert_eq!(
        flow.steps().iter().map(plan).collect::<Vec<_>>(),
        [
            "crm crm.upsert-contact after [] reads []",
            "welcome mail.send after [0] reads [0]",
            "team_chat chat.send after [0] reads []",
        ]
    );
    assert_eq!(flow.steps()[1].retry.attempts, 5);
    assert_eq!(flow.steps()[1].retry.longest_ms, 300_000);
    assert_eq!(
        flow.notify().iter().map(plan).collect::<Vec<_>>(),
        ["notify_1 mail.send after [] reads []"]
    );
    assert_eq!(flow.notify()[0].role, Role::Notify);
    let uses: Vec<String> = flow.uses().into_iter().map(|(c, a)| format!("{c}.{a}")).collect();
    assert_eq!(uses, ["chat.send", "crm.upsert-contact", "mail.send"]);
    let webhook = flow.webhook().unwrap();
    assert_eq!((webhook.path.as_str(), &webhook.verify), ("leads", &Verify::None));
    assert_eq!(
        webhook.limit.per_source,
        Some(Rate {
            count: 20,
            per_ms: 60_000
        })
    );
}

#[test]
fn the_website_lead_flow_fills_in_what_its_steps_send() {
    let flow = flow(WEBSITE_LEAD);
    let delivery = Delivery::new(LEAD);
    let event = delivery.event();
    assert_eq!(flow.event_key(&event).unwrap().as_str(), "S-1");
    let made = json!({"id": 7});
    let outputs = [Some(&made), None, None];
    let scope = scope(&event, &outputs);
    assert_eq!(
        flow.input(0, &scope).unwrap(),
        json!({"email": "ada@example.com", "name": "Ada"})
    );
    assert_eq!(
        flow.input(1, &scope).unwrap(),
        json!({"to": "ada@example.com", "subject": "Welcome, Ada", "contact": 7})
    );
    assert!(flow.when(2, &scope).unwrap());
    let review = ReviewView {
        summary: "The mail was refused.",
        run: "R1",
        reason: "refused",
    };
    let called = flow.render_review_notify(0, &scope, &review).unwrap();
    assert_eq!(called["text"], "The mail was refused.");
    let context = flow.context(&event).unwrap();
    let words: Vec<_> = context
        .iter()
        .map(|c| (c.name.as_str(), c.value.as_str(), c.personal))
        .collect();
    assert_eq!(words, [("lead", "S-1", false), ("customer", "ada@example.com", true)]);
}

#[test]
fn only_the_first_syntax_error_is_shown() {
    let text = check("name = \"x\nsteps = [1, 2\nfoo = ]\n");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("1:"), "{text}");
    assert!(text.contains("this is not TOML"), "{text}");
}

#[test]
fn every_other_problem_is_shown_at_once_with_its_place_and_how_to_mend_it() {
    let source = r#"nam = "x"
name = "X"
[trigger.webhook]
path = "/leads"
key = "{{ boddy.id }}"
[[steps]]
id = "A"
use = "crm"
witth = {}
[[steps]]
id = "b"
use = "crm.make"
retry = { attempts = 0, first = 2 }
with = { x = "{{ body.name | uper }}" }
"#;
    assert_eq!(
        check(source),
        r#"1:1: a flow has no field `nam`; did you mean `name`?
2:8: "X" cannot be a name; begin with a-z, then use a-z, 0-9 and -, from 2 to 40 characters
3:1: `[trigger.webhook]` needs `verify`; write `verify = { scheme = "bearer", secret = "NAME" }`, or `verify = "none"` for a hook that anybody may call
4:8: "/leads" cannot be the path of a hook; use letters, digits, - and _, with / between, 128 at most and no / at the ends
5:11: `boddy` is not known here; did you mean `body`?
7:6: "A" is no step id; begin with a-z, then use a-z, 0-9 and _, 64 at most
8:7: "crm" names no action; write `connection.action`, each of a-z, 0-9 and -, such as "mail.send"
9:1: `[[steps]]` has no field `witth`; did you mean `with`?
13:22: `attempts` must be a whole number from 1 to 100; write `attempts = 1`
13:33: `first` has no unit; write `first = "2s"` for seconds; units are ms, s, m, h, d
14:30: there is no filter `uper`; did you mean `upper`?"#
    );
}

#[test]
fn an_empty_file_says_what_a_flow_needs() {
    let text = check("");
    for needed in ["needs `name`", "no trigger", "no steps"] {
        assert!(text.contains(needed), "{text}");
    }
}

#[test]
fn fields_of_the_wrong_type_are_named() {
    let text = check("name = 7\nsteps = 3\ntrigger = []\n");
    assert!(
        text.contains("1:8: `name` must be a text, not a whole number; write \"…\""),
        "{text}"
    );
    assert!(
        text.contains("2:9: `steps` must be a list, not a whole number"),
        "{text}"
    );
    assert!(text.contains("3:11: `[trigger]` must be a table, not a list"), "{text}");
}

#[test]
fn a_path_that_the_example_lacks_is_shown_with_what_the_example_has() {
    let source = WEBSITE_LEAD.replace("{{ body.name }}\" }", "{{ body.nmae }}\" }");
    let text = check(&source);
    assert!(
        text.contains("`body.nmae` is not in the example; did you mean `name`?"),
        "{text}"
    );
    assert!(
        text.contains("the body in the example has email, name, phone, submission_id"),
        "{text}"
    );
    let deep = check(&WEBSITE_LEAD.replace("when = \"body.phone\"", "when = \"body.name.first\""));
    assert!(
        deep.contains("`body.name` in the example has nothing below it"),
        "{deep}"
    );
}

#[test]
fn an_example_that_cannot_be_read_is_a_problem() {
    let source = with_trigger("path = \"t\"\nverify = \"none\"\nkey = \"{{ body.id }}\"\nexample = \"x.json\"");
    assert!(check(&source).contains("the example \"x.json\" cannot be read"));
    let twice = check_with(&source, &|_| Some(r#"{"id": 1, "id": 2}"#.to_owned()));
    assert!(twice.contains("names \"/id\" twice"), "{twice}");
    let outside = check(&source.replace("x.json", "../x.json"));
    assert!(outside.contains("is no file beside the flow"), "{outside}");
}

#[test]
fn names_that_are_not_known_in_templates_are_refused() {
    for (template, what) in [
        ("{{ now() }}", "there is no function `now`"),
        ("{{ secrets.token }}", "`secrets` is not known here"),
        ("{{ item.id }}", "not there yet"),
        ("{{ run.owner }}", "`run.owner` does not exist"),
        ("{{ run }}", "`run` needs a name after it"),
        ("{{ event.ip }}", "`event.ip` does not exist"),
        ("{{ review.summary }}", "only in `[[review.notify]]`"),
        ("{{ vars.region }}", "`vars.region` is not set"),
        ("{{ body.name.upper() }}", "calls a function"),
        (
            "{{ headers.idempotency-key }}",
            "means `headers.idempotency` minus `key`",
        ),
        ("{{ body.größe }}", "this character has no meaning here"),
        ("{{ range(3) }}", "there is no function `range`"),
    ] {
        let text = check(&with_input(&format!("x = '{template}'")));
        assert!(text.contains(what), "{template}: {text}");
    }
}

#[test]
fn statements_comments_and_broken_templates_are_refused() {
    for (template, what) in [
        ("{% if body.x %}a{% endif %}", "templates have no statements"),
        ("a {# b #}", "templates have no comments"),
        ("Hello {{ body.name", "`{{` is not closed"),
        ("{{ }}", "there is no expression"),
        ("{{- body.name }}", "`{{-` and `-}}` do not exist here"),
        ("{{ body.name -}}", "`{{-` and `-}}` do not exist here"),
        ("{{ body.name body.id }}", "is no expression"),
        ("{{ (body.name }}", "a bracket closes that was not opened"),
        ("{{ 'abc }}", "a text has no closing quote"),
        ("{{ body.name | trim.it }}", "there is no filter `trim`"),
        ("{{ body.name is shiny }}", "there is no test `shiny`"),
    ] {
        let text = check(&with_input(&format!("x = \"{template}\"")));
        assert!(text.contains(what), "{template}: {text}");
    }
}

#[test]
fn a_place_inside_a_multi_line_text_is_exact() {
    let source = with_steps(
        "[[steps]]\nid = \"a\"\nuse = \"crm.make\"\n[steps.with]\ntext = \"\"\"\nHello,\n  {{ boby.name }}\"\"\"",
    );
    assert_eq!(check(&source), "12:6: `boby` is not known here; did you mean `body`?");
}

#[test]
fn a_title_carries_nothing_invisible() {
    let text = check(&format!(
        "title = \"a\u{202e}b\"\n{}",
        with_steps("[[steps]]\nid = \"a\"\nuse = \"crm.make\"")
    ));
    assert!(text.contains("this title cannot be shown safely"), "{text}");
}

#[test]
fn vars_are_plain_values() {
    let source = with_steps("[vars]\nteam = \"{{ body.x }}\"\n[[steps]]\nid = \"a\"\nuse = \"crm.make\"");
    assert!(check(&source).contains("`vars` are plain values, not templates"));
}

#[test]
fn one_problem_of_a_step_does_not_hide_another() {
    let text = check(&WEBSITE_LEAD.replace(
        "with = { email = \"{{ body.email }}\", name = \"{{ body.name }}\" }",
        "with = { email = \"{{ body.emial }}\", name = \"{{ body.name | uper }}\" }",
    ));
    assert!(
        text.contains("`body.emial` is not in the example; did you mean `email`?"),
        "{text}"
    );
    assert!(text.contains("there is no filter `uper`"), "{text}");
}

#[test]
fn of_very_many_problems_the_first_are_shown() {
    let text = check(&(0..1000).map(|i| format!("x{i} = 1\n")).collect::<String>());
    assert_eq!(text.lines().count(), 201);
    assert!(
        text.ends_with("there are 803 more problems; mend these first"),
        "{text}"
    );
}

#[test]
fn a_report_names_the_file_on_every_line() {
    let problems = Flow::parse("name = \"lead\"\n", &examples).unwrap_err();
    let text = report("flows/lead.toml", "error", &problems);
    assert!(
        text.starts_with("flows/lead.toml:1:1: error: the flow has no trigger; add `[trigger.webhook]`"),
        "{text}"
    );
}

#[test]
fn a_flow_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Flow>();
}
