//! `oncegate connector list --builtin`: what comes with this program, without asking a host.

use super::print;
use crate::catalog::{BUILTIN, Builtin, digest_of, rights, section};
use serde_json::{Value, json};

pub fn list(json: bool) -> anyhow::Result<()> {
    let items = BUILTIN.iter().map(described).collect::<Result<Vec<_>, _>>()?;
    print(&json!({ "items": items, "next": null }), json, for_people);
    Ok(())
}

/// The fields of the API's listing, with title and rights.
fn described(connector: &Builtin) -> Result<Value, section::SectionError> {
    let manifest = section::read(connector.bytes)?.manifest;
    Ok(json!({
        "name": manifest.name,
        "version": manifest.version,
        "title": manifest.title,
        "bytes": connector.bytes.len(),
        "digest": digest_of(connector.bytes),
        "rights": rights::of(&manifest),
    }))
}

fn for_people(answer: &Value) -> String {
    let cards: Vec<String> = super::runs::items(answer).map(card).collect();
    cards.join("\n")
}

fn card(item: &Value) -> String {
    let said = |name: &str| super::text(item, name);
    let kilobytes = item["bytes"].as_u64().unwrap_or_default().div_ceil(1000);
    let mut card = format!("{} {}: {}\n", said("name"), said("version"), said("title"));
    card += &format!(
        "  size    {kilobytes} KB\n  digest  {}\nWhat it may do:\n",
        said("digest")
    );
    for line in item["rights"].as_array().into_iter().flatten() {
        card += &format!("  {}\n", line.as_str().unwrap_or_default());
    }
    card
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connector_is_listed_with_its_size_its_digest_and_its_rights_in_words() {
        let items: Vec<Value> = BUILTIN
            .iter()
            .map(|connector| described(connector).expect("it is built in"))
            .collect();
        let said = for_people(&json!({ "items": items }));
        for (connector, item) in BUILTIN.iter().zip(&items) {
            assert_eq!(item["name"], connector.name);
            assert!(item["bytes"].as_u64() > Some(100_000), "{item}");
            assert!(
                item["digest"].as_str().is_some_and(|digest| digest.len() == 71),
                "{item}"
            );
        }
        assert!(said.contains("resend 0.1.0: Resend (e-mail)\n  size    1"), "{said}");
        assert!(
            said.contains("\nWhat it may do:\n  the host signs with the secret \"token\" as a bearer token\n"),
            "{said}"
        );
        assert!(
            said.contains("\n    reads by POST /crm/v3/objects/notes/search\n"),
            "{said}"
        );
    }
}
