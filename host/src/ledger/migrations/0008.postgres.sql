-- Each of these keys costs every event a search, a lock of the row that is named, and a record of that lock in the log. What they would
-- refuse cannot be: a run is made for a flow that was just read, its steps in the same command, an attempt follows a step that was just
-- changed in the same transaction, and of the rows that are named none is ever deleted.
ALTER TABLE runs DROP CONSTRAINT IF EXISTS runs_flow_id_fkey;
ALTER TABLE steps DROP CONSTRAINT IF EXISTS steps_run_id_fkey;
ALTER TABLE attempts DROP CONSTRAINT IF EXISTS attempts_step_id_fkey;
