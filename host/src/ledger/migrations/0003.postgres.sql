-- By owner: each host reads its own backlog and that of hosts that have ended, never one of a host that lives.
CREATE INDEX steps_due_of_owner ON steps (epoch, connection, due_ms, id) WHERE due_ms IS NOT NULL;
DROP INDEX steps_due;
