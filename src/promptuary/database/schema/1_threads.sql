-- Threads: their histories, and the ledger of their turns.
--
-- A text is named by its hash in `content`. A checksum covers everything in a row that does not change by itself, its
-- texts included: a flipped bit on the disk goes unnoticed by SQLite.

-- `used` is the counter of the owner at the last change; `history` the checksum of which items are in the history, and
-- which of them are pinned; `removed` the highest number among turns that were removed: none is given twice.
CREATE TABLE thread (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    used INTEGER NOT NULL,
    history BIGINT NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, owner, thread),
    UNIQUE (tenant, owner, name)
);

CREATE INDEX thread_by_use ON thread (tenant, owner, used);

-- `item` orders the items as they were added, `place` as they are in the history: a summary has the place of the first
-- item that it stands for. `attached` is JSON: where the person's words begin, what was attached, whether a tool failed;
-- empty if nothing is to be said. `sourced` is whether it brings sources into the prompts that it is in.
CREATE TABLE item (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    item INTEGER NOT NULL,
    id TEXT NOT NULL,
    place INTEGER NOT NULL,
    compacted INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL,
    sourced INTEGER NOT NULL DEFAULT 0,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    tool_calls TEXT NOT NULL,
    tool_call_id TEXT NOT NULL,
    stands_for TEXT NOT NULL,
    turn TEXT NOT NULL,
    attached TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (tenant, owner, thread, item),
    UNIQUE (tenant, owner, id),
    FOREIGN KEY (tenant, owner, thread) REFERENCES thread (tenant, owner, thread)
);

CREATE UNIQUE INDEX history ON item (tenant, owner, thread, place) WHERE compacted = 0;

CREATE INDEX item_sourced ON item (tenant, owner, thread) WHERE sourced = 1 AND compacted = 0;

-- `number` counts the turns of a thread, `serial` orders those of the owner as they were added. `messages` is the list of
-- what was sent (see prompts.py). `tokens` is what was sent; `cost` is in whatever currency the person counts.
CREATE TABLE turn (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    number INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    id TEXT NOT NULL,
    created TEXT NOT NULL,
    status TEXT NOT NULL,
    user TEXT NOT NULL,
    text BLOB NOT NULL,
    messages BLOB NOT NULL,
    receipt BLOB NOT NULL,
    tokens INTEGER NOT NULL,
    reply_tokens INTEGER NOT NULL,
    cost DOUBLE PRECISION,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (tenant, owner, thread, number),
    UNIQUE (tenant, owner, id),
    UNIQUE (tenant, owner, thread, serial),
    FOREIGN KEY (tenant, owner, thread) REFERENCES thread (tenant, owner, thread)
);
