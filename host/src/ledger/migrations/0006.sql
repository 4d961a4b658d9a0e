-- A ledger that may have forgotten: its lives, and what each start of a host had committed. (`installation.position` of the
-- first migration stays unused: each host counts for itself, so that none hides what another has lost.)

-- One row for each life of the ledger. The first begins with it; every other when it was found that it may have forgotten.
CREATE TABLE incarnations (
    -- random, so that two copies that go their own ways never have the same
    incarnation BIGINT PRIMARY KEY,
    begun_ms BIGINT NOT NULL,
    why TEXT NOT NULL,
    -- what happened between these may be forgotten; NULL: nothing is
    from_ms BIGINT,
    until_ms BIGINT,
    -- a person must first say whether the ledger was moved or copied
    asks BIGINT NOT NULL,
    ended_ms BIGINT,
    ended_by TEXT,
    ended_why TEXT
);

-- Where the file of an embedded ledger lies.
ALTER TABLE installation ADD COLUMN place TEXT;

-- How many commits this start of a host had made, as of a moment ago, and when that was.
ALTER TABLE hosts ADD COLUMN position BIGINT;
ALTER TABLE hosts ADD COLUMN seen_ms BIGINT;
