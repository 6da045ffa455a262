-- What people said of alerts. Rows are added and never changed: of an alert the last counts.
CREATE TABLE triage (
    -- in the order in which it was said
    number   BIGINT PRIMARY KEY,
    target   TEXT NOT NULL,
    -- the identity of the version that named the alert
    version  TEXT NOT NULL,
    name     TEXT NOT NULL,
    -- investigating, confirmed, fixed, invalid
    state    TEXT NOT NULL,
    note     TEXT,
    who      TEXT NOT NULL,
    made     TEXT NOT NULL
);
CREATE INDEX triage_of_target ON triage (target, number);
