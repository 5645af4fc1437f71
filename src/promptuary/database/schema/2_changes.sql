-- The feed of changes: what happened to which thing, for whoever follows it. It holds ids and no text, so nothing that was
-- forgotten stays in it.
--
-- Each owner has a list of its own (0 is everybody's), so that nobody learns how much others do. Old rows are dropped: who
-- is further behind reads anew. The last one stays, so `seq` counts on. `place` is the space of a note.
DROP TABLE change;

CREATE TABLE change (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    noun TEXT NOT NULL,
    id TEXT NOT NULL,
    event TEXT NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    place TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, seq)
) WITHOUT ROWID;
