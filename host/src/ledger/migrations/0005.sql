-- What retention and `forget` erase. A run keeps its row for ever: the key as its HMAC, the fingerprint, the final state, ids and
-- times. None of this is touched by an event that goes its way.

ALTER TABLE runs ADD COLUMN erased_ms BIGINT;
ALTER TABLE events ADD COLUMN erased_ms BIGINT;

-- How far history was gone through: runs up to here are erased, or stand in erasing_later. NULL: not begun.
CREATE TABLE erasing (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    position BYTEA,
    turns BIGINT NOT NULL
);
INSERT INTO erasing (one, position, turns) VALUES (1, NULL, 0);

-- Runs that were passed by and are looked at again: they waited, or ended late, or a conflict came after they were erased.
CREATE TABLE erasing_later (
    run_id BYTEA PRIMARY KEY,
    due_ms BIGINT NOT NULL
);
CREATE INDEX erasing_later_due ON erasing_later (due_ms, run_id);

-- Where the ledger was moved to, and since when: no host works on it any more. moving_from: a move into it is not finished.
ALTER TABLE installation ADD COLUMN moving_from TEXT;
ALTER TABLE installation ADD COLUMN moved_to TEXT;
ALTER TABLE installation ADD COLUMN moved_ms BIGINT;
