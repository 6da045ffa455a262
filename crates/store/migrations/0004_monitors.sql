-- The monitor that a step is; missing where it is a step of the benchmark.
ALTER TABLE step ADD COLUMN monitor TEXT;
-- What watched, where that was what was asked: a JSON list of monitors' names; missing where the plan says it.
ALTER TABLE cell ADD COLUMN monitors TEXT;
