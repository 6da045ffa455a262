-- Everything that is measured hangs on its study and goes with it.
-- Only types and clauses that SQLite and PostgreSQL both know (BYTEA and DOUBLE PRECISION are names of their own in
-- PostgreSQL, and names that SQLite lets pass). Times of day are RFC 3339 texts in UTC; lengths are nanoseconds.

CREATE TABLE study (
    id            BIGINT PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    verb          TEXT NOT NULL,
    arguments     TEXT NOT NULL,
    seed          BIGINT NOT NULL,
    began         TEXT NOT NULL,
    ended         TEXT,
    state         TEXT NOT NULL,
    -- the process that runs it now: number, boot of the machine, start since boot
    runner_pid    BIGINT,
    runner_boot   TEXT,
    runner_start  BIGINT,
    -- the target whose history it is about, if it is about one
    target        TEXT
);

CREATE INDEX study_by_target ON study (target);

-- What was asked for, as it was written: plan, lab, benchmarks.
CREATE TABLE document (
    study     BIGINT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    position  BIGINT NOT NULL,
    kind      TEXT NOT NULL,
    name      TEXT NOT NULL,
    content   TEXT NOT NULL,
    PRIMARY KEY (study, position)
);

-- What a host was: a JSON object. More than one row where it was another after a resume.
CREATE TABLE facts (
    study     BIGINT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    position  BIGINT NOT NULL,
    host      TEXT NOT NULL,
    facts     TEXT NOT NULL,
    PRIMARY KEY (study, position)
);

CREATE TABLE metric (
    study      BIGINT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    benchmark  TEXT NOT NULL,
    position   BIGINT NOT NULL,
    name       TEXT NOT NULL,
    unit       TEXT NOT NULL,
    better     TEXT NOT NULL,
    about      TEXT NOT NULL,
    PRIMARY KEY (study, benchmark, position)
);

CREATE TABLE cell (
    study      BIGINT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    number     BIGINT NOT NULL,
    benchmark  TEXT NOT NULL,
    variant    TEXT NOT NULL,
    params     TEXT NOT NULL,
    chosen     TEXT NOT NULL,
    -- what identifies the question over studies; missing where there is no target
    question   TEXT,
    PRIMARY KEY (study, number)
);

-- The versions that a study may ask for, oldest first.
CREATE TABLE version (
    study     BIGINT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    position  BIGINT NOT NULL,
    id        TEXT NOT NULL,
    name      TEXT NOT NULL,
    made      TEXT,
    title     TEXT NOT NULL,
    release   BOOLEAN NOT NULL,
    PRIMARY KEY (study, position)
);

CREATE TABLE build (
    study     BIGINT NOT NULL,
    number    BIGINT NOT NULL,
    version   BIGINT NOT NULL,
    layout    TEXT NOT NULL,
    content   TEXT NOT NULL,
    quirks    TEXT NOT NULL,
    -- a JSON object; missing when there is a build
    failure   TEXT,
    cached    BOOLEAN NOT NULL,
    began     TEXT NOT NULL,
    took      BIGINT NOT NULL,
    -- the address of a raw object; missing when nothing was printed
    log       TEXT,
    PRIMARY KEY (study, number),
    UNIQUE (study, version, layout),
    FOREIGN KEY (study, version) REFERENCES version (study, position) ON DELETE CASCADE
);

CREATE TABLE boot (
    study     BIGINT NOT NULL,
    number    BIGINT NOT NULL,
    build     BIGINT NOT NULL,
    ordinal   BIGINT NOT NULL,
    failure   TEXT,
    began     TEXT NOT NULL,
    took      BIGINT NOT NULL,
    facts     TEXT NOT NULL,
    log       TEXT,
    PRIMARY KEY (study, number),
    FOREIGN KEY (study, build) REFERENCES build (study, number) ON DELETE CASCADE
);

CREATE TABLE trial (
    study       BIGINT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    number      BIGINT NOT NULL,
    -- 0 where nothing was booted
    boot        BIGINT NOT NULL,
    cell        BIGINT NOT NULL,
    round       BIGINT NOT NULL,
    began       TEXT NOT NULL,
    took        BIGINT NOT NULL,
    -- a JSON object; missing when the trial was measured
    failure     TEXT,
    -- the share of the processors that others took, of the machine where it was worst
    neighbours  DOUBLE PRECISION NOT NULL,
    warnings    TEXT NOT NULL,
    PRIMARY KEY (study, number),
    UNIQUE (study, boot, cell, round),
    FOREIGN KEY (study, cell) REFERENCES cell (study, number) ON DELETE CASCADE
);

-- Samples as packed 64-bit little-endian floats, in order of time.
CREATE TABLE sample (
    study     BIGINT NOT NULL,
    trial     BIGINT NOT NULL,
    -- the metric's position in its benchmark
    metric    BIGINT NOT NULL,
    measured  BYTEA NOT NULL,
    -- interval samples within the trial
    within    BYTEA NOT NULL,
    PRIMARY KEY (study, trial, metric),
    FOREIGN KEY (study, trial) REFERENCES trial (study, number) ON DELETE CASCADE
);

-- The processors' use during a trial, in CPU seconds.
CREATE TABLE machine_load (
    study       BIGINT NOT NULL,
    trial       BIGINT NOT NULL,
    machine     BIGINT NOT NULL,
    hosts       TEXT NOT NULL,
    available   DOUBLE PRECISION,
    ours        DOUBLE PRECISION,
    others      DOUBLE PRECISION,
    interrupts  DOUBLE PRECISION,
    stolen      DOUBLE PRECISION,
    PRIMARY KEY (study, trial, machine),
    FOREIGN KEY (study, trial) REFERENCES trial (study, number) ON DELETE CASCADE
);

CREATE TABLE step (
    study            BIGINT NOT NULL,
    trial            BIGINT NOT NULL,
    position         BIGINT NOT NULL,
    role             TEXT NOT NULL,
    host             TEXT NOT NULL,
    phase            TEXT NOT NULL,
    number           BIGINT NOT NULL,
    command          TEXT NOT NULL,
    spawned          BOOLEAN NOT NULL,
    began            TEXT NOT NULL,
    began_monotonic  BIGINT NOT NULL,
    ending           TEXT NOT NULL,
    wall             DOUBLE PRECISION,
    cpu_user         DOUBLE PRECISION,
    cpu_sys          DOUBLE PRECISION,
    maxrss           BIGINT NOT NULL,
    voluntary        BIGINT NOT NULL,
    involuntary      BIGINT NOT NULL,
    -- addresses of raw objects; missing when nothing was kept
    stdout           TEXT,
    stdout_kept      BIGINT NOT NULL,
    stdout_printed   BIGINT NOT NULL,
    stderr           TEXT,
    stderr_kept      BIGINT NOT NULL,
    stderr_printed   BIGINT NOT NULL,
    PRIMARY KEY (study, trial, position),
    FOREIGN KEY (study, trial) REFERENCES trial (study, number) ON DELETE CASCADE
);
