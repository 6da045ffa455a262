-- Studies that standing jobs (`watch`) began, and what they found.
CREATE TABLE watch_study (
    -- the job's name in its file
    job      TEXT NOT NULL,
    target   TEXT NOT NULL,
    number   BIGINT NOT NULL,
    -- the study's name: it is chosen before the study is there
    study    TEXT NOT NULL,
    -- measure, bisect, verify, revert
    purpose  TEXT NOT NULL,
    -- what it is to answer: a JSON object
    question TEXT NOT NULL,
    PRIMARY KEY (job, target, number)
);

CREATE TABLE watch_finding (
    job      TEXT NOT NULL,
    target   TEXT NOT NULL,
    -- the identities of the version before it and of the first with it
    after_version TEXT NOT NULL,
    until_version TEXT NOT NULL,
    cell     TEXT NOT NULL,
    metric   TEXT NOT NULL,
    -- verified, stretch, refuted
    kind     TEXT NOT NULL,
    found    TEXT NOT NULL,
    PRIMARY KEY (job, target, after_version, until_version, cell, metric)
);
