//! What a manifest says of the requests of its actions.

use super::*;

#[test]
fn requests_are_methods_and_paths_as_they_go_over_the_wire() {
    check(
        "method = \"POST\"",
        "method = \"post\"",
        &["25:10: the method \"post\" cannot be listed; write one of GET, HEAD, POST, PUT, PATCH, DELETE, in capitals"],
    );
    let mend = "write the path as it goes over the wire, with {name} for a whole segment that varies";
    for (path, why) in [
        ("crm", "a path begins with /"),
        ("/a//b", "the path has an empty segment (//)"),
        ("/a/../b", "the path has a . or .. segment in it"),
        ("/a/%2e%2E", "the path has a . or .. segment in it"),
        ("/a%2Fb", "the path has an encoded slash or backslash in it"),
        (
            "/a?b=c",
            "the path has ? in it; queries go into `query`, fragments nowhere",
        ),
        ("/a b", "the path has ' ' in it; percent-encode it"),
        ("/ä", "the path is not ASCII; percent-encode it"),
        ("/a/x{id}", "the path has '{' in it; percent-encode it"),
        ("/a/{}", "the path has '{' in it; percent-encode it"),
    ] {
        check(
            "path = \"/crm/v3/objects/contacts/batch/upsert\"",
            &format!("path = {path:?}"),
            &[&format!("26:8: the path {path:?} cannot be listed: {why}; {mend}")],
        );
    }
}

#[test]
fn headers_that_no_list_can_allow_are_refused_when_listed() {
    for (header, why) in [
        ("Authorization", "credentials are put in by the host"),
        ("cookie", "credentials are put in by the host"),
        ("Host", "it belongs to the transport, which is the host's"),
        ("Content-Length", "it belongs to the transport, which is the host's"),
        ("Transfer-Encoding", "it belongs to the transport, which is the host's"),
        ("Connection", "it belongs to the transport, which is the host's"),
        ("Forwarded", "it would speak for another sender or place"),
        ("X-Forwarded-Host", "it would speak for another sender or place"),
        (
            "X-HTTP-Method-Override",
            "it would make another method of the listed one",
        ),
        ("X_HTTP_Method", "it would make another method of the listed one"),
    ] {
        check(
            "headers = [\"X-Trace\"]",
            &format!("headers = [{header:?}]"),
            &[&format!(
                "32:12: the header {header:?} can never be listed: {why}; leave it out"
            )],
        );
    }
    check(
        "query = [\"idProperty\", \"properties\"]",
        "query = [\"_method\"]",
        &["31:10: the query parameter \"_method\" would make another method of the listed one; leave it out"],
    );
}

#[test]
fn a_reading_post_has_an_exact_path_of_its_own() {
    let post = |path: &str| {
        format!("method = \"POST\"\npath = \"{path}\"\nkind = \"read\"\n[[actions.requests]]\nmethod = \"GET\"")
    };
    check("method = \"GET\"", &post("/crm/search"), &[]);
    check(
        "method = \"GET\"",
        &post("/crm/{what}"),
        &[
            "28:1: the reading POST POST /crm/{what} has {…} in its path; write the exact path: a POST is known to read by its \
           path alone",
        ],
    );
    let problems =
        Manifest::parse(&GOOD.replacen("method = \"GET\"", &post("/crm/v3/objects/contacts/batch/upsert"), 1));
    let said: Vec<_> = problems
        .unwrap_err()
        .iter()
        .map(|problem| problem.what.clone())
        .collect();
    assert!(
        said.iter()
            .any(|what| what.contains("can be the same request, one a read and one a write")),
        "{said:?}"
    );
    // By another method, and so in no conflict by the list alone: GraphQL by PUT and POST.
    let put = GOOD.replacen("method = \"POST\"", "method = \"PUT\"", 1);
    let problems =
        Manifest::parse(&put.replacen("method = \"GET\"", &post("/crm/v3/objects/contacts/batch/upsert"), 1));
    assert!(problems.unwrap_err()[0].what.ends_with("share a path"));
    check(
        "method = \"GET\"",
        "method = \"DELETE\"",
        &[
            "28:1: DELETE /crm/v3/objects/contacts/{email} is listed as a read; list it as kind = \"write\": of the methods only \
           GET, HEAD and POST can read",
        ],
    );
}

#[test]
fn one_request_cannot_be_a_read_and_a_write() {
    check(
        "method = \"POST\"\npath = \"/crm/v3/objects/contacts/batch/upsert\"",
        "method = \"GET\"\npath = \"/crm/v3/objects/contacts/x\"",
        &[
            "28:1: GET /crm/v3/objects/contacts/{email} and GET /crm/v3/objects/contacts/x can be the same request, one a read \
           and one a write; make the paths differ, or list both as writes",
        ],
    );
}

#[test]
fn effect_and_requests_agree() {
    check(
        "kind = \"write\"",
        "kind = \"read\"",
        &[
            "15:1: the action \"upsert-contact\" writes and lists no write; list the request that changes the destination with \
           kind = \"write\"",
        ],
    );
    let problems = Manifest::parse(&GOOD.replacen("effect = \"write\"", "effect = \"read\"", 1)).unwrap_err();
    let said: Vec<_> = problems.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(
        said,
        [
            "the action \"upsert-contact\" only reads and has `dedup`",
            "the action \"upsert-contact\" only reads and has `lookup_after`",
            "the action \"upsert-contact\" only reads and lists a write",
        ]
    );
}
