-- Several hosts: what an attempt brought after its owner had lost its lease. A late outcome that confirms counts as found,
-- with what the step would have got from it.
ALTER TABLE attempts ADD COLUMN late_outcome TEXT;
ALTER TABLE attempts ADD COLUMN late_output TEXT;
ALTER TABLE attempts ADD COLUMN late_reference TEXT;
