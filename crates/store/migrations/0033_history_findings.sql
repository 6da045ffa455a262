-- What was found in the samples of a target's history: nothing that can't be found again. Rows of one target are of one key: what
-- was measured, the settings of the search and the program.
CREATE TABLE history_finding (
    target   TEXT NOT NULL,
    -- 0: of versions and references; from 1: of the series
    part     BIGINT NOT NULL,
    key      TEXT NOT NULL,
    packed   BYTEA NOT NULL,
    -- of key, part and bytes
    checksum BIGINT NOT NULL,
    PRIMARY KEY (target, part)
);
