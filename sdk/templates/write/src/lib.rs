//! Creates items. One request that changes something, and one that asks whether it took effect.

use oncegate_sdk::prelude::*;

/// What a step of a flow gives. Comments on the fields become what the flow's designer reads.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// What people call it.
    pub title: String,
    /// How many.
    pub quantity: u32,
}

/// What later steps of the flow can use, as `steps.ID.output.id`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Created {
    /// The destination's number.
    pub id: String,
}

/// Creates one item.
pub struct CreateItem;

impl Action for CreateItem {
    const NAME: &'static str = "create-item";
    type Settings = NoSettings;
    type Input = Item;
    type Output = Created;

    // Called again after a lost answer or a crash, with the same input and key: it must build the same request. There is no
    // clock and no randomness here, so it does.
    fn perform(call: &Call<Self>) -> Result<Created, Failure> {
        // `send_ok` turns all but a 2xx into the failure that its status usually means. Say what you saw, not what you
        // hope: the host saw the wire as well, and never becomes less careful by your word.
        Request::post("api", "/items").json(&call.input).send_ok()?.json()
    }

    // Called when an answer was lost: did it take effect? It may only read.
    fn lookup(call: &Call<Self>, _doubt: &Doubt) -> Result<Finding<Created>, Failure> {
        #[derive(Deserialize)]
        struct Shown {
            id: String,
            key: String,
        }
        let request = Request::get("api", "/items/by-key/{key}").value("key", &call.key);
        let Some(answer) = request.send()?.unless_missing()? else {
            return Ok(Finding::Absent);
        };
        let shown: Shown = answer.json()?;
        // Found is only what is ours. A search that ignored our filter would show somebody else's item here.
        if shown.key != call.key {
            return Ok(Finding::unsure("the destination showed an item with another key"));
        }
        let reference = shown.id.clone();
        Ok(Finding::by_key(Created { id: shown.id }, reference))
    }
}

oncegate_sdk::export!(CreateItem);

#[cfg(test)]
mod tests {
    use super::*;
    use oncegate_sdk::mock::Mock;
    use serde_json::json;

    #[test]
    fn an_item_is_created_with_what_the_flow_gives() {
        let host = Mock::new().answer(201, json!({ "id": "item-1" }));
        let output = host.perform::<CreateItem>(json!({ "title": "Blue pencil", "quantity": 3 }));
        assert_eq!(output, Ok(json!({ "id": "item-1" })));
        let request = &host.requests()[0];
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/items"));
        assert_eq!(
            request.body.as_deref(),
            Some(br#"{"title":"Blue pencil","quantity":3}"#.as_slice())
        );
    }

    #[test]
    fn a_refusal_says_why_in_the_destinations_words() {
        let host = Mock::new().answer(422, json!({ "error": "no pencils left" }));
        let failure = host.perform::<CreateItem>(json!({ "title": "Blue pencil", "quantity": 3 }));
        let Err(Failure::Rejected(problem)) = failure else {
            panic!("{failure:?}")
        };
        assert!(problem.message.contains("no pencils left"), "{problem:?}");
    }

    #[test]
    fn only_an_item_with_our_key_is_found() {
        let input = json!({ "title": "Blue pencil", "quantity": 3 });
        let found = |key: &str| {
            let host = Mock::new()
                .key("og1_ours")
                .answer(200, json!({ "id": "item-1", "key": key }));
            host.lookup::<CreateItem>(&input)
        };
        assert!(matches!(found("og1_ours"), Finding::Found(_)));
        assert!(matches!(found("og1_theirs"), Finding::Unsure(_)));
        let nothing = Mock::new().answer(404, json!({}));
        assert_eq!(nothing.lookup::<CreateItem>(&input), Finding::Absent);
    }
}
