-- A database that several controllers share.

-- Which store this is: a controller that knows another one under the same address refuses it. One row.
CREATE TABLE store_identity (
    id    TEXT PRIMARY KEY,
    made  TEXT NOT NULL
);

-- Processes that measure studies or run jobs, each for as long as it says again and again that it is there.
CREATE TABLE runner (
    -- the boot of its machine, its number, and when it began since that boot
    boot   TEXT NOT NULL,
    pid    BIGINT NOT NULL,
    start  BIGINT NOT NULL,
    -- its machine's name
    host   TEXT NOT NULL,
    -- when it was there last: seconds since 1970 by the database's clock
    seen   DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (boot, pid, start)
);

-- Raw objects of a database that has no folder beside it.
CREATE TABLE raw_object (
    -- the BLAKE3 hash of the content
    address  TEXT PRIMARY KEY,
    -- the content, packed by zstd
    packed   BYTEA NOT NULL,
    made     TEXT NOT NULL
);
