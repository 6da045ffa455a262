-- How exactly programs of a trial began together and passed barriers together: by how much the last came after the first.
-- Nanoseconds of the controller's clock; no skew where not all said when they went on.
CREATE TABLE meeting (
    study     BIGINT NOT NULL,
    trial     BIGINT NOT NULL,
    position  BIGINT NOT NULL,
    -- start, barrier
    kind      TEXT NOT NULL,
    -- whose programs they are, where they are of one role
    role      TEXT,
    name      TEXT NOT NULL,
    parties   BIGINT NOT NULL,
    times     BIGINT NOT NULL,
    median    BIGINT,
    p99       BIGINT,
    largest   BIGINT,
    PRIMARY KEY (study, trial, position),
    FOREIGN KEY (study, trial) REFERENCES trial (study, number) ON DELETE CASCADE
);
