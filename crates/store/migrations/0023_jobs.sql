-- The queue: commands that a worker runs, the greatest priority first, then in the order in which they were asked for.
CREATE TABLE job (
    number        BIGINT PRIMARY KEY,
    -- the words behind the program's name: a JSON array
    arguments     TEXT NOT NULL,
    -- the folder that it is run in
    folder        TEXT NOT NULL,
    who           TEXT NOT NULL,
    priority      BIGINT NOT NULL,
    asked         TEXT NOT NULL,
    -- waiting, running, done, failed, cancelled
    state         TEXT NOT NULL,
    began         TEXT,
    ended         TEXT,
    outcome       TEXT,
    -- the worker that runs it or ran it last
    worker_pid    BIGINT,
    worker_boot   TEXT,
    worker_start  BIGINT
);
CREATE INDEX job_by_state ON job (state);

-- The job that began a study.
ALTER TABLE study ADD COLUMN job BIGINT;
