-- Vectors of texts, by the hash of the text, as 16-bit floats. They can be made again, but slowly.
--
-- Those of the files of a workspace are everybody's, owner 0; those of notes and experiences are their owner's, so that
-- nobody can find out whether another has a text by how long it takes to embed it.

CREATE TABLE embedder (
    tenant INTEGER NOT NULL,
    embedder INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (tenant, embedder),
    UNIQUE (tenant, name)
) WITHOUT ROWID;

CREATE TABLE vector (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    embedder INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, owner, embedder, sha256)
) WITHOUT ROWID;
