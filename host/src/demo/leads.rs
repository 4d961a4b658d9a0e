//! The demo's leads, the same on every run.

use serde_json::{Value, json};

/// How many leads are sent.
pub const LEADS: usize = 200;
/// Every so many leads, one that the CRM refuses for good.
const REFUSED_EVERY: usize = 67;
/// By which the CRM knows what it refuses.
pub const REFUSED_DOMAIN: &str = "refused.example";
/// Every so many leads, one that comes twice under its id with another name.
const CONFLICT_EVERY: usize = 90;
/// Every so many deliveries, one without an id.
const NO_ID_EVERY: usize = 50;

/// One lead, as its form sends it.
pub struct Lead {
    /// Its business identity.
    pub id: String,
    /// What the form sends.
    pub body: Value,
    /// The team hears of it.
    pub phone: bool,
    /// The form was sent twice at the same moment.
    pub doubled: bool,
    /// The id came again with this other content.
    pub conflict: Option<Value>,
}

/// All leads.
pub fn all() -> Vec<Lead> {
    (1..=LEADS).map(lead).collect()
}

/// Deliveries that name no lead: the door must refuse them.
pub fn without_id() -> Vec<Value> {
    (1..=LEADS / NO_ID_EVERY)
        .map(|n| json!({ "name": format!("Nobody {n}"), "email": "nobody@example.com" }))
        .collect()
}

fn lead(n: usize) -> Lead {
    let id = format!("lead-{n:04}");
    let domain = if n.is_multiple_of(REFUSED_EVERY) {
        REFUSED_DOMAIN
    } else {
        "example.com"
    };
    let phone = n.is_multiple_of(2);
    let mut body = json!({
        "submission_id": id,
        "name": format!("Lead {n}"),
        "email": format!("lead{n}@{domain}"),
    });
    if phone {
        body["phone"] = json!(format!("+49 151 {n:07}"));
    }
    let conflict = n.is_multiple_of(CONFLICT_EVERY).then(|| {
        let mut other = body.clone();
        other["name"] = json!(format!("Somebody else than lead {n}"));
        other
    });
    Lead {
        id,
        body,
        phone,
        doubled: n.is_multiple_of(3),
        conflict,
    }
}
