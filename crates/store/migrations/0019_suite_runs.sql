-- The results of the tests that a trial of a suite ran, in the order of their names. What failures said stands in `details`, a raw
-- object; results stay when that is gone.
CREATE TABLE suite_run (
    study     BIGINT NOT NULL,
    trial     BIGINT NOT NULL,
    -- whether the suite came to its end
    complete  BOOLEAN NOT NULL,
    -- tests that were to run and have no result
    missing   BIGINT NOT NULL,
    -- what was wrong with its output: a JSON list of sentences
    problems  TEXT NOT NULL,
    -- the address of a raw object: a JSON list of the tests' names, which runs of the same tests share
    names     TEXT NOT NULL,
    -- a byte a test
    outcomes  BYTEA NOT NULL,
    -- 32-bit little-endian floats, a test each; not a number where nobody says how long it took
    seconds   BYTEA NOT NULL,
    checksum  BIGINT NOT NULL,
    -- the address of a raw object; missing where there is nothing to say
    details   TEXT,
    PRIMARY KEY (study, trial),
    FOREIGN KEY (study, trial) REFERENCES trial (study, number) ON DELETE CASCADE
);
