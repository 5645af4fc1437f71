-- Version 1: threads, their histories, turns and prompts, layers' states.
--
-- Names and ids are text; one that is not valid Unicode is a blob (see rows.py), so no column is stricter than that.

-- Every long text, once, by what it is. Rows are only ever added.
CREATE TABLE content (
    id INTEGER PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,
    packed INTEGER NOT NULL,
    body BLOB NOT NULL
);

-- `used` counts up at every change in any thread: clocks go back, this does not.
CREATE TABLE thread (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    used INTEGER NOT NULL
);

CREATE INDEX thread_by_use ON thread (used);

-- `place` orders a thread; a summary has the place of the first item that it stands for.
CREATE TABLE item (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    thread INTEGER NOT NULL REFERENCES thread (id),
    place INTEGER NOT NULL,
    compacted INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    content INTEGER NOT NULL REFERENCES content (id),
    tool_calls TEXT NOT NULL,
    tool_call_id TEXT NOT NULL,
    stands_for TEXT NOT NULL,
    turn TEXT NOT NULL
);

CREATE UNIQUE INDEX history ON item (thread, place) WHERE compacted = 0;

-- `messages` is a content: JSON in which each message has the id of a content in the place of its own.
CREATE TABLE turn (
    number INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    thread INTEGER NOT NULL REFERENCES thread (id),
    created TEXT NOT NULL,
    status TEXT NOT NULL,
    text INTEGER NOT NULL REFERENCES content (id),
    messages INTEGER NOT NULL REFERENCES content (id),
    receipt INTEGER NOT NULL REFERENCES content (id),
    UNIQUE (thread, number)
);

-- Not in `content`: a state changes at every turn and its past is of no use.
CREATE TABLE state (
    layer TEXT NOT NULL,
    scope_key TEXT NOT NULL,
    version INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    packed INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (layer, scope_key)
);
