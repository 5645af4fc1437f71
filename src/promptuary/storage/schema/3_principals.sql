-- Version 3: threads and private states have an owner; a turn records who acted, an item what was attached to it.

-- Owner 0 is everybody who uses the workspace, 1 the person on this machine.
CREATE TABLE owner (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    agent TEXT NOT NULL,
    UNIQUE (kind, name, agent)
);

INSERT INTO owner (id, kind, name, agent) VALUES (0, 'everybody', '', ''), (1, 'user', 'local', 'default');

CREATE TABLE owned_thread (
    id INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES owner (id),
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    used INTEGER NOT NULL,
    UNIQUE (owner, name)
);

INSERT INTO owned_thread (id, owner, name, created, updated, used)
SELECT id, 1, name, created, updated, used FROM thread;

DROP TABLE thread;

ALTER TABLE owned_thread RENAME TO thread;

CREATE INDEX thread_by_use ON thread (used);

ALTER TABLE turn ADD COLUMN user TEXT NOT NULL DEFAULT 'local';

-- JSON: where the person's words begin, and a list a thing that was attached. Empty: words from end to end.
ALTER TABLE item ADD COLUMN attached TEXT NOT NULL DEFAULT '';

CREATE TABLE owned_state (
    owner INTEGER NOT NULL REFERENCES owner (id),
    layer TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    packed INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (owner, layer, scope, name)
);

-- A key was 'thread:NAME', 'resource:NAME' or 'global'. One that is no valid Unicode is a blob, and stays one.
INSERT INTO owned_state (owner, layer, scope, name, version, sha256, packed, body)
SELECT 1, layer, 'thread', substr(scope_key, 8), version, sha256, packed, body
FROM state
WHERE CAST(substr(scope_key, 1, 7) AS TEXT) = 'thread:'
UNION ALL
SELECT 0, layer, 'resource', substr(scope_key, 10), version, sha256, packed, body
FROM state
WHERE CAST(substr(scope_key, 1, 9) AS TEXT) = 'resource:'
UNION ALL
SELECT 0, layer, 'global', '', version, sha256, packed, body
FROM state
WHERE scope_key = 'global';

DROP TABLE state;

ALTER TABLE owned_state RENAME TO state;
