-- Sessions: what a thread may see, and the revisions that this was pinned with.

-- `body` is JSON. `place` orders the sessions of an owner.
CREATE TABLE session (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    session TEXT NOT NULL,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    thread TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (tenant, owner, session),
    UNIQUE (tenant, owner, name),
    UNIQUE (tenant, owner, thread)
);

-- `files` is the packed list of the files with their revisions (see sessions/manifest.py).
CREATE TABLE session_files (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    session TEXT NOT NULL,
    files BLOB NOT NULL,
    PRIMARY KEY (tenant, owner, session),
    FOREIGN KEY (tenant, owner, session) REFERENCES session (tenant, owner, session) ON DELETE CASCADE
);

-- `kind` is note, experience or page; `scope` is that of a note, else empty.
CREATE TABLE session_pin (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    session TEXT NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    rev TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, session, kind, scope, name),
    FOREIGN KEY (tenant, owner, session) REFERENCES session (tenant, owner, session) ON DELETE CASCADE
) WITHOUT ROWID;
