-- Counts the changes of a run as a whole: who decides what follows from one step has seen all the others.
ALTER TABLE runs ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
