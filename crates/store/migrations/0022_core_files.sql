-- Core files that programs of a suite left when they crashed, in that order.
CREATE TABLE core_file (
    study     BIGINT NOT NULL,
    trial     BIGINT NOT NULL,
    -- from 1
    position  BIGINT NOT NULL,
    host      TEXT NOT NULL,
    -- below the trial's folder
    path      TEXT NOT NULL,
    -- what the kernel called the program
    program   TEXT,
    signal    BIGINT,
    bytes     BIGINT NOT NULL,
    -- the address of a raw object; missing where the file was longer than was to be kept
    content   TEXT,
    PRIMARY KEY (study, trial, position),
    FOREIGN KEY (study, trial) REFERENCES trial (study, number) ON DELETE CASCADE
);
