-- What a host is in full. The same record is kept once, whoever has it; so is each of its sections.
CREATE TABLE record (
    number   BIGINT PRIMARY KEY,
    -- the BLAKE3 hash of its sections' names and addresses
    content  TEXT NOT NULL UNIQUE
);

CREATE TABLE record_section (
    record  BIGINT NOT NULL REFERENCES record (number) ON DELETE CASCADE,
    name    TEXT NOT NULL,
    -- the address of a raw object: names and values as a JSON object
    object  TEXT NOT NULL,
    PRIMARY KEY (record, name)
);

-- What a host was when a study began, or went on; and what it was when the study ended, unless it was killed.
CREATE TABLE host_record (
    study       BIGINT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    position    BIGINT NOT NULL,
    host        TEXT NOT NULL,
    began       TEXT NOT NULL,
    at_begin    BIGINT NOT NULL REFERENCES record (number),
    ended       TEXT,
    at_end      BIGINT REFERENCES record (number),
    -- the address of a raw object: what the kernel said meanwhile; missing where that was nothing
    kernel_log  TEXT,
    PRIMARY KEY (study, position)
);
