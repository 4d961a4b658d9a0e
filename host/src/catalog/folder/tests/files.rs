//! How the files of a folder are read, before anything of them is planned.

use super::*;
use oncegate_domain::limits;

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

/// One file too many, or one that is too large, is said; nothing is left out in silence.
#[test]
fn a_folder_is_read_up_to_its_bounds_and_refused_one_past_them() {
    let said = |fill: &dyn Fn(&std::path::Path)| {
        let dir = tempfile::tempdir().unwrap();
        for part in PARTS {
            std::fs::create_dir(dir.path().join(part)).unwrap();
        }
        fill(dir.path());
        match read(dir.path()) {
            Ok(_) => "read".to_owned(),
            Err(problems) => problems[0].to_string(),
        }
    };
    // Sparse: only their length is looked at where they are too large.
    let of_length = |file: &'static str, bytes: u64| {
        move |dir: &std::path::Path| std::fs::File::create(dir.join(file)).unwrap().set_len(bytes).unwrap()
    };
    let files = |count: usize| {
        move |dir: &std::path::Path| {
            for n in 0..count {
                std::fs::write(dir.join(format!("flows/{n}.txt")), "").unwrap();
            }
        }
    };
    let component = limits::COMPONENT_BYTES_MAX as u64;
    assert_eq!(said(&files(2_000)), "read");
    assert!(said(&files(2_001)).contains("there are 2001 files, at most 2000 are read"));
    assert_eq!(said(&of_length("flows/a.toml", 1 << 20)), "read");
    let told = said(&of_length("flows/a.toml", (1 << 20) + 1));
    assert!(
        told.contains("1048577 bytes, at most 1048576") && told.contains("make it smaller"),
        "{told}"
    );
    assert_eq!(said(&of_length("connectors/a.wasm", component)), "read");
    let told = said(&of_length("connectors/a.wasm", component + 1));
    assert!(
        told.contains("33554433 bytes, at most 33554432") && told.contains("make it smaller"),
        "{told}"
    );
}
