#![allow(clippy::unwrap_used)]

use super::super::manifest::GOOD;
use super::*;
use serde_json::json;
use wasm_encoder::{Component, CustomSection, Module, ModuleSection};

fn schemas() -> Schemas {
    let both = ActionSchemas {
        input: json!({"type": "object"}),
        output: json!(true),
    };
    Schemas {
        actions: BTreeMap::from([("upsert-contact".to_owned(), both)]),
        settings: Some(json!({"type": "object"})),
    }
}

fn described() -> String {
    to_json(&Manifest::parse(GOOD).unwrap(), &schemas())
}

fn empty() -> Vec<u8> {
    Component::new().finish()
}

#[test]
fn what_is_embedded_is_read_back() {
    let bytes = embed(&empty(), &described()).unwrap();
    let description = read(&bytes).unwrap();
    assert_eq!(description.manifest, Manifest::parse(GOOD).unwrap());
    assert!(description.actions["upsert-contact"].input.check(&json!({})).is_ok());
    assert!(description.settings.unwrap().check(&json!(1)).is_err());
    assert_eq!(description.json, described());
}

#[test]
fn there_is_exactly_one_section() {
    assert_eq!(read(&empty()).unwrap_err(), SectionError::Missing);
    let once = embed(&empty(), &described()).unwrap();
    assert_eq!(embed(&once, &described()).unwrap_err(), SectionError::Several(2));
    let mut twice = once;
    let section = CustomSection {
        name: SECTION.into(),
        data: Cow::Borrowed(b"{}"),
    };
    twice.push(ComponentSection::id(&section));
    Encode::encode(&section, &mut twice);
    assert_eq!(read(&twice).unwrap_err(), SectionError::Several(2));
}

#[test]
fn a_section_in_a_nested_module_is_refused() {
    let mut module = Module::new();
    module.section(&CustomSection {
        name: SECTION.into(),
        data: Cow::Borrowed(b"{}"),
    });
    let mut component = Component::new();
    component.section(&ModuleSection(&module));
    let bytes = component.finish();
    assert_eq!(read(&bytes).unwrap_err(), SectionError::Nested);
    assert_eq!(embed(&bytes, &described()).unwrap_err(), SectionError::Nested);
}

#[test]
fn only_a_component_describes_itself() {
    let error = read(&Module::new().finish()).unwrap_err().to_string();
    assert!(error.contains("this is no WebAssembly component"), "{error}");
    assert!(read(b"PK..").is_err());
    let mut cut = embed(&empty(), &described()).unwrap();
    cut.truncate(cut.len() - 10);
    assert!(matches!(read(&cut).unwrap_err(), SectionError::NoComponent(_)));
}

#[track_caller]
fn refused(json: &str) -> String {
    read(&embed(&empty(), json).unwrap()).unwrap_err().to_string()
}

#[test]
fn the_document_is_read_strictly() {
    assert!(refused("{").contains("cannot be read"));
    assert!(
        refused(&described().replace("\"format\":1", "\"format\":2"))
            .contains("has format 2, and this host reads format 1")
    );
    assert!(refused(&described().replacen('{', "{\"more\":1,", 1)).contains("more"));
    assert!(
        refused(&described().replacen('{', "{\"format\":1,", 1)).contains("twice"),
        "duplicate names"
    );
    assert!(
        refused(&described().replace("\"hubspot\"", "\"Hub\"")).contains("manifest.name: the name \"Hub\" is no name")
    );
}

#[test]
fn every_action_has_schemas_that_can_be_used() {
    let manifest = Manifest::parse(GOOD).unwrap();
    let mut other = schemas();
    let both = other.actions.remove("upsert-contact").unwrap();
    assert!(refused(&to_json(&manifest, &other)).contains("\"upsert-contact\" is in the manifest and not in the code"));
    other = schemas();
    other.actions.insert("more".into(), both);
    assert!(refused(&to_json(&manifest, &other)).contains("\"more\" is in the code and not in the manifest"));
    other = schemas();
    other.actions.get_mut("upsert-contact").unwrap().input = json!({"$ref": "https://x.y"});
    assert!(refused(&to_json(&manifest, &other)).contains("the schema of upsert-contact's input cannot be used"));
}

#[test]
fn a_section_is_read_up_to_its_limit() {
    let of_bytes = |bytes: usize| {
        let spaces = " ".repeat(bytes - described().len());
        read(&embed(&empty(), &format!("{}{spaces}", described())).unwrap())
    };
    assert_eq!(of_bytes(SECTION_BYTES_MAX).unwrap().json.len(), 4_194_304);
    let error = of_bytes(SECTION_BYTES_MAX + 1).unwrap_err();
    assert_eq!(error, SectionError::TooLarge(4_194_305));
}

#[test]
fn a_manifest_inside_a_component_is_read_up_to_its_limit() {
    let of_bytes = |bytes: usize| {
        let mut manifest = Manifest::parse(GOOD).unwrap().to_json().clone();
        manifest["actions"][0]["example"]["input"]["note"] = "".into();
        let more = bytes - manifest.to_string().len();
        manifest["actions"][0]["example"]["input"]["note"] = "x".repeat(more).into();
        json!({"format": FORMAT, "manifest": manifest, "schemas": schemas()}).to_string()
    };
    assert!(describe(&of_bytes(262_144)).is_ok());
    assert!(refused(&of_bytes(262_145)).contains("it has more than 262144 bytes"));
}
