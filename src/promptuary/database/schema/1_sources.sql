-- What each turn was based on. Of one owner: nobody finds another's.

-- Where something in a prompt came from, as receipts say it: file:src/a.py.
CREATE TABLE source (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    source INTEGER NOT NULL,
    address TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, source),
    UNIQUE (tenant, owner, address)
) WITHOUT ROWID;

-- A source as a layer showed it: its revision, and the first and last line, 0 if it has none.
CREATE TABLE source_part (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    part INTEGER NOT NULL,
    source INTEGER NOT NULL,
    layer TEXT NOT NULL,
    revision TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, part)
) WITHOUT ROWID;

CREATE INDEX source_part_by_content ON source_part (tenant, owner, source, layer, revision, first, last);

-- What stands in the prompt of a turn itself; `turn` is its serial.
CREATE TABLE turn_source (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    source INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    part INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, source, turn, part)
) WITHOUT ROWID;

CREATE INDEX turn_source_by_turn ON turn_source (tenant, owner, turn);

-- What was attached to an item, or to one that it stands for.
CREATE TABLE item_source (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    item INTEGER NOT NULL,
    part INTEGER NOT NULL,
    how TEXT NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, item, part, how)
) WITHOUT ROWID;

-- From which turn of a thread to which a part was sent with the history, directly or in a summary, by their serials;
-- `last` is NULL while it still is. A row a turn would be as many rows as turns times attachments.
CREATE TABLE carried_source (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    thread INTEGER NOT NULL,
    first INTEGER NOT NULL,
    source INTEGER NOT NULL,
    part INTEGER NOT NULL,
    how TEXT NOT NULL,
    last INTEGER,
    PRIMARY KEY (tenant, owner, thread, first, part, how)
) WITHOUT ROWID;

CREATE INDEX carried_by_source ON carried_source (tenant, owner, source, last);

CREATE INDEX carried_now ON carried_source (tenant, owner, thread) WHERE last IS NULL;
