//! Taking events in: the claim of the key, the run and its steps are one transaction, so that no key is ever claimed
//! without a run that can go on (case C4).

use super::batch::Template;
use super::rows::{Row, due_ms, run_is_final, run_state_word, wait_reason};
use super::sqlite::{Conn, Value};
use super::{Accepted, NewEvent, NewStep};
use super::{LedgerError, Result, new_id};
use oncegate_domain::id::Id;
use oncegate_domain::run;
use std::collections::{HashMap, HashSet};

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
    /// The very bytes came before: whatever the key says, it is the same event.
    same_bytes: bool,
}

pub(super) static FIND_SIGNED: Template = Template::new(
    "WITH v(place, flow_id, signed_digest) AS (VALUES ",
    ") SELECT v.place, runs.id, runs.state, runs.fingerprint FROM v
       JOIN events ON events.flow_id = v.flow_id AND events.signed_digest = v.signed_digest
         AND events.signed_digest IS NOT NULL AND events.kind <> 'duplicate'
       JOIN runs ON runs.id = events.run_id",
);
pub(super) static FIND_KEY: Template = Template::new(
    "WITH v(place, flow_id, key_hash) AS (VALUES ",
    ") SELECT v.place, runs.id, runs.state, runs.fingerprint FROM v
       JOIN runs ON runs.flow_id = v.flow_id AND runs.key_hash = v.key_hash",
);
pub(super) static INSERT_RUN: Template = Template::new(
    "INSERT INTO runs (id, flow_id, flow_revision, event_id, event_key, key_hash, fingerprint, context, state, duplicates,
       created_ms, finished_ms) VALUES ",
    " ON CONFLICT (flow_id, key_hash) DO NOTHING RETURNING id",
);
pub(super) static INSERT_EVENT: Template = Template::new(
    "INSERT INTO events (id, flow_id, run_id, kind, received_ms, source, verified_by, fingerprint, signed_digest,
       content_type, content_encoding, headers, query, body) VALUES ",
    "",
);
pub(super) static INSERT_STEP: Template = Template::new(
    "INSERT INTO steps (id, run_id, ordinal, flow_revision, name, role, item, correction, connection, action, state,
       wait_reason, in_doubt_since_ms, standing, version, epoch, due_ms, last_number, input) VALUES ",
    "",
);
pub(super) static COUNT_DUPLICATES: Template = Template::new(
    "WITH v(id, more) AS (VALUES ",
    ") UPDATE runs SET duplicates = runs.duplicates + v.more FROM v WHERE runs.id = v.id",
);

/// Takes in events of which no two have the same key or the same signed bytes.
pub(super) async fn apply(conn: &mut Conn<'_>, epoch: i64, accepts: &[&Accept]) -> Result<Vec<Result<Accepted>>> {
    let mut holders = find_signed(conn, accepts).await?;
    let claimed = claim_keys(conn, accepts, &holders).await?;
    find_keys(conn, accepts, &claimed, &mut holders).await?;

    let mut verdicts = Vec::with_capacity(accepts.len());
    let (mut events, mut steps, mut again) = (Vec::new(), Vec::new(), HashMap::new());
    for (place, accept) in accepts.iter().enumerate() {
        let event = &accept.event;
        if claimed.contains(&accept.run) {
            events.push(event_row(accept, accept.run, Kind::First));
            let revision = event.flow_revision;
            for (step, id) in event.steps.iter().zip(&accept.steps) {
                steps.push(step_row(*id, accept.run, revision, epoch, event.received_ms, step));
            }
            verdicts.push(Ok(Accepted::New {
                run: accept.run,
                event: accept.event.id,
                steps: accept.steps.clone(),
            }));
            continue;
        }
        let Some(holder) = holders.remove(&place) else {
            return Err(LedgerError::Invalid {
                what: "an event",
                why: "its key is taken by no run".into(),
            });
        };
        let same = holder.same_bytes || !event.fingerprint_covers || holder.fingerprint == event.fingerprint;
        let verdict = if same {
            duplicate(holder.run, holder.state)
        } else {
            conflict(conn, accept, holder.run).await?
        };
        match verdict {
            Accepted::Conflict { event: id, .. } if id == accept.event.id => {}
            Accepted::New { run, .. } | Accepted::Duplicate { run, .. } | Accepted::Conflict { run, .. } => {
                *again.entry(run).or_insert(0_i64) += 1;
                events.push(event_row(accept, run, Kind::Duplicate));
            }
        }
        verdicts.push(Ok(verdict));
    }
    INSERT_EVENT.run(conn, events).await?;
    INSERT_STEP.run(conn, steps).await?;
    let again = again
        .into_iter()
        .map(|(run, more)| vec![Value::id(run), Value::int(more)])
        .collect();
    COUNT_DUPLICATES.run(conn, again).await?;
    Ok(verdicts)
}

fn duplicate(run: Id, state: run::State) -> Accepted {
    Accepted::Duplicate {
        run,
        state,
        result: None,
    }
}

async fn find_signed(conn: &mut Conn<'_>, accepts: &[&Accept]) -> Result<HashMap<usize, Holder>> {
    let signed = accepts.iter().enumerate().filter_map(|(place, accept)| {
        let digest = accept.event.signed_digest?;
        Some(vec![
            Value::int(place as i64),
            Value::id(accept.event.flow_id),
            Value::bytes(&digest),
        ])
    });
    let rows = FIND_SIGNED.run(conn, signed.collect()).await?;
    rows.into_iter().map(|row| holder(row, true)).collect()
}

async fn find_keys(
    conn: &mut Conn<'_>,
    accepts: &[&Accept],
    claimed: &HashSet<Id>,
    holders: &mut HashMap<usize, Holder>,
) -> Result<()> {
    let open = accepts.iter().enumerate();
    let open = open.filter(|(place, accept)| !claimed.contains(&accept.run) && !holders.contains_key(place));
    let keys = open.map(|(place, accept)| {
        vec![
            Value::int(place as i64),
            Value::id(accept.event.flow_id),
            Value::bytes(&accept.event.key_hash),
        ]
    });
    for row in FIND_KEY.run(conn, keys.collect()).await? {
        let (place, holder) = holder(row, false)?;
        holders.insert(place, holder);
    }
    Ok(())
}

fn holder(row: Row, same_bytes: bool) -> Result<(usize, Holder)> {
    row.decode("runs", |row| {
        let place = row.small()?;
        Ok((
            place,
            Holder {
                run: row.id()?,
                state: row.word()?,
                fingerprint: row.digest()?,
                same_bytes,
            },
        ))
    })
}

/// Inserts the runs whose key is free: the unique index decides, not a look before.
async fn claim_keys(conn: &mut Conn<'_>, accepts: &[&Accept], held: &HashMap<usize, Holder>) -> Result<HashSet<Id>> {
    let free = accepts
        .iter()
        .enumerate()
        .filter(|(place, _)| !held.contains_key(place));
    let rows = free.map(|(_, accept)| {
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
    });
    let inserted = INSERT_RUN.run(conn, rows.collect()).await?;
    inserted.into_iter().map(|row| row.decode("runs", Row::id)).collect()
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

pub(super) fn run_row(run: &NewRun<'_>) -> Vec<Value> {
    let states: Vec<_> = run.steps.iter().map(|step| step.state.state).collect();
    let state = run::state(&states);
    vec![
        Value::id(run.id),
        Value::id(run.flow_id),
        Value::number(run.flow_revision),
        Value::id(run.event),
        Value::text(run.key),
        Value::bytes(run.key_hash),
        Value::bytes(run.fingerprint),
        Value::json(run.context),
        Value::text(run_state_word(state)),
        Value::int(0),
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
fn event_row(accept: &Accept, run: Id, kind: Kind) -> Vec<Value> {
    let event = &accept.event;
    let (kind, whole) = match kind {
        Kind::First => ("first", true),
        Kind::Duplicate => ("duplicate", false),
        Kind::Conflict => ("conflict", true),
    };
    let text = |value: String| Value::text(if whole { value } else { String::new() });
    vec![
        Value::id(accept.event.id),
        Value::id(event.flow_id),
        Value::id(run),
        Value::text(kind),
        Value::int(event.received_ms),
        Value::text(event.source.as_str()),
        Value::text(event.verified_by.as_str()),
        Value::bytes(&event.fingerprint),
        Value::opt_bytes(event.signed_digest.as_ref().filter(|_| whole).map(<[u8; 32]>::as_slice)),
        text(event.body.content_type.clone()),
        text(event.body.encoding.as_str().to_owned()),
        text(if whole {
            super::rows::json_text(&event.headers)
        } else {
            String::new()
        }),
        text(if whole {
            super::rows::json_text(&event.query)
        } else {
            String::new()
        }),
        Value::opt_bytes(whole.then_some(event.body.bytes.as_slice())),
    ]
}

pub(super) fn step_row(id: Id, run: Id, flow_revision: u32, epoch: i64, at_ms: i64, step: &NewStep) -> Vec<Value> {
    vec![
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
        WHERE events.run_id = $1 AND events.kind <> 'first' AND events.kind = 'conflict' AND events.fingerprint = $2";
    const OPEN: &str = "INSERT INTO review_items (id, version, run_id, event_id, reason, may_exist, opened_ms)
        VALUES ($1, 1, $2, $3, '\"conflict\"', 0, $4)";
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
        .run(conn, vec![event_row(accept, run, Kind::Conflict)])
        .await?;
    let values = vec![
        Value::id(accept.item),
        Value::id(run),
        Value::id(accept.event.id),
        Value::int(accept.event.received_ms),
    ];
    conn.query(OPEN, values).await?;
    Ok(Accepted::Conflict {
        run,
        event: accept.event.id,
        item: accept.item,
    })
}
