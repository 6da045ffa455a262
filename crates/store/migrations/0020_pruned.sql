-- Raw objects that a rule of keep.toml removed: what refers to one says so, in place of that it is missing. The mark comes first, then
-- the object's file goes; a mark goes when the object is kept anew.
CREATE TABLE pruned (
    -- the address of the raw object
    object  TEXT PRIMARY KEY,
    made    TEXT NOT NULL,
    -- as keep.toml has it
    rule    TEXT NOT NULL
);
