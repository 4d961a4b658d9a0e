//! Taking events in: the claim of the key, the run and its steps are one transaction, so that no key is ever claimed
//! without a run that can go on (case C4).

use super::batch::Template;
use super::database::{Conn, Value};
use super::rows::{Row, due_ms, run_is_final, run_state_word, wait_reason};
use super::{Accepted, NewEvent, NewStep};
use super::{LedgerError, Result, new_id};
use oncegate_domain::id::Id;
use oncegate_domain::run;
use std::collections::BTreeMap;

/// An event with the ids that its other rows will have: made before it is sent to the writer, so that a repetition after
/// a rollback writes the same.
pub(super) struct Accept {
    pub event: NewEvent,
    pub run: Id,
    pub item: Id,
    pub steps: Vec<Id>,
}

impl Accept {
    pub(super) fn new(event: NewEvent) -> Self {
        let at_ms = event.received_ms;
        let steps = event.steps.iter().map(|_| new_id(at_ms)).collect();
        Accept {
            run: new_id(at_ms),
            item: new_id(at_ms),
            steps,
            event,
        }
    }
}

/// The run that holds a key already.
#[derive(Clone, Debug)]
struct Holder {
    run: Id,
    state: run::State,
    fingerprint: [u8; 32],
}

pub(super) static FIND_SIGNED: Template<2> = Template::find(
    "runs.id, runs.state, runs.fingerprint",
    "events JOIN runs ON runs.id = events.run_id",
    &["flow_id", "signed_digest"],
    "events.flow_id = v.flow_id AND events.signed_digest = v.signed_digest
       AND events.signed_digest IS NOT NULL AND events.kind <> 'duplicate'",
);
pub(super) static FIND_KEY: Template<2> = Template::find(
    "runs.id, runs.state, runs.fingerprint",
    "runs",
    &["flow_id", "key_hash"],
    "runs.flow_id = v.flow_id AND runs.key_hash = v.key_hash",
);
/// The unique index decides whether the key is free, not a look before.
pub(super) static INSERT_RUN: Template<11> = Template::insert(
    "runs",
    &[
        "id",
        "flow_id",
        "flow_revision",
        "event_id",
        "event_key",
        "key_hash",
        "fingerprint",
        "context",
        "state",
        "created_ms",
        "finished_ms",
    ],
    "ON CONFLICT (flow_id, key_hash) DO NOTHING",
);
pub(super) static INSERT_EVENT: Template<14> = Template::insert(
    "events",
    &[
        "id",
        "flow_id",
        "run_id",
        "kind",
        "received_ms",
        "source",
        "verified_by",
        "fingerprint",
        "signed_digest",
        "content_type",
        "content_encoding",
        "headers",
        "query",
        "body",
    ],
    "",
);
pub(super) static INSERT_STEP: Template<19> = Template::insert(
    "steps",
    &[
        "id",
        "run_id",
        "ordinal",
        "flow_revision",
        "name",
        "role",
        "item",
        "correction",
        "connection",
        "action",
        "state",
        "wait_reason",
        "in_doubt_since_ms",
        "standing",
        "version",
        "epoch",
        "due_ms",
        "last_number",
        "input",
    ],
    "",
);

/// Takes in events of which no two have the same key or the same signed bytes.
pub(super) async fn apply(conn: &mut Conn<'_>, epoch: i64, accepts: &[&Accept]) -> Result<Vec<Accepted>> {
    let events = || accepts.iter().map(|accept| &accept.event).enumerate();
    let signed = events().filter_map(|(place, event)| {
        let digest = event.signed_digest.as_ref()?;
        Some((place, [Value::id(event.flow_id), Value::bytes(digest)]))
    });
    let mut holders = holders(conn, &FIND_SIGNED, signed).await?;
    let claims = (0..accepts.len()).filter(|place| !holders.contains_key(place));
    let claims: Vec<usize> = claims.collect();
    let claimed = INSERT_RUN
        .change(conn, claims.iter().map(|place| first_row(accepts[*place])))
        .await?;
    let is_new: BTreeMap<usize, bool> = claims.into_iter().zip(claimed).collect();
    let is_new = |place: usize| is_new.get(&place).copied();
    let new = (0..accepts.len()).filter(|place| is_new(*place) == Some(true));
    let new: Vec<&Accept> = new.map(|place| accepts[place]).collect();
    write_new(conn, epoch, &new).await?;

    let taken = events().filter(|(place, _)| is_new(*place) == Some(false));
    let taken = taken.map(|(place, event)| (place, [Value::id(event.flow_id), Value::bytes(&event.key_hash)]));
    holders.extend(self::holders(conn, &FIND_KEY, taken).await?);
    let mut verdicts = Vec::with_capacity(accepts.len());
    for (place, accept) in accepts.iter().enumerate() {
        verdicts.push(match (is_new(place), holders.get(&place)) {
            (Some(true), _) => Accepted::New {
                run: accept.run,
                event: accept.event.id,
                steps: accept.steps.clone(),
            },
            (Some(false), Some(holder)) => by_key(conn, accept, holder).await?,
            // The very bytes came before: whatever the key says, it is the same event.
            (None, Some(holder)) => duplicate(holder.run, holder.state),
            (_, None) => {
                let why = "its key is taken by no run".into();
                return Err(LedgerError::Invalid { what: "an event", why });
            }
        });
    }
    list_again(conn, accepts, &verdicts).await?;
    Ok(verdicts)
}

/// The runs that hold what is asked for, by the place of who asks.
async fn holders<'a>(
    conn: &mut Conn<'_>,
    find: &'static Template<2>,
    asked: impl Iterator<Item = (usize, [Value<'a>; 2])>,
) -> Result<BTreeMap<usize, Holder>> {
    let (places, rows): (Vec<_>, Vec<_>) = asked.unzip();
    let found = find.find_each(conn, rows.into_iter()).await?;
    let found = places.into_iter().zip(found);
    found
        .filter_map(|(place, mut rows)| Some(holder(rows.pop()?).map(|holder| (place, holder))))
        .collect()
}

/// Events and steps of runs whose keys were free.
async fn write_new(conn: &mut Conn<'_>, epoch: i64, new: &[&Accept]) -> Result<()> {
    let events = new.iter().map(|accept| event_row(accept, accept.run, Kind::First));
    INSERT_EVENT.change(conn, events).await?;
    let steps = new.iter().flat_map(|accept| {
        let (event, steps) = (&accept.event, accept.event.steps.iter().zip(&accept.steps));
        steps.map(move |(step, id)| step_row(*id, accept.run, event.flow_revision, epoch, event.received_ms, step))
    });
    INSERT_STEP.change(conn, steps).await?;
    Ok(())
}

/// Lists deliveries whose keys are taken; one that is a conflict was kept whole before.
async fn list_again(conn: &mut Conn<'_>, accepts: &[&Accept], verdicts: &[Accepted]) -> Result<()> {
    let again = accepts
        .iter()
        .zip(verdicts)
        .filter_map(|(accept, verdict)| match verdict {
            Accepted::New { .. } => None,
            Accepted::Conflict { event: kept, .. } if *kept == accept.event.id => None,
            Accepted::Duplicate { run, .. } | Accepted::Conflict { run, .. } => Some((accept, *run)),
        });
    let events = again.map(|(accept, run)| event_row(accept, run, Kind::Duplicate));
    INSERT_EVENT.change(conn, events).await?;
    Ok(())
}

/// What an event means whose key `holder` has.
async fn by_key(conn: &mut Conn<'_>, accept: &Accept, holder: &Holder) -> Result<Accepted> {
    let event = &accept.event;
    match event.fingerprint_covers && holder.fingerprint != event.fingerprint {
        true => conflict(conn, accept, holder.run).await,
        false => Ok(duplicate(holder.run, holder.state)),
    }
}

fn duplicate(run: Id, state: run::State) -> Accepted {
    Accepted::Duplicate { run, state }
}

fn holder(row: Row) -> Result<Holder> {
    row.decode("runs", |row| {
        Ok(Holder {
            run: row.id()?,
            state: row.word()?,
            fingerprint: row.digest()?,
        })
    })
}

/// The run of an event, if its key is free.
fn first_row(accept: &Accept) -> [Value<'_>; 11] {
    let event = &accept.event;
    run_row(&NewRun {
        id: accept.run,
        event: event.id,
        flow_id: event.flow_id,
        flow_revision: event.flow_revision,
        key: event.key.as_str(),
        key_hash: &event.key_hash,
        fingerprint: &event.fingerprint,
        context: &event.context,
        steps: &event.steps,
        at_ms: event.received_ms,
    })
}

/// What a run's row is made of.
pub(super) struct NewRun<'a> {
    pub id: Id,
    pub event: Id,
    pub flow_id: Id,
    pub flow_revision: u32,
    pub key: &'a str,
    pub key_hash: &'a [u8; 32],
    pub fingerprint: &'a [u8; 32],
    pub context: &'a [super::ContextItem],
    pub steps: &'a [NewStep],
    pub at_ms: i64,
}

pub(super) fn run_row<'a>(run: &NewRun<'a>) -> [Value<'a>; 11] {
    let states: Vec<_> = run.steps.iter().map(|step| step.state.state).collect();
    let state = run::state(&states);
    [
        Value::id(run.id),
        Value::id(run.flow_id),
        Value::number(run.flow_revision),
        Value::id(run.event),
        Value::text(run.key),
        Value::bytes(run.key_hash),
        Value::bytes(run.fingerprint),
        Value::json(run.context),
        Value::text(run_state_word(state)),
        Value::int(run.at_ms),
        Value::Int(run_is_final(state).then_some(run.at_ms)),
    ]
}

/// What a delivery was, as stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    First,
    Duplicate,
    Conflict,
}

/// A duplicate is listed, but neither its body nor its digest is kept: they are those of the first.
fn event_row(accept: &Accept, run: Id, kind: Kind) -> [Value<'_>; 14] {
    let event = &accept.event;
    let (kind, whole) = match kind {
        Kind::First => ("first", true),
        Kind::Duplicate => ("duplicate", false),
        Kind::Conflict => ("conflict", true),
    };
    let json = |value: &BTreeMap<String, String>| match whole {
        true => Value::json(value),
        false => Value::text(""),
    };
    let text = |value| Value::text(if whole { value } else { "" });
    [
        Value::id(event.id),
        Value::id(event.flow_id),
        Value::id(run),
        Value::text(kind),
        Value::int(event.received_ms),
        Value::text(event.source.as_str()),
        Value::text(event.verified_by.as_str()),
        Value::bytes(&event.fingerprint),
        Value::opt_bytes(event.signed_digest.as_ref().filter(|_| whole).map(<[u8; 32]>::as_slice)),
        text(event.body.content_type.as_str()),
        text(event.body.encoding.as_str()),
        json(&event.headers),
        json(&event.query),
        Value::opt_bytes(whole.then_some(event.body.bytes.as_slice())),
    ]
}

pub(super) fn step_row(id: Id, run: Id, flow_revision: u32, epoch: i64, at_ms: i64, step: &NewStep) -> [Value<'_>; 19] {
    [
        Value::id(id),
        Value::id(run),
        Value::number(step.ordinal),
        Value::number(flow_revision),
        Value::text(step.step_id.as_str()),
        Value::text(step.role.as_str()),
        Value::text(step.item.as_str()),
        Value::int(0),
        Value::text(step.connection.as_str()),
        Value::text(step.action.as_str()),
        Value::text(step.state.state.as_str()),
        Value::opt_text(wait_reason(&step.state)),
        Value::Int(step.state.in_doubt_since_ms()),
        Value::json(&step.state),
        Value::int(0),
        Value::int(epoch),
        Value::Int(due_ms(&step.state, step.due_ms, at_ms)),
        Value::int(0),
        Value::opt_text(step.input.as_deref()),
    ]
}

/// The same key with another content. The very same conflict again is no second item; and once a person has said what
/// it is, that holds for its repetitions as well.
async fn conflict(conn: &mut Conn<'_>, accept: &Accept, run: Id) -> Result<Accepted> {
    const KNOWN: &str = "SELECT review_items.id, events.id, review_items.closed_ms, runs.id, runs.state
        FROM events JOIN review_items ON review_items.event_id = events.id
        JOIN runs ON runs.id = COALESCE(review_items.new_run_id, review_items.run_id)
        WHERE events.run_id = ?1 AND events.kind <> 'first' AND events.kind = 'conflict' AND events.fingerprint = ?2";
    const OPEN: &str = "INSERT INTO review_items (id, version, run_id, event_id, reason, may_exist, opened_ms)
        VALUES (?1, 1, ?2, ?3, '\"conflict\"', 0, ?4)";
    const ERASE_LATER: &str = "INSERT INTO erasing_later (run_id, due_ms)
        SELECT id, ?2 FROM runs WHERE id = ?1 AND erased_ms IS NOT NULL ON CONFLICT (run_id) DO NOTHING";
    let values = vec![Value::id(run), Value::bytes(&accept.event.fingerprint)];
    if let Some(row) = conn.query(KNOWN, values).await?.pop() {
        return row.decode("review_items", |row| {
            let (item, event, closed_ms) = (row.id()?, row.id()?, row.opt_int()?);
            let (run_now, state) = (row.id()?, row.word()?);
            Ok(match closed_ms {
                None => Accepted::Conflict { run, event, item },
                Some(_) => duplicate(run_now, state),
            })
        });
    }
    INSERT_EVENT
        .change_one(conn, event_row(accept, run, Kind::Conflict))
        .await?;
    let values = vec![
        Value::id(accept.item),
        Value::id(run),
        Value::id(accept.event.id),
        Value::int(accept.event.received_ms),
    ];
    conn.query(OPEN, values).await?;
    // Nobody looks at an erased run any more: the body of this event must be found again when it is old.
    let values = vec![Value::id(run), Value::int(accept.event.received_ms)];
    conn.query(ERASE_LATER, values).await?;
    Ok(Accepted::Conflict {
        run,
        event: accept.event.id,
        item: accept.item,
    })
}
