-- Version 7: finished turns that wait for writeback, and proposals that wait for the person.

-- `due` is when a turn is tried next, in seconds since 1970, NULL for never by itself; `leased` is until when it is
-- kept for the process that took it.
CREATE TABLE writeback_turn (
    number INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES owner (id),
    turn TEXT NOT NULL,
    thread TEXT NOT NULL,
    at TEXT NOT NULL,
    body TEXT NOT NULL,
    due REAL,
    leased REAL NOT NULL,
    tries INTEGER NOT NULL,
    error TEXT NOT NULL,
    UNIQUE (owner, turn)
);

CREATE INDEX writeback_turn_due ON writeback_turn (owner, due, number) WHERE due IS NOT NULL;

-- `body` is JSON, NULL for one that was rejected: of that only the fingerprint is kept, so that it does not come again.
CREATE TABLE proposal (
    number INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES owner (id),
    proposal TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    body TEXT,
    checksum INTEGER NOT NULL,
    UNIQUE (owner, proposal)
);

CREATE INDEX proposal_fingerprint ON proposal (owner, fingerprint);
