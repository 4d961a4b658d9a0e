//! Forgetting a person: their runs, found by business words, are erased now. One request looks through one part of history and
//! says where the next one begins, so that none takes long and nobody waits for one.

use super::extract::Sent;
use super::guard::{Caller, Role};
use super::{Api, ledger_problem};
use crate::clock::utc;
use crate::ledger::{
    AuditEntry, CONFLICTS_PER_PAGE, ConflictingEvent, Forget, Forgotten, Kept, RUNS_PER_ERASING_MAX, Word,
};
use crate::problem::Problem;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use oncegate_domain::id::Id;
use oncegate_domain::key::forgotten_word;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Words of one request. More than these no flow has.
const WORDS_MAX: usize = 16;

/// Whom to forget.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForgetBody {
    /// A run must be about all of these.
    context: Vec<Item>,
    /// Only say what would be erased.
    #[serde(default)]
    dry_run: bool,
    /// The `next` of the part before.
    after: Option<Id>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    name: String,
    value: String,
}

/// What one part found.
struct Found {
    forgotten: Forgotten,
    /// Conflicting events that wait for a person, or whose words cannot be told: the item, and why.
    conflicts: Vec<(Id, String)>,
}

pub(super) async fn forget(
    State(api): State<Arc<Api>>,
    Extension(Caller(who)): Extension<Caller>,
    Extension(role): Extension<Role>,
    Sent(body): Sent<ForgetBody>,
) -> Result<Json<Value>, Problem> {
    role.must_be_admin()?;
    let words = words(body.context)?;
    let asked = Forget {
        runs: Vec::new(),
        events: Vec::new(),
        who,
        why: recorded(&api, &words),
        at_ms: api.clock.now_ms(),
    };
    if !body.dry_run && body.after.is_none() {
        // Before anything is erased, and also where nothing is found.
        record(&api, &asked).await?;
    }
    let part = api.ledger.runs_about(&words, body.after).await;
    let part = part.map_err(ledger_problem)?;
    let after = body.after.unwrap_or(Id::from_bytes([0; 16]));
    let (events, conflicts) = conflicting(&api, &words, after, part.up_to).await?;
    let forgotten = match body.dry_run {
        true => {
            let could = api.ledger.could_forget(&part.runs).await.map_err(ledger_problem)?;
            Forgotten { events, ..could }
        }
        false => erase(&api, &part.runs, &events, &asked).await?,
    };
    let found = Found { forgotten, conflicts };
    let next = part.more.then_some(part.up_to);
    Ok(Json(shown(&found, body.dry_run, part.looked_at, next)))
}

async fn record(api: &Api, asked: &Forget) -> Result<(), Problem> {
    let entry = AuditEntry {
        at_ms: asked.at_ms,
        who: asked.who.clone(),
        what: "forget".to_owned(),
        subject: asked.why.clone(),
        why: String::new(),
    };
    api.ledger.audit(entry).await.map_err(ledger_problem)
}

/// One batch after the other: each is a command of its own, and events come in between.
async fn erase(api: &Api, runs: &[Id], events: &[Id], asked: &Forget) -> Result<Forgotten, Problem> {
    let of = |runs: &[Id], events: &[Id]| Forget {
        runs: runs.to_vec(),
        events: events.to_vec(),
        ..asked.clone()
    };
    let runs = runs.chunks(RUNS_PER_ERASING_MAX).map(|runs| of(runs, &[]));
    let events = events.chunks(RUNS_PER_ERASING_MAX).map(|events| of(&[], events));
    let mut forgotten = Forgotten::default();
    for batch in runs.chain(events) {
        let done = api.ledger.forget(batch).await.map_err(ledger_problem)?;
        forgotten.runs.extend(done.runs);
        forgotten.kept.extend(done.kept);
        forgotten.events.extend(done.events);
    }
    Ok(forgotten)
}

fn words(context: Vec<Item>) -> Result<Vec<Word>, Problem> {
    let wrong = |detail: &str| Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    if context.is_empty() || context.len() > WORDS_MAX {
        return wrong("`context` names at least one business word, and at most 16: name and value");
    }
    // Else a typing mistake would forget everybody of whom nothing is known.
    if context.iter().any(|item| item.name.is_empty() || item.value.is_empty()) {
        return wrong("a business word has a name and a value; an empty one would match whoever has none");
    }
    let word = |item: Item| Word {
        name: item.name,
        value: item.value,
    };
    Ok(context.into_iter().map(word).collect())
}

/// How the record names them: the value as its HMAC, so that the record does not keep what was forgotten.
fn recorded(api: &Api, words: &[Word]) -> String {
    let secret = &api.ledger.installation().secret;
    let word = |word: &Word| format!("{} hmac:{}", word.name, forgotten_word(secret, &word.name, &word.value));
    words.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Conflicting events that were kept and are about these words: those that can be erased, and those that cannot.
async fn conflicting(api: &Api, words: &[Word], after: Id, up_to: Id) -> Result<(Vec<Id>, Vec<(Id, String)>), Problem> {
    let (mut events, mut not_erased, mut after) = (Vec::new(), Vec::new(), after);
    loop {
        let page = api
            .ledger
            .conflicting_events(after, up_to)
            .await
            .map_err(ledger_problem)?;
        for conflict in &page {
            let ConflictingEvent { event, item, .. } = *conflict;
            match api.executor.words_of(conflict.run, event).await {
                Ok(context) if !Word::are_all_in(words, &context) => {}
                Ok(_) if conflict.is_open => not_erased.push((item, "waits for a person".to_owned())),
                Ok(_) => events.push(event),
                Err(why) => not_erased.push((item, format!("whom it is about cannot be told: {why}"))),
            }
        }
        match page.last() {
            Some(last) if page.len() == CONFLICTS_PER_PAGE as usize => after = last.event,
            Some(_) | None => return Ok((events, not_erased)),
        }
    }
}

fn shown(found: &Found, dry_run: bool, looked_at: u32, next: Option<Id>) -> Value {
    let Found { forgotten, conflicts } = found;
    let ids = |ids: &[Id]| ids.iter().map(Id::to_string).collect::<Vec<_>>();
    let kept = forgotten.kept.iter();
    let kept = kept.map(|(run, why)| json!({ "run": run.to_string(), "why": why_kept(*why) }));
    let conflicts = conflicts.iter();
    let conflicts = conflicts.map(|(item, why)| json!({ "item": item.to_string(), "why": why }));
    json!({
        "dry_run": dry_run,
        "looked_at": looked_at,
        "runs": ids(&forgotten.runs),
        "events": ids(&forgotten.events),
        "kept": kept.collect::<Vec<_>>(),
        "conflicts": conflicts.collect::<Vec<_>>(),
        "next": next.map(|id| id.to_string()),
        "looked_up_to": next.map(|id| utc(id.made_ms())),
    })
}

fn why_kept(why: Kept) -> &'static str {
    match why {
        Kept::InReview => "it is in front of a person: decide it first",
        Kept::InDoubt => "whether a step took effect is not known yet: let it be settled first",
        Kept::NotOver => "it is not over: let it end, or cancel it",
    }
}
