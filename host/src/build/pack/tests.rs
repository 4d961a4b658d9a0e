#![allow(clippy::unwrap_used)]

use super::super::check;
use super::super::tests::MANIFEST;
use super::*;
use crate::runtime::Size;

const SCHEMAS: &str = r#"{"actions": {"send": {"input": {"type": "object"}, "output": true}}}"#;

/// A component that exports what a connector exports, and does nothing.
const COMPONENT: &str = r#"(component (instance $a) (export "oncegate:connector/actions@0.1.0" (instance $a)))"#;

struct Author(tempfile::TempDir);

impl Author {
    fn new() -> Author {
        let author = Author(tempfile::tempdir().unwrap());
        author.write("made.wasm", &wat::parse_str(COMPONENT).unwrap());
        author.write("connector.toml", MANIFEST.as_bytes());
        author.write("schemas.json", SCHEMAS.as_bytes());
        author
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn options(&self) -> PackOptions {
        let file = |name| self.0.path().join(name);
        PackOptions {
            component: file("made.wasm"),
            manifest: file("connector.toml"),
            schemas: file("schemas.json"),
            out: None,
        }
    }

    /// What is said, without the name of the folder; nothing was written.
    fn refused(&self) -> String {
        let error = pack(&self.options()).unwrap_err().to_string();
        assert!(!self.0.path().join("mini.wasm").exists(), "written after: {error}");
        error.replace(&self.0.path().display().to_string(), "DIR")
    }

    fn refuses(name: &str, bytes: &[u8]) -> String {
        let author = Author::new();
        author.write(name, bytes);
        author.refused()
    }
}

#[test]
fn a_packed_component_describes_itself_and_is_otherwise_what_it_was() {
    let author = Author::new();
    let report = pack(&author.options()).unwrap();
    assert_eq!(report.file, author.0.path().join("mini.wasm"));
    assert_eq!((report.manifest.name.as_str(), report.size), ("mini", Size::Small));
    let checked = check(&report.file).unwrap();
    assert_eq!(checked.digest, report.digest);
    let (made, packed) = (
        std::fs::read(author.0.path().join("made.wasm")).unwrap(),
        std::fs::read(&report.file).unwrap(),
    );
    assert_eq!(packed[..made.len()], made);
    let said = report.to_string();
    assert!(said.contains("send (changes the destination): sends"), "{said}");
    assert!(said.contains("runs    as one of many"), "{said}");
}

#[test]
fn it_goes_where_it_is_told_and_never_over_what_it_is_made_of() {
    let author = Author::new();
    let to = |name: &str| PackOptions {
        out: Some(author.0.path().join(name)),
        ..author.options()
    };
    for _again in 0..2 {
        let report = pack(&to("it.wasm")).unwrap();
        assert_eq!(report.file, author.0.path().join("it.wasm"));
    }
    for input in ["made.wasm", "connector.toml", "schemas.json", "./made.wasm"] {
        let error = pack(&to(input)).unwrap_err().to_string();
        assert!(
            error.contains("is one of the files that the connector is made of"),
            "{error}"
        );
        assert!(error.contains("to mend: name another file with --out"), "{error}");
    }
    let error = pack(&to("nowhere/it.wasm")).unwrap_err().to_string();
    assert!(error.contains("there is no folder"), "{error}");
    assert!(!author.0.path().join("nowhere").exists());
    assert!(pack(&author.options()).is_ok(), "the inputs are as they were");
}

#[test]
fn a_component_that_carries_a_manifest_already_is_refused_by_name() {
    let author = Author::new();
    let packed = pack(&author.options()).unwrap().file;
    let again = PackOptions {
        component: packed,
        out: Some(author.0.path().join("again.wasm")),
        ..author.options()
    };
    let error = pack(&again).unwrap_err().to_string();
    assert!(
        error.contains("it carries a manifest already, of mini 0.1.0"),
        "{error}"
    );
    assert!(
        error.contains("to mend: pack the component that your toolchain wrote"),
        "{error}"
    );
}

#[test]
fn what_is_no_connector_is_refused_as_check_refuses_it() {
    let module = Author::refuses("made.wasm", b"\0asm\x01\0\0\0");
    assert!(
        module.starts_with("DIR/made.wasm: this is a core WebAssembly module, not a component\n  to mend: pack the"),
        "{module}"
    );
    let other = wat::parse_str("(component)").unwrap();
    for (bytes, what) in [
        (&b"{}"[..], "this is not WebAssembly"),
        (&other, "does not export `oncegate:"),
    ] {
        let said = Author::refuses("made.wasm", bytes);
        assert!(said.contains(what) && !said.contains("macro"), "{said}");
        assert!(
            said.contains("-n connector`") && said.contains("-w connector`"),
            "{said}"
        );
    }
    let with = |more: &str| {
        let text = COMPONENT.replacen("(component", &format!("(component {more}"), 1);
        Author::refuses("made.wasm", &wat::parse_str(text).unwrap())
    };
    let curious = with(r#"(import "wasi:http/outgoing-handler@0.2.0" (instance))"#);
    assert!(
        curious.contains("imports `wasi:http/outgoing-handler@0.2.0`"),
        "{curious}"
    );
    let greedy = with("(core module (memory 2000))");
    assert!(
        greedy.contains("needs 131072000 bytes of memory to start with"),
        "{greedy}"
    );
}

#[test]
fn what_is_wrong_with_the_files_is_said_with_its_place() {
    assert_eq!(
        Author::refuses("connector.toml", MANIFEST.replace("write", "wriet").as_bytes()),
        "DIR/connector.toml:7:10: no effect \"wriet\"\n  to mend: write effect = \"read\" or \"write\""
    );
    let cut = Author::refuses("schemas.json", b"{\"actions\": {\n  \"send\": }");
    assert!(
        cut.starts_with("DIR/schemas.json:2:11: expected value\n  to mend: write {\"settings\""),
        "{cut}"
    );
    let odd = Author::refuses("schemas.json", SCHEMAS.replace("output", "result").as_bytes());
    assert!(
        odd.contains("unknown field `result`, expected `input` or `output`"),
        "{odd}"
    );
    let twice = SCHEMAS.replace("\"output\"", "\"input\": true, \"output\"");
    let twice = Author::refuses("schemas.json", twice.as_bytes());
    assert!(twice.contains("duplicate field `input`"), "{twice}");
    let twice = SCHEMAS.replace("\"type\"", "\"type\": \"string\", \"type\"");
    let twice = Author::refuses("schemas.json", twice.as_bytes());
    assert!(twice.contains("names \"/actions/send/input/type\" twice"), "{twice}");
    let open = Author::refuses("schemas.json", SCHEMAS.replace("\"object\"", "\"thing\"").as_bytes());
    assert!(
        open.starts_with(
            "DIR/schemas.json: the schema of send's input cannot be used: it is no schema: /type is \"thing\""
        ),
        "{open}"
    );
    assert!(open.contains("\n  to mend: write it in JSON Schema 2020-12"), "{open}");
    for (text, place) in [
        ("[]", "it"),
        (r#"{"actions": []}"#, "/actions"),
        (r#"{"actions": {"send": [true, true]}}"#, "/actions/send"),
    ] {
        let said = Author::refuses("schemas.json", text.as_bytes());
        let wanted = format!("DIR/schemas.json: {place} must be an object {{…}}\n  to mend: write");
        assert!(said.starts_with(&wanted), "{said}");
    }
}

#[test]
fn every_action_has_schemas_and_the_odd_one_is_named() {
    let missing = Author::refuses("schemas.json", b"{\"actions\": {}}");
    assert!(
        missing.starts_with("DIR/schemas.json: the action \"send\" is in the manifest and has no schemas"),
        "{missing}"
    );
    let more = SCHEMAS.replace("\"send\"", "\"look\": {\"input\": true, \"output\": true}, \"send\"");
    let more = Author::refuses("schemas.json", more.as_bytes());
    assert!(
        more.starts_with("DIR/connector.toml: the action \"look\" is in the schemas and not in the manifest"),
        "{more}"
    );
}

#[test]
fn a_missing_file_is_named_with_the_option_that_names_another() {
    for (name, option) in [
        ("made.wasm", "the component that your toolchain wrote"),
        ("connector.toml", "--manifest"),
        ("schemas.json", "--schemas"),
    ] {
        let author = Author::new();
        std::fs::remove_file(author.0.path().join(name)).unwrap();
        let said = author.refused();
        assert!(said.starts_with(&format!("DIR/{name} cannot be read")), "{said}");
        assert!(said.contains(option), "{said}");
    }
}

#[test]
fn an_example_that_does_not_fit_its_schema_is_refused_with_the_place_in_it() {
    let example = "requests = [{ method = \"POST\", path = \"/x\", kind = \"write\" }]\n[actions.example]\ninput = { n = \"1\" }\n\
                   [[actions.example.answers]]\nrequest = \"POST /x\"\nstatus = 201\n";
    let manifest = MANIFEST.replace("requests = \"connection\"\n", example);
    let strict = SCHEMAS.replace(
        r#"{"type": "object"}"#,
        r#"{"type": "object", "properties": {"n": {"type": "number"}}}"#,
    );
    let author = Author::new();
    author.write("connector.toml", manifest.as_bytes());
    let packed = pack(&author.options()).unwrap().file;
    std::fs::remove_file(&packed).unwrap();
    author.write("schemas.json", strict.as_bytes());
    let said = author.refused();
    assert!(
        said.starts_with("DIR/connector.toml: the example of the action \"send\" does not fit its input schema: /n: "),
        "{said}"
    );
}
