-- Changes that somebody knows of and lives with. They belong to a target's history, not to a study.
CREATE TABLE acceptance (
    target      TEXT NOT NULL,
    -- the identity of the version that made the change
    version     TEXT NOT NULL,
    name        TEXT NOT NULL,
    -- empty where it is about all metrics
    metric      TEXT NOT NULL,
    reason      TEXT NOT NULL,
    work_around TEXT,
    who         TEXT NOT NULL,
    made        TEXT NOT NULL,
    until       TEXT,
    PRIMARY KEY (target, version, metric)
);
