//! What a step in doubt may do, once its connection has moved on: to another version of the connector, or to another file.

use super::super::connection::ConnectionSpec;
use super::super::manifest::Action;
use super::{Approved, KeyPlace, grant};
use crate::egress::Place;
use oncegate_domain::doubt;
use std::collections::BTreeMap;

/// The connector, the settings and the request list of the intent (`then`), so that the same request can be built again;
/// but the place, the credentials, the limits and the operator's word on the destination (`spec`) are those of now.
/// `action` is what the connector of the intent says about itself: what a later version claims is about later requests.
pub(in super::super) fn as_recorded(
    then: &Approved,
    action: &Action,
    now: &Approved,
    spec: &ConnectionSpec,
) -> Approved {
    let trust = spec.actions.get(&then.action).cloned().unwrap_or_default();
    let dedup = trust.dedup.clone().unwrap_or_else(|| action.dedup.clone());
    // Nobody can mend what does not fit here, and nothing has to: a lookup is never earlier than the request timeout
    // whatever the terms say, and one without a listed read finds nothing out.
    let mut terms = grant::terms(action, &dedup, &trust, &then.requests, spec, &mut Vec::new());
    // A key protects the request that carried it. Of one that was sent without, or with the key elsewhere, the
    // destination recognises nothing, whatever it does with later ones.
    let carried = same_place(&then.key, &grant::key_place(&dedup)) && then.natural == grant::natural(&dedup);
    if !carried {
        terms.dedup = doubt::Dedup::None;
    }
    Approved {
        terms,
        account: now.account.clone(),
        places: places(&then.places, &now.places),
        auth: now.auth.clone(),
        secrets: now.secrets.clone(),
        probe: now.probe.clone(),
        limits: now.limits,
        ..then.clone()
    }
}

/// By name of the endpoint; where a version gave it another name, by origin.
fn places(then: &BTreeMap<String, Place>, now: &BTreeMap<String, Place>) -> BTreeMap<String, Place> {
    let place = |(name, old): (&String, &Place)| {
        let same_origin = || now.values().find(|place| place.origin == old.origin);
        let place = now.get(name).or_else(same_origin)?;
        Some((name.clone(), place.clone()))
    };
    then.iter().filter_map(place).collect()
}

/// How the key is written does not matter: a resend carries the very key that was recorded.
fn same_place(then: &KeyPlace, now: &KeyPlace) -> bool {
    match (then, now) {
        (KeyPlace::None, KeyPlace::None) => true,
        (KeyPlace::Header { name: then, .. }, KeyPlace::Header { name: now, .. }) => then.eq_ignore_ascii_case(now),
        (KeyPlace::Field { pointer: then, .. }, KeyPlace::Field { pointer: now, .. }) => then == now,
        (KeyPlace::None | KeyPlace::Header { .. } | KeyPlace::Field { .. }, _) => false,
    }
}

#[cfg(test)]
mod tests;
