-- What is indexed: folders, their files, the files' chunks.
--
-- All of it can be rebuilt from the files. Text that is not valid Unicode is a blob (see columns.py). The numbers are
-- those of this index alone: it is a cache of one principal on one disk, and no other database names them.

-- `vectors` is whether any chunk was given a vector.
CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE folder (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL
);

-- A number is never used twice, so that the full-text index cannot mistake one file for another. `chunks` and
-- `conversations` are how many it has, so that a search need not count them; `name` is that by which links find it;
-- `tags` are each between two line feeds.
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
    chunks INTEGER NOT NULL,
    conversations INTEGER NOT NULL,
    name TEXT NOT NULL,
    tags TEXT NOT NULL,
    UNIQUE (folder, path)
);

CREATE INDEX file_by_date ON file (date);

CREATE INDEX file_by_name ON file (name, folder);

-- The text of a file once: chunks are lines of it.
CREATE TABLE content (
    file INTEGER PRIMARY KEY REFERENCES file (id),
    text TEXT NOT NULL
);

-- Numbers grow and are not used twice while any reader may know them. Up to `embedded` in meta all have vectors. `own` is
-- what of the text is the person's own, NULL for all of it; `names` are those of its note; `date` NULL is that of the file;
-- `language` is that of the text, empty if it does not say. `days` are those that the file says it is of, empty if it does
-- not: then the date of the file is that of its last change.
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES file (id),
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    heading TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    own TEXT DEFAULT '',
    names TEXT NOT NULL DEFAULT '[]',
    date INTEGER,
    language TEXT NOT NULL DEFAULT '',
    days TEXT NOT NULL DEFAULT ''
);

-- The same days, one a row, so that a time finds its chunks.
CREATE TABLE day (
    day INTEGER NOT NULL,
    chunk INTEGER NOT NULL REFERENCES chunk (id),
    PRIMARY KEY (day, chunk)
) WITHOUT ROWID;

CREATE INDEX day_of_chunk ON day (chunk);

CREATE INDEX chunk_of_file ON chunk (file);

CREATE INDEX conversation_of_file ON chunk (file, start_line) WHERE own IS NOT '';

-- Chunks that the full-text index has in another form, or must delete. New ones are those above `written` in meta.
CREATE TABLE pending (
    chunk INTEGER PRIMARY KEY
);

-- Chunks above `embedded` in meta that need no vector any more; all chunks up to that number need none.
CREATE TABLE embedded (
    chunk INTEGER PRIMARY KEY
);

-- What people say in each conversation as a whole, by the number of the chunk that holds it.
CREATE VIRTUAL TABLE conversation USING fts5 (said, tokenize = 'porter unicode61 remove_diacritics 2');

-- What links call other files.
CREATE TABLE link (
    id INTEGER PRIMARY KEY,
    chunk INTEGER NOT NULL REFERENCES chunk (id),
    target TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL
);

CREATE INDEX link_of_chunk ON link (chunk);

-- The texts of links by their numbers.
CREATE VIRTUAL TABLE link_text USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2');
