-- Who may ask through a server: tokens, of which only a hash is kept.
CREATE TABLE access_token (
    name       TEXT NOT NULL PRIMARY KEY,
    -- who asks with it
    person     TEXT NOT NULL,
    -- read, queue, control, proxy
    scope      TEXT NOT NULL,
    -- BLAKE3 of its text
    hash       TEXT NOT NULL UNIQUE,
    made       TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    -- from when on it isn't taken any more
    ends       TEXT,
    revoked    TEXT,
    revoked_by TEXT
);

-- What was asked through a server, and who may ask.
CREATE TABLE audit_entry (
    number BIGINT NOT NULL PRIMARY KEY,
    made   TEXT NOT NULL,
    person TEXT NOT NULL,
    -- the token's name, if one was used
    token  TEXT,
    -- serve, mcp, command
    way    TEXT NOT NULL,
    action TEXT NOT NULL,
    -- a JSON object
    detail TEXT NOT NULL
);
