-- The host that a trial was measured on, by its number among those of the study in the order of their facts, from 1; 0 where the
-- hosts of a testbed made it together, or nobody says it.
ALTER TABLE trial ADD COLUMN host BIGINT NOT NULL DEFAULT 0;
