//! Reads items. It changes nothing, so whatever goes wrong is tried again by the host.

use oncegate_sdk::prelude::*;

/// What a step of a flow gives. Comments on the fields become what the flow's designer reads.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The item's number.
    pub id: String,
}

/// What later steps of the flow can use, as `steps.ID.output.title`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Item {
    /// The item's number.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// Whatever the destination says of the price. `Json` keeps every digit of what is only passed on.
    pub price: Option<Json>,
}

/// Reads one item.
pub struct GetItem;

impl Action for GetItem {
    const NAME: &'static str = "get-item";
    type Settings = NoSettings;
    type Input = Wanted;
    type Output = Item;

    fn perform(call: &Call<Self>) -> Result<Item, Failure> {
        // `.value` percent-encodes; an empty value, or one with a slash, is refused before anything is sent. `send_ok` turns
        // all but a 2xx into the failure that its status usually means.
        Request::get("api", "/items/{id}")
            .value("id", &call.input.id)
            .send_ok()?
            .json()
    }
}

oncegate_sdk::export!(GetItem);

#[cfg(test)]
mod tests {
    use super::*;
    use oncegate_sdk::mock::Mock;
    use serde_json::json;

    #[test]
    fn an_item_is_read_by_its_number() {
        let host = Mock::new().answer_with(oncegate_sdk::Answer {
            status: 200,
            headers: Vec::new(),
            body: br#"{"id":"a b","title":"Blue pencil","price":12.30}"#.to_vec(),
        });
        let output = host.perform::<GetItem>(json!({ "id": "a b" }));
        assert_eq!(host.requests()[0].path, "/items/a%20b");
        let output = output.unwrap();
        assert_eq!(output["title"], "Blue pencil");
        assert_eq!(output["price"].to_string(), "12.30");
    }

    #[test]
    fn what_is_not_there_is_said_so() {
        let host = Mock::new().answer(404, json!({ "error": "no such item" }));
        assert!(matches!(
            host.perform::<GetItem>(json!({ "id": "x" })),
            Err(Failure::Rejected(_))
        ));
    }
}
