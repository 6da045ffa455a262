-- What was told of changes, and to whom: a row for each change and channel. What a channel was told last counts.
CREATE TABLE told (
    -- made of channel, target and version: the same for as long as the change is
    thread     TEXT PRIMARY KEY,
    channel    TEXT NOT NULL,
    target     TEXT NOT NULL,
    -- the identities and the name of the versions that it was told with: at, after which, until which
    version    TEXT NOT NULL,
    name       TEXT NOT NULL,
    after_version TEXT,
    until_version TEXT NOT NULL,
    -- open, over; nothing where nothing has arrived yet
    state      TEXT,
    -- the message that said so, and when
    message    TEXT,
    told       TEXT,
    -- messages that arrived
    messages   BIGINT NOT NULL,
    -- what is being said, by which message: kept before it is sent, so that a message that is sent again after a crash is the same one
    saying     TEXT,
    saying_message TEXT,
    attempts   BIGINT NOT NULL,
    next_try   TEXT,
    problem    TEXT
);
CREATE INDEX told_of_channel ON told (channel, target);

-- How a channel is: who sends on it now, and what failed.
CREATE TABLE notify_channel (
    channel    TEXT PRIMARY KEY,
    -- counts up with each process that takes the channel
    generation BIGINT NOT NULL,
    -- until when the process of this generation has it
    taken_until TEXT,
    failures   BIGINT NOT NULL,
    next_try   TEXT,
    problem    TEXT,
    -- since when something waits for the end of quiet hours
    held_since TEXT
);
