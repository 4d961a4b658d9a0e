//! Each bound of a definition, at it and one past it: what is at it is right, what is past it is said with what to do.

use super::*;
use oncegate_domain::limits;

/// The definition with `name`, with these lines of the head, and one step of this id.
fn definition(name: &str, head: &str, id: &str) -> String {
    format!(
        "name = \"{name}\"\n{head}[trigger.webhook]\npath = \"t\"\nverify = \"none\"\nkey = \"{{{{ body.id }}}}\"\n\
         [[steps]]\nid = \"{id}\"\nuse = \"crm.make\"\n"
    )
}

fn named(name: usize) -> String {
    definition(&"a".repeat(name), "", "a")
}

fn titled(chars: usize) -> String {
    // Characters are counted, not bytes.
    definition("test", &format!("title = \"{}\"\n", "ü".repeat(chars)), "a")
}

fn of_bytes(bytes: usize) -> String {
    let flow = named(4);
    let more = bytes - flow.len() - 1;
    format!("{flow}#{}", "x".repeat(more))
}

fn triggered(path: usize, key: usize, fingerprint: usize) -> String {
    let list = |what: &str, count: usize| {
        let fields: Vec<String> = (0..count).map(|n| format!("\"{{{{ body.{what}{n} }}}}\"")).collect();
        format!("[{}]", fields.join(", "))
    };
    with_trigger(&format!(
        "path = \"{}\"\nverify = \"none\"\nkey = {}\nfingerprint = {}",
        "p".repeat(path),
        list("key", key),
        list("part", fingerprint)
    ))
}

fn words(count: usize) -> String {
    let words: String = (0..count)
        .map(|n| format!("w{n} = \"{{{{ body.w{n} }}}}\"\n"))
        .collect();
    with_steps(&format!("[context]\n{words}[[steps]]\nid = \"a\"\nuse = \"crm.make\""))
}

fn template(bytes: usize) -> String {
    let mark = "{{ body.a }}";
    with_input(&format!("x = \"{mark}{}\"", "x".repeat(bytes - mark.len())))
}

fn secret(bytes: usize) -> String {
    let verify = format!("verify = {{ scheme = \"bearer\", secret = \"{}\" }}", "s".repeat(bytes));
    with_trigger(&format!("path = \"t\"\n{verify}\nkey = \"{{{{ body.id }}}}\""))
}

fn retried(retry: &str) -> String {
    with_steps(&format!("[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nretry = {retry}"))
}

fn limited(limit: &str) -> String {
    with_trigger(&format!(
        "path = \"t\"\nverify = \"none\"\nkey = \"{{{{ body.id }}}}\"\nlimit = {limit}"
    ))
}

#[test]
fn a_definition_is_right_at_each_bound_and_refused_one_past_it() {
    let (shortest, longest) = (limits::NAME_BYTES_MIN, limits::NAME_BYTES_MAX);
    for (at, past, what) in [
        (named(shortest), named(shortest - 1), "from 2 to 40 characters"),
        (named(longest), named(longest + 1), "from 2 to 40 characters"),
        (
            titled(limits::TITLE_CHARS_MAX),
            titled(limits::TITLE_CHARS_MAX + 1),
            "1 to 120 visible characters",
        ),
        (
            definition("test", "", &"s".repeat(64)),
            definition("test", "", &"s".repeat(65)),
            "64 at most",
        ),
        (
            of_bytes(limits::FLOW_BYTES_MAX),
            of_bytes(limits::FLOW_BYTES_MAX + 1),
            "larger than 262144 bytes",
        ),
        (triggered(128, 1, 1), triggered(129, 1, 1), "128 at most"),
        (
            triggered(1, 8, 1),
            triggered(1, 9, 1),
            "`key` must have from 1 to 8 parts",
        ),
        (
            triggered(1, 1, 32),
            triggered(1, 1, 33),
            "`fingerprint` must have from 1 to 32 parts",
        ),
        (words(32), words(33), "`[context]` has more than 32 words"),
        (
            template(limits::TEMPLATE_BYTES_MAX),
            template(limits::TEMPLATE_BYTES_MAX + 1),
            "longer than 16384 bytes",
        ),
        (secret(64), secret(65), "secret"),
        (
            retried("{ first = \"100ms\" }"),
            retried("{ first = \"99ms\" }"),
            "`first` must be from 100ms to 1h",
        ),
        (
            retried("{ first = \"1s\", longest = \"1s\" }"),
            retried("{ first = \"999ms\", longest = \"999ms\" }"),
            "`longest` must be from 1s to 1d",
        ),
        (
            retried("{ longest = \"24h\" }"),
            retried("{ longest = \"25h\" }"),
            "`longest` must be from 1s to 1d",
        ),
        (
            retried("{ refusals = 100 }"),
            retried("{ refusals = 101 }"),
            "`refusals` must be a whole number from 1 to 100",
        ),
        (
            limited("{ total = \"1000000/m\" }"),
            limited("{ total = \"1000001/m\" }"),
            "\"1000001\" is not a number between 1 and 1000000",
        ),
    ] {
        let (at, said) = (check(&at), check(&past));
        assert!(
            at.lines().all(|line| line.starts_with("warning ")) || at == "ok",
            "{what}: {at}"
        );
        assert!(said.contains(what), "{what}: {said}");
    }
}

/// What a template gives is counted as JSON text is: with everything else of the input.
#[test]
fn an_input_has_a_size_and_not_a_byte_more() {
    let of = |bytes: usize| rendered("\"{{ body.s }}!\"", &format!("{{\"s\": \"{}\"}}", "x".repeat(bytes)));
    let largest = (limits::INPUT_BYTES_MAX - 8..limits::INPUT_BYTES_MAX + 8)
        .rev()
        .find(|bytes| !of(*bytes).starts_with("nothing sent"));
    let largest = largest.expect("an input of almost the limit is rendered");
    assert!(largest < limits::INPUT_BYTES_MAX, "{largest}");
    let said = of(largest + 1);
    assert!(said.contains("larger than"), "{said}");
}

#[test]
fn a_word_of_the_context_is_cut_at_its_bound_and_refuses_no_event() {
    let flow = flow(&with_steps(
        "[context]\nword = \"{{ body.word }}\"\n[[steps]]\nid = \"a\"\nuse = \"crm.make\"",
    ));
    let length = |bytes: usize| {
        let delivery = Delivery::new(&format!("{{\"id\": 1, \"word\": \"{}\"}}", "x".repeat(bytes)));
        flow.context(&delivery.event()).unwrap()[0].value.chars().count()
    };
    let max = limits::CONTEXT_VALUE_BYTES_MAX;
    assert_eq!(length(max), max);
    assert!(length(max + 1) <= max, "{}", length(max + 1));
}

/// The last step can wait for all others of the largest flow; a longer list says something twice at best, and is not looked at
/// to its end.
#[test]
fn after_lists_no_more_names_than_a_flow_has_steps() {
    let ids: Vec<String> = (0..limits::STEPS_MAX).map(|n| format!("s{n}")).collect();
    let (last, others) = ids.split_last().unwrap();
    let waiting = |names: usize| {
        let step = |id: &String| format!("[[steps]]\nid = \"{id}\"\nuse = \"crm.make\"\n");
        let after: Vec<&String> = others.iter().cycle().take(names).collect();
        let steps: String = others.iter().map(step).collect();
        check(&with_steps(&format!("{steps}{}after = {after:?}", step(last))))
    };
    assert_eq!(waiting(199), "ok");
    let said = waiting(200);
    assert!(said.ends_with("`after` names `s0` twice; name it once"), "{said}");
    let said = waiting(201);
    assert!(said.contains("`after` names more than 200 steps"), "{said}");
}
