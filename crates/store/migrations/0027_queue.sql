-- Jobs that need testbeds, come after others, have deadlines; runs of jobs, workers, reservations.

-- testbeds and hosts that it measures on: a JSON object
ALTER TABLE job ADD COLUMN needs TEXT NOT NULL DEFAULT '{}';
-- what it has in common with jobs that take equally long
ALTER TABLE job ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN deadline TEXT;
-- not 0: before all others, the greatest first
ALTER TABLE job ADD COLUMN front BIGINT NOT NULL DEFAULT 0;
-- worker_pid is empty where no worker has it
ALTER TABLE job ADD COLUMN worker_machine TEXT;
UPDATE job SET worker_pid = NULL, worker_boot = NULL, worker_start = NULL WHERE state <> 'running';
CREATE INDEX job_by_kind ON job (kind, state);
CREATE INDEX job_by_worker ON job (worker_pid);
CREATE INDEX study_by_job ON study (job);

CREATE TABLE job_dependency (
    job         BIGINT NOT NULL REFERENCES job (number),
    dependency  BIGINT NOT NULL REFERENCES job (number),
    PRIMARY KEY (job, dependency)
);

-- Each time that a worker ran a job.
CREATE TABLE job_run (
    job       BIGINT NOT NULL REFERENCES job (number),
    run       BIGINT NOT NULL,
    who       TEXT NOT NULL,
    machines  BIGINT NOT NULL,
    began     TEXT NOT NULL,
    -- when the worker was last heard, and for how long it had run by then
    heard     TEXT NOT NULL,
    seconds   DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (job, run)
);
CREATE INDEX job_run_by_time ON job_run (heard);

CREATE TABLE queue_worker (
    machine  TEXT NOT NULL,
    boot     TEXT NOT NULL,
    pid      BIGINT NOT NULL,
    start    BIGINT NOT NULL,
    lab      TEXT,
    -- the testbeds that it serves: a JSON array; none: all
    testbeds TEXT,
    PRIMARY KEY (machine, boot, pid, start)
);

-- One row. The turn rises with every change of what waits, runs or is reserved: a worker takes a job only if nothing
-- changed since it chose.
CREATE TABLE queue_state (
    id           BIGINT PRIMARY KEY,
    turn         BIGINT NOT NULL,
    paused_by    TEXT,
    paused_why   TEXT,
    paused_since TEXT
);
INSERT INTO queue_state (id, turn) VALUES (1, 0);

CREATE TABLE reservation (
    number    BIGINT PRIMARY KEY,
    name      TEXT NOT NULL,
    -- the testbed and its hosts, or the host: a JSON object
    needs     TEXT NOT NULL,
    who       TEXT NOT NULL,
    why       TEXT,
    made      TEXT NOT NULL,
    ends      TEXT NOT NULL,
    released  TEXT
);
