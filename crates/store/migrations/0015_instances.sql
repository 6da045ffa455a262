-- What each of several hosts that play a metric's role measured in a trial, in the order of its testbed; none where one host does.
CREATE TABLE instance_sample (
    study              BIGINT NOT NULL,
    trial              BIGINT NOT NULL,
    -- the metric's position in its benchmark
    metric             BIGINT NOT NULL,
    position           BIGINT NOT NULL,
    host               TEXT NOT NULL,
    measured           BYTEA NOT NULL,
    within             BYTEA NOT NULL,
    measured_checksum  BIGINT,
    within_checksum    BIGINT,
    PRIMARY KEY (study, trial, metric, position),
    FOREIGN KEY (study, trial) REFERENCES trial (study, number) ON DELETE CASCADE
);
-- The monotonic clocks of hosts that don't have the controller's own, as they were when a trial began. Nanoseconds.
CREATE TABLE host_clock (
    study        BIGINT NOT NULL,
    trial        BIGINT NOT NULL,
    host         TEXT NOT NULL,
    ahead        BIGINT NOT NULL,
    uncertainty  BIGINT NOT NULL,
    PRIMARY KEY (study, trial, host),
    FOREIGN KEY (study, trial) REFERENCES trial (study, number) ON DELETE CASCADE
);
