-- Notes: whose they are, what their files were when last seen, and every change with the text after it.
--
-- `space` is the folder of one agent, such as agents/reviewer.

-- Whom an id belongs to. It stays when a note is deleted or forgotten: an id is never somebody else's.
CREATE TABLE note_owner (
    tenant INTEGER NOT NULL,
    space TEXT NOT NULL,
    note TEXT NOT NULL,
    owner INTEGER NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (tenant, space, note)
) WITHOUT ROWID;

-- What files were when last seen; the files are the truth. `reader` is who may see the note: 0 for everybody who uses
-- the agent, the owner of a private note, NULL for one that nobody has adopted. `header` is JSON, as is `tags`; the
-- columns from `audience` on repeat what notes are found and ordered by.
CREATE TABLE note (
    tenant INTEGER NOT NULL,
    space TEXT NOT NULL,
    path TEXT NOT NULL,
    note TEXT NOT NULL,
    reader INTEGER,
    rev TEXT NOT NULL,
    recorded INTEGER NOT NULL,
    size BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    changed BIGINT NOT NULL,
    inode BIGINT NOT NULL,
    header TEXT NOT NULL,
    audience TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    tags TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    trust TEXT NOT NULL,
    external INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (tenant, space, path)
);

CREATE INDEX note_by_id ON note (tenant, space, note);

-- In the order in which they are listed, with what a list is filtered by.
CREATE INDEX note_in_order ON note (tenant, space, reader, pinned DESC, updated_at DESC, path, status, kind);

CREATE INDEX note_by_fingerprint ON note (tenant, space, fingerprint);

CREATE INDEX note_unadopted ON note (tenant, space, path) WHERE reader IS NULL OR external = 1;

-- How many notes there are of each reader, kind and status. Every turn says how many notes it does not list; counting
-- the rows each time would take longer than all else that it does with 100,000 of them.
CREATE TABLE note_count (
    tenant INTEGER NOT NULL,
    space TEXT NOT NULL,
    reader INTEGER NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (tenant, space, reader, kind, status)
) WITHOUT ROWID;

-- Texts of one note only, though another may have the same: what is forgotten is then nowhere else.
CREATE TABLE note_text (
    tenant INTEGER NOT NULL,
    space TEXT NOT NULL,
    note TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    packed INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, space, note, sha256)
);

-- `number` counts the changes of a space. `text` is the hash of a note_text; NULL if the note was gone. `body` is JSON,
-- with everything else. Rows are only ever added, and removed when forgotten.
CREATE TABLE note_change (
    tenant INTEGER NOT NULL,
    space TEXT NOT NULL,
    number INTEGER NOT NULL,
    note TEXT NOT NULL,
    kind TEXT NOT NULL,
    rev TEXT NOT NULL,
    text BLOB,
    body TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (tenant, space, number)
);

CREATE INDEX note_history ON note_change (tenant, space, note, number);

-- Which files of notes were in the folder before this database, by their paths below `memory`: nobody here wrote them,
-- so they wait until the person adopts them. An empty path stands for all of them.
CREATE TABLE brought_note (
    tenant INTEGER NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (tenant, path)
) WITHOUT ROWID;

-- Which notes are being forgotten. A row is there from before the first step until after the last, so that what a kill
-- or a failing disk left undone is done by the next process.
CREATE TABLE unforgotten (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    note TEXT NOT NULL,
    everywhere INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, note)
) WITHOUT ROWID;
