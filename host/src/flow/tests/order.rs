//! The order of steps.

use super::*;

/// Steps without input: each line is `id after?`.
fn steps(lines: &[&str]) -> String {
    let step = |line: &&str| {
        let (id, after) = line.split_once(' ').unwrap_or((line, ""));
        let after = if after.is_empty() {
            String::new()
        } else {
            format!("after = {after}\n")
        };
        format!("[[steps]]\nid = \"{id}\"\nuse = \"crm.make\"\n{after}")
    };
    with_steps(&lines.iter().map(step).collect::<String>())
}

fn waits(lines: &[&str]) -> Vec<Vec<usize>> {
    flow(&steps(lines))
        .steps()
        .iter()
        .map(|step| step.after.clone())
        .collect()
}

#[test]
fn without_after_a_step_follows_the_one_above_it() {
    assert_eq!(waits(&["a", "b", "c"]), [vec![], vec![0], vec![1]]);
}

#[test]
fn an_empty_after_starts_at_once_and_several_wait_for_all() {
    assert_eq!(waits(&["a", "b []", "c [\"a\", \"b\"]"]), [vec![], vec![], vec![0, 1]]);
}

#[test]
fn after_may_name_a_step_further_down() {
    assert_eq!(waits(&["a [\"b\"]", "b []"]), [vec![1], vec![]]);
}

#[test]
fn a_ring_is_refused_with_all_its_steps() {
    let text = check(&steps(&["a [\"c\"]", "b", "c"]));
    assert_eq!(
        text,
        "6:1: these steps wait for each other: `a` waits for `c`, `c` waits for `b` (the one above it), `b` waits for `a` (the one above it); change `after` in one of them; a step without `after` follows the one above it"
    );
}

#[test]
fn unknown_repeated_and_own_ids_in_after_are_refused() {
    assert!(check(&steps(&["crm", "b [\"crn\"]"])).contains("there is no step `crn`; did you mean `crm`?"));
    assert!(check(&steps(&["a", "b [\"b\"]"])).contains("step `b` waits for itself"));
    assert!(check(&steps(&["a", "b [\"a\", \"a\"]"])).contains("names `a` twice"));
    assert!(check(&steps(&["a", "a"])).contains("there are two steps `a`"));
}

fn reading(second: &str) -> String {
    with_steps(&format!(
        "[[steps]]\nid = \"a\"\nuse = \"crm.make\"\n[[steps]]\nid = \"b\"\nuse = \"crm.make\"\n{second}\n[[steps]]\nid = \"c\"\nuse = \"crm.make\"\nwith = {{ x = \"{{{{ steps.a.output.id }}}}\" }}\n"
    ))
}

#[test]
fn a_step_may_read_every_step_before_it_also_through_others() {
    let flow = flow(&reading(""));
    assert_eq!(flow.steps()[2].reads, [0]);
}

#[test]
fn a_step_that_reads_one_not_before_it_is_refused() {
    let text = check(&reading("after = []"));
    assert!(
        text.contains("step `a` has not run when `c` starts; write `after = [\"a\"]` here"),
        "{text}"
    );
    let own = with_steps("[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwhen = \"steps.a.output.id\"");
    assert!(check(&own).contains("step `a` reads its own output"));
    let later = with_steps(
        "[[steps]]\nid = \"a\"\nuse = \"crm.make\"\nwhen = \"steps.b.output\"\n[[steps]]\nid = \"b\"\nuse = \"crm.make\"",
    );
    assert!(check(&later).contains("step `b` has not run when `a` starts"));
    let unknown = with_input("x = \"{{ steps.crm.output }}\"");
    assert!(check(&unknown).contains("there is no step `crm`"));
    let bare = with_steps(
        "[[steps]]\nid = \"a\"\nuse = \"crm.make\"\n[[steps]]\nid = \"b\"\nuse = \"crm.make\"\nwith = { x = \"{{ steps.a.id }}\" }",
    );
    assert!(check(&bare).contains("`steps.a` has only an output; write `steps.a.output`"));
}

#[test]
fn reading_a_step_that_may_be_skipped_is_warned_about() {
    let source = reading("").replacen("use = \"crm.make\"", "use = \"crm.make\"\nwhen = \"body.x\"", 1);
    let text = check(&source);
    assert!(
        text.starts_with("warning ") && text.contains("step `a` may be skipped"),
        "{text}"
    );
    let soft = source.replace("steps.a.output.id }}", "steps.a.output.id | default(0) }}");
    assert_eq!(check(&soft), "ok");
}

#[test]
fn notify_entries_read_no_steps() {
    let source = with_steps(
        "[[steps]]\nid = \"a\"\nuse = \"crm.make\"\n[[review.notify]]\nuse = \"mail.send\"\nwith = { x = \"{{ steps.a.output }}\" }",
    );
    assert!(check(&source).contains("`steps` is not known in `[[review.notify]]`"));
}

#[test]
fn two_hundred_steps_are_allowed_and_one_more_is_not() {
    let ids: Vec<String> = (0..201).map(|i| format!("s{i}")).collect();
    let lines: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(check(&steps(&lines[..200])), "ok");
    assert!(check(&steps(&lines)).contains("more than 200 steps"));
}
