-- Whether the benchmark is run for the metric. Of older studies it is the first one that the benchmark declares, as where
-- no metric is marked; of imported ones all.
ALTER TABLE metric ADD COLUMN is_primary BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE metric SET is_primary = TRUE WHERE monitor IS NULL AND (position = 0 OR study IN (SELECT id FROM study WHERE verb = 'import'));
