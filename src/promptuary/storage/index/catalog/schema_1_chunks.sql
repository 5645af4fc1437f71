-- Version 1: what is indexed: folders, their files, the files' chunks.
--
-- All of it can be rebuilt from the files. Text that is not valid Unicode is a blob (see rows.py).

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE folder (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL
);

-- A number is never used twice, so that the full-text index cannot mistake one file for another.
CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    folder INTEGER NOT NULL REFERENCES folder (id),
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    kind TEXT NOT NULL,
    date INTEGER NOT NULL,
    UNIQUE (folder, path)
);

-- The text of a file once: chunks are lines of it.
CREATE TABLE content (
    file INTEGER PRIMARY KEY REFERENCES file (id),
    text TEXT NOT NULL
);

-- Numbers grow and are not used twice while any reader may know them. Up to `embedded` in meta all have vectors.
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES file (id),
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    trail TEXT NOT NULL,
    sha256 BLOB NOT NULL
);

CREATE INDEX chunk_of_file ON chunk (file);

-- Chunks that the full-text index has in another form, or must delete. New ones are those above `written` in meta.
CREATE TABLE pending (
    chunk INTEGER PRIMARY KEY
);
