-- Self-tests of machines: how calm each was, and when. They belong to machines, not to studies.
CREATE TABLE self_test (
    id      INTEGER PRIMARY KEY,
    -- what tells machines apart: the system's own id, or the host's name where it has none
    machine TEXT NOT NULL,
    -- the boot in which it was made
    boot    TEXT NOT NULL,
    -- what the lab called it
    host    TEXT NOT NULL,
    made    TEXT NOT NULL,
    -- figures and sources of noise, as JSON; grades are given when it is read
    result  TEXT NOT NULL
);
CREATE INDEX self_test_of_machine ON self_test (machine, id);
