-- Sessions: what a thread may see, and the revisions that this was pinned with.

-- `body` is JSON: roots, choices, times. `files` is the packed list of the files with their revisions (see manifest.py).
CREATE TABLE session (
    number INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES owner (id),
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    thread TEXT NOT NULL,
    body TEXT NOT NULL,
    version INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (owner, session),
    UNIQUE (owner, name),
    UNIQUE (owner, thread)
);

CREATE TABLE session_files (
    session INTEGER PRIMARY KEY REFERENCES session (number) ON DELETE CASCADE,
    files BLOB NOT NULL
);

-- `kind` is note, experience or page; `scope` is that of a note or a page, else empty.
CREATE TABLE session_pin (
    session INTEGER NOT NULL REFERENCES session (number) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    rev TEXT NOT NULL,
    PRIMARY KEY (session, kind, scope, name)
) WITHOUT ROWID;
