-- Version 9: what each turn was based on, and what it cost.
--
-- Turns of earlier versions have `indexed` 0 until their sources are looked up: once, when somebody asks for them.

-- `serial` counts all turns in the order in which they were added, and is never used again. `tokens` is what was sent,
-- NULL while that is only in the receipt; `cost` is in whatever currency the person counts.
CREATE TABLE numbered_turn (
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    number INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    thread INTEGER NOT NULL REFERENCES thread (id),
    created TEXT NOT NULL,
    status TEXT NOT NULL,
    text INTEGER NOT NULL REFERENCES content (id),
    messages INTEGER NOT NULL REFERENCES content (id),
    receipt INTEGER NOT NULL REFERENCES content (id),
    user TEXT NOT NULL,
    tokens INTEGER,
    reply_tokens INTEGER NOT NULL DEFAULT 0,
    cost REAL,
    checksum INTEGER,
    indexed INTEGER NOT NULL DEFAULT 0,
    UNIQUE (thread, number)
);

INSERT INTO numbered_turn (number, id, thread, created, status, text, messages, receipt, user, checksum)
SELECT number, id, thread, created, status, text, messages, receipt, user, checksum FROM turn ORDER BY rowid;

DROP TABLE turn;

ALTER TABLE numbered_turn RENAME TO turn;

CREATE INDEX turn_by_serial ON turn (thread, serial);

CREATE INDEX turn_not_indexed ON turn (thread, serial) WHERE indexed = 0;

-- The highest number among turns that were removed: a number is never given twice.
ALTER TABLE thread ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;

-- Whether the sources of the items of a thread are in `item_source`.
ALTER TABLE thread ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;

-- Where something in a prompt came from, as receipts say it: file:src/a.py. Of one owner: nobody finds another's.
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES owner (id),
    address TEXT NOT NULL,
    UNIQUE (owner, address)
);

-- A source as a layer showed it: its revision, and the first and last line, 0 if it has none.
CREATE TABLE source_part (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id),
    layer TEXT NOT NULL,
    revision TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL
);

CREATE INDEX source_part_by_content ON source_part (source, layer, revision, first, last);

-- What stands in the prompt of a turn itself; `turn` is its serial.
CREATE TABLE turn_source (
    source INTEGER NOT NULL REFERENCES source (id),
    turn INTEGER NOT NULL REFERENCES turn (serial),
    part INTEGER NOT NULL REFERENCES source_part (id),
    PRIMARY KEY (source, turn, part)
) WITHOUT ROWID;

CREATE INDEX turn_source_by_turn ON turn_source (turn);

-- What was attached to an item, or to one that it stands for.
CREATE TABLE item_source (
    item INTEGER NOT NULL REFERENCES item (number),
    part INTEGER NOT NULL REFERENCES source_part (id),
    how TEXT NOT NULL,
    PRIMARY KEY (item, part, how)
) WITHOUT ROWID;

-- From which turn of a thread to which a part was sent with the history, directly or in a summary; `last` is NULL while
-- it still is. A row a turn would be as many rows as turns times attachments.
CREATE TABLE carried_source (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id),
    part INTEGER NOT NULL REFERENCES source_part (id),
    how TEXT NOT NULL,
    thread INTEGER NOT NULL REFERENCES thread (id),
    first INTEGER NOT NULL,
    last INTEGER
);

CREATE INDEX carried_by_source ON carried_source (source, last);

CREATE INDEX carried_by_thread ON carried_source (thread, first);

CREATE INDEX carried_now ON carried_source (thread) WHERE last IS NULL;

-- Whether an item brings sources into the prompts that it is in.
ALTER TABLE item ADD COLUMN sourced INTEGER NOT NULL DEFAULT 0;

CREATE INDEX item_sourced ON item (thread) WHERE sourced = 1 AND compacted = 0;

CREATE INDEX item_by_thread ON item (thread, number);
