-- One text for every backend. Instants and durations are milliseconds, booleans 0 or 1, ids 16 bytes that sort by time,
-- JSON is text. BYTEA keeps bytes on SQLite as well: its affinity converts text, never bytes.
--
-- Indexes are few: each costs every event. The partial ones hold unfinished work only, so that history costs nothing.

CREATE TABLE installation (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    id BYTEA NOT NULL,
    secret BYTEA NOT NULL,
    incarnation BIGINT NOT NULL,
    -- later: kept outside of the ledger as well, to notice one that has forgotten
    position BIGINT NOT NULL,
    reconcile_since_ms BIGINT,
    created_ms BIGINT NOT NULL
);

-- One row per start of a host; the epoch fences what it writes.
CREATE TABLE hosts (
    epoch BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    started_ms BIGINT NOT NULL,
    ended_ms BIGINT,
    -- later: several hosts
    lease_until_ms BIGINT
);

CREATE TABLE flows (
    id BYTEA PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    active BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    renamed_from TEXT,
    created_ms BIGINT NOT NULL
);

CREATE TABLE flow_revisions (
    flow_id BYTEA NOT NULL REFERENCES flows (id),
    revision BIGINT NOT NULL,
    source TEXT NOT NULL,
    examples TEXT NOT NULL,
    -- later: what the key was before this revision, for 30 days
    key_before TEXT,
    saved_ms BIGINT NOT NULL,
    saved_by TEXT NOT NULL,
    PRIMARY KEY (flow_id, revision)
);

CREATE TABLE connectors (
    digest TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    bytes BYTEA NOT NULL,
    manifest TEXT NOT NULL,
    added_ms BIGINT NOT NULL,
    added_by TEXT NOT NULL
);

CREATE TABLE connections (
    name TEXT PRIMARY KEY,
    active BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    -- later: paused, blocked and rate limited across hosts
    paused_ms BIGINT,
    blocked_ms BIGINT,
    not_before_ms BIGINT,
    created_ms BIGINT NOT NULL
);

CREATE TABLE connection_revisions (
    name TEXT NOT NULL REFERENCES connections (name),
    revision BIGINT NOT NULL,
    source TEXT NOT NULL,
    digest TEXT NOT NULL,
    flows TEXT NOT NULL,
    saved_ms BIGINT NOT NULL,
    saved_by TEXT NOT NULL,
    PRIMARY KEY (name, revision)
);

-- Every delivery. `kind`: first (made the run), duplicate (no body), conflict (kept whole for a person).
CREATE TABLE events (
    id BYTEA PRIMARY KEY,
    flow_id BYTEA NOT NULL,
    run_id BYTEA NOT NULL,
    kind TEXT NOT NULL,
    received_ms BIGINT NOT NULL,
    source TEXT NOT NULL,
    verified_by TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    signed_digest BYTEA,
    content_type TEXT NOT NULL,
    -- of the body, which is kept as it was sent
    content_encoding TEXT NOT NULL,
    headers TEXT NOT NULL,
    query TEXT NOT NULL,
    body BYTEA,
    -- later: uploaded parts, by reference
    files TEXT
);
CREATE INDEX events_again ON events (run_id, id) WHERE kind <> 'first';
CREATE UNIQUE INDEX events_signed ON events (flow_id, signed_digest)
    WHERE signed_digest IS NOT NULL AND kind <> 'duplicate';

CREATE TABLE runs (
    id BYTEA PRIMARY KEY,
    flow_id BYTEA NOT NULL REFERENCES flows (id),
    flow_revision BIGINT NOT NULL,
    -- No foreign key: it would have to be deferred, and SQLite then reads all runs at each event that is inserted.
    event_id BYTEA NOT NULL,
    event_key TEXT NOT NULL,
    key_hash BYTEA NOT NULL,
    fingerprint BYTEA NOT NULL,
    context TEXT NOT NULL,
    -- derived from the steps; kept for listings
    state TEXT NOT NULL,
    duplicates BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    finished_ms BIGINT,
    -- later: replay of another run
    parent_id BYTEA,
    -- one business key of one flow has one run, for ever
    UNIQUE (flow_id, key_hash)
);
CREATE INDEX runs_not_completed ON runs (state, id) WHERE state <> 'completed';

CREATE TABLE steps (
    id BYTEA PRIMARY KEY,
    run_id BYTEA NOT NULL REFERENCES runs (id),
    ordinal BIGINT NOT NULL,
    flow_revision BIGINT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    item TEXT NOT NULL,
    correction BIGINT NOT NULL,
    parent_id BYTEA,
    connection TEXT NOT NULL,
    action TEXT NOT NULL,
    -- `standing` is the domain's step, whole; state, wait_reason and in_doubt_since_ms repeat parts of it
    state TEXT NOT NULL,
    wait_reason TEXT,
    in_doubt_since_ms BIGINT,
    standing TEXT NOT NULL,
    -- counts the changes of this row
    version BIGINT NOT NULL,
    -- of the owner's lease
    epoch BIGINT NOT NULL,
    -- NULL: finished, in review, or waiting for a predecessor
    due_ms BIGINT,
    last_number BIGINT NOT NULL,
    key_window_end_ms BIGINT,
    natural_key BYTEA,
    review_item BYTEA,
    input TEXT,
    output TEXT,
    reference TEXT,
    last_error TEXT,
    -- later: the destination took the order and carries it out
    accepted_token TEXT,
    settle_by_ms BIGINT,
    UNIQUE (run_id, ordinal)
);
-- by connection: each has its own backlog, and a long one is not read for the sake of another
CREATE INDEX steps_due ON steps (connection, due_ms, id) WHERE due_ms IS NOT NULL;

CREATE TABLE attempts (
    step_id BYTEA NOT NULL REFERENCES steps (id),
    number BIGINT NOT NULL,
    kind TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    connector_digest TEXT,
    connection TEXT,
    connection_revision BIGINT,
    action TEXT,
    origin TEXT,
    account TEXT,
    natural_key BYTEA,
    -- the intent: set before anything is sent
    intent_ms BIGINT,
    intent_boot_ms BIGINT,
    send_by_ms BIGINT,
    send_by_boot_ms BIGINT,
    request_head TEXT,
    request_body BYTEA,
    -- what came of it; NULL: not known
    evidence TEXT,
    status BIGINT,
    report TEXT,
    outcome TEXT,
    finding TEXT,
    message TEXT,
    started_ms BIGINT NOT NULL,
    ended_ms BIGINT,
    -- evidence that came after the attempt was given up
    late_evidence TEXT,
    late_ms BIGINT,
    PRIMARY KEY (step_id, number)
);
CREATE INDEX attempts_natural ON attempts (connection, action, natural_key, intent_ms) WHERE natural_key IS NOT NULL;

CREATE TABLE review_items (
    id BYTEA PRIMARY KEY,
    version BIGINT NOT NULL,
    run_id BYTEA NOT NULL REFERENCES runs (id),
    -- exactly one of the two
    step_id BYTEA REFERENCES steps (id),
    event_id BYTEA REFERENCES events (id),
    reason TEXT NOT NULL,
    may_exist BIGINT NOT NULL,
    opened_ms BIGINT NOT NULL,
    closed_ms BIGINT,
    action TEXT,
    who TEXT,
    why TEXT,
    stated_absent BIGINT,
    -- of a conflict that a person called another event
    new_run_id BYTEA
);
CREATE INDEX review_open ON review_items (id) WHERE closed_ms IS NULL;
CREATE UNIQUE INDEX review_step ON review_items (step_id) WHERE closed_ms IS NULL AND step_id IS NOT NULL;
CREATE INDEX review_run ON review_items (run_id, id);
-- Whole ones: SQLite looks through them for the foreign keys whenever several events or steps are inserted.
CREATE UNIQUE INDEX review_event ON review_items (event_id);
CREATE INDEX review_of_step ON review_items (step_id);

CREATE TABLE audit (
    id BYTEA PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL,
    subject TEXT NOT NULL,
    why TEXT NOT NULL
);
CREATE INDEX audit_subject ON audit (subject, id);

CREATE TABLE tokens (
    id BYTEA PRIMARY KEY,
    name TEXT NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    role TEXT NOT NULL,
    expires_ms BIGINT,
    created_ms BIGINT NOT NULL
);
