-- What hosts that share one ledger tell each other. A host on an embedded ledger has nobody to tell, and writes none of it but
-- who paused a connection.

ALTER TABLE connections ADD COLUMN paused_by TEXT;
ALTER TABLE connections ADD COLUMN paused_why TEXT;

-- Grows with what it counts, in the same commit: who missed a notification finds by a look that there is something to read.
CREATE TABLE news (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    catalog BIGINT NOT NULL,
    pauses BIGINT NOT NULL
);
INSERT INTO news (one, catalog, pauses) VALUES (1, 0, 0);

-- What a host found out about a connection: told_to_wait (the destination asked for it), blocked (its credentials), failing
-- (its breaker is open). At most three rows for each connection.
CREATE TABLE gates (
    connection TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- counts the changes of this row
    version BIGINT NOT NULL,
    -- NULL: it is over
    since_ms BIGINT,
    until_ms BIGINT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (connection, kind)
);

-- Up to when the starts of a connection with an own rate are given out.
CREATE TABLE rates (
    connection TEXT PRIMARY KEY,
    interval_us BIGINT NOT NULL,
    next_start_us BIGINT NOT NULL
);
