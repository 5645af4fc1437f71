-- Version 6: notes: whose they are, what their files were when last seen, and every change with the text after it.

-- A space is the folder of one agent, such as agents/reviewer.
CREATE TABLE note_space (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- Whom an id belongs to. It stays when a note is deleted or forgotten: an id is never somebody else's.
CREATE TABLE note_owner (
    space INTEGER NOT NULL REFERENCES note_space (id),
    note TEXT NOT NULL,
    owner INTEGER NOT NULL REFERENCES owner (id),
    checksum INTEGER NOT NULL,
    PRIMARY KEY (space, note)
) WITHOUT ROWID;

-- What files were when last seen; the files are the truth. `reader` is who may see the note: 0 for everybody who uses
-- the agent, the owner of a private note, NULL for one that nobody has adopted. `tags` is JSON.
CREATE TABLE note (
    number INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES note_space (id),
    reader INTEGER REFERENCES owner (id),
    owner INTEGER REFERENCES owner (id),
    recorded INTEGER NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    note TEXT NOT NULL,
    path TEXT NOT NULL,
    scope TEXT NOT NULL,
    audience TEXT NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    rev TEXT NOT NULL,
    status TEXT NOT NULL,
    summary TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    source TEXT NOT NULL,
    source_ref TEXT NOT NULL,
    valid_from TEXT NOT NULL,
    valid_until TEXT NOT NULL,
    supersedes TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    confidence REAL NOT NULL,
    trust TEXT NOT NULL,
    external INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    problem TEXT NOT NULL,
    UNIQUE (space, path)
);

CREATE INDEX note_by_id ON note (space, note);

-- In the order in which they are listed, with what a list is filtered by.
CREATE INDEX note_in_order ON note (space, reader, pinned DESC, updated_at DESC, path, status, kind);

CREATE INDEX note_by_fingerprint ON note (space, fingerprint);

CREATE INDEX note_unadopted ON note (space, path) WHERE reader IS NULL OR external = 1;

-- Texts of one note only, though another may have the same: what is forgotten is then nowhere else.
CREATE TABLE note_text (
    space INTEGER NOT NULL REFERENCES note_space (id),
    note TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    packed INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (space, note, sha256)
);

-- `text` is the hash of a note_text; NULL if the note was gone. Rows are only ever added, and removed when forgotten.
CREATE TABLE note_change (
    number INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES note_space (id),
    note TEXT NOT NULL,
    kind TEXT NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    rev TEXT NOT NULL,
    path TEXT NOT NULL,
    reason TEXT NOT NULL,
    before TEXT NOT NULL,
    text BLOB,
    checksum INTEGER NOT NULL
);

CREATE INDEX note_history ON note_change (space, note, number);
