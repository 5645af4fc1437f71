-- Version 2: vectors of texts, by the hash of the text, as 16-bit floats. They can be made again, but slowly.

CREATE TABLE embedder (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE vector (
    embedder INTEGER NOT NULL REFERENCES embedder (number),
    sha256 BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (embedder, sha256)
) WITHOUT ROWID;
