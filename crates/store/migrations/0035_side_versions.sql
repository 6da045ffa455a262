-- Measured versions that aren't on the line that their target's history follows: changes before they are merged, and what a forced push
-- took off it.
CREATE TABLE side_version (
    target  TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (target, version)
);
