-- The testbeds that a study measures on at once, its plan's own first; none where it measures on that alone.
CREATE TABLE testbed (
    study      BIGINT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    number     BIGINT NOT NULL,
    name       TEXT NOT NULL,
    -- what identifies each cell's question on it over studies: a JSON list
    questions  TEXT NOT NULL,
    PRIMARY KEY (study, number)
);
-- The number of the testbed that it was on.
ALTER TABLE boot ADD COLUMN testbed BIGINT NOT NULL DEFAULT 0;
