//! How the files of a folder are read, before anything of them is planned.

use super::*;

#[test]
fn a_folder_is_read_as_it_lies_there() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, bytes: &[u8]| {
        let file = dir.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    };
    write("oncegate.toml", b"not even = TOML =");
    write("connectors/hubspot.wasm", &component(GOOD));
    write("connectors/README.md", b"not a connector");
    write("connections/crm.toml", CRM.as_bytes());
    write("flows/lead.toml", FLOW.as_bytes());
    write("flows/lead.example.json", EXAMPLE.as_bytes());
    write("flows/.hidden.toml", b"x");
    let read_back = read(dir.path()).unwrap();
    assert_eq!(
        read_back.connectors.keys().collect::<Vec<_>>(),
        ["connectors/hubspot.wasm"]
    );
    assert_eq!(read_back.flows.keys().collect::<Vec<_>>(), ["flows/lead.toml"]);
    assert_eq!(read_back.examples["lead.example.json"], EXAMPLE);
    assert_eq!(planned(&read_back, &CatalogRows::default(), &[]).changes.len(), 3);
    let missing = read(&dir.path().join("nowhere")).unwrap_err()[0].to_string();
    assert!(missing.contains("this is no folder"), "{missing}");
}

#[test]
fn a_file_that_is_not_utf_8_hides_nothing_of_the_others_and_is_missed_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, bytes: &[u8]| {
        let file = dir.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    };
    write("connectors/hubspot.wasm", &component(GOOD));
    write("connections/crm.toml", &[CRM.as_bytes(), b"# caf\xe9\n"].concat());
    write("flows/bad.toml", &[0xff]);
    write("flows/lead.toml", FLOW.replace("title", "tittle").as_bytes());
    write("flows/lead.example.json", b"{\"id\": \"\xff\", \"email\": \"a@b.c\"}");
    let said = wrong(&read(dir.path()).unwrap());
    assert_eq!(said.len(), 4, "{said:#?}");
    for (told, file) in said
        .iter()
        .zip(["connections/crm.toml", "flows/bad.toml", "flows/lead.example.json"])
    {
        assert_eq!(*told, format!("{file}: it is not UTF-8; save it as UTF-8"));
    }
    assert!(
        said[3].starts_with("flows/lead.toml:") && said[3].contains("tittle"),
        "{said:#?}"
    );

    write("connections/crm.toml", CRM.as_bytes());
    write("connectors/hubspot.wasm", b"no component");
    std::fs::remove_file(dir.path().join("flows/bad.toml")).unwrap();
    write("flows/lead.toml", FLOW.as_bytes());
    write("flows/lead.example.json", EXAMPLE.as_bytes());
    let said = wrong(&read(dir.path()).unwrap());
    assert!(
        said.len() == 1 && said[0].starts_with("connectors/hubspot.wasm"),
        "{said:#?}"
    );
}
