-- What is read at every start, and by whoever looks: found without reading the backlog. All of them hold few rows, and an
-- event that goes its way without trouble touches the first alone, which has as many rows as there are requests on their way.

CREATE INDEX steps_under_way ON steps (id) WHERE state IN ('processing', 'cancelling');
CREATE INDEX steps_waiting ON steps (connection, wait_reason, due_ms) WHERE state = 'waiting';
CREATE INDEX review_open_reason ON review_items (reason, closed_ms) WHERE closed_ms IS NULL;
