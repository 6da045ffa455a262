-- Notes that people put beside versions.
CREATE TABLE annotation (
    number   BIGINT PRIMARY KEY,
    target   TEXT NOT NULL,
    -- the identity of the version, and its name then
    version  TEXT NOT NULL,
    name     TEXT NOT NULL,
    content  TEXT NOT NULL,
    who      TEXT NOT NULL,
    made     TEXT NOT NULL
);
CREATE INDEX annotation_of_target ON annotation (target, number);

-- The identity of the version at which somebody says that the alert lies, if that is another one than names it.
ALTER TABLE triage ADD COLUMN lies_at TEXT;
