-- Version 7: what links call other files, and the names by which links find a file.

ALTER TABLE file ADD COLUMN name TEXT NOT NULL DEFAULT '';

CREATE INDEX file_by_name ON file (name, folder);

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
