-- How often an event came again is told by its deliveries. Counted here it changed a run's row, anywhere in history, for something that
-- changes nothing about the run; and hosts that took the same event in waited for each other's transaction.
ALTER TABLE runs DROP COLUMN duplicates;
