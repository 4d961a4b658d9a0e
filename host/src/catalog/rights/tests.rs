#![allow(clippy::unwrap_used)]

use super::super::manifest::GOOD;
use super::*;

#[test]
fn rights_read_as_sentences() {
    let said = of(&Manifest::parse(GOOD).unwrap()).join("\n");
    assert_eq!(
        said,
        "\
the host signs with the secret \"token\" as a bearer token
talks to the endpoint \"api\"; proposed: https://api.hubapi.com
the host asks GET /account-info/v3/details by itself, to see whether the credentials work
upsert-contact (changes the destination): creates or updates one contact, found by its e-mail address
  changes by POST /crm/v3/objects/contacts/batch/upsert
  reads by GET /crm/v3/objects/contacts/{email}, query idProperty and properties, headers x-trace
  the same request again leaves the same state, by /email of the input
  after a lost answer it can be asked whether the effect exists, 30s later at the earliest"
    );
}

#[test]
fn the_difference_names_what_came_and_what_went() {
    let before = Manifest::parse(GOOD).unwrap();
    let more = "[[actions.requests]]\nmethod = \"DELETE\"\npath = \"/crm/v3/objects/contacts/{id}\"\nkind = \"write\"\n\
                [[actions]]\nname = \"find\"\neffect = \"read\"\nsays = \"finds\"\n[[actions.requests]]\nmethod = \"GET\"\n\
                path = \"/find\"\nkind = \"read\"\n";
    let source = GOOD
        .replace("kind = \"bearer\"", "kind = \"query\"\nname = \"key\"")
        .replace(", \"properties\"", "");
    let after = Manifest::parse(&format!("{source}{more}")).unwrap();
    let said = difference(&before, &after).join("\n");
    assert_eq!(
        said,
        "\
- the host signs with the secret \"token\" as a bearer token
+ the host signs with the secret \"token\" in the query parameter key
+ find (only reads): finds
+ find: reads by GET /find
- upsert-contact: reads by GET /crm/v3/objects/contacts/{email}, query idProperty and properties, headers x-trace
+ upsert-contact: reads by GET /crm/v3/objects/contacts/{email}, query idProperty, headers x-trace
+ upsert-contact: changes by DELETE /crm/v3/objects/contacts/{id}"
    );
    assert_eq!(difference(&before, &before), Vec::<String>::new());
}
