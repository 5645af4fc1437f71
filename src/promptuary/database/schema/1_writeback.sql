-- Finished turns that wait for writeback, and proposals that wait for the person. `place` orders those of an owner.

-- `due` is when a turn is tried next, in seconds since 1970, NULL for never by itself; `leased` is until when it is
-- kept for the process that took it, and tells that lease from every other.
CREATE TABLE writeback_turn (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    turn TEXT NOT NULL,
    place INTEGER NOT NULL,
    thread TEXT NOT NULL,
    at TEXT NOT NULL,
    body TEXT NOT NULL,
    due DOUBLE PRECISION,
    leased DOUBLE PRECISION NOT NULL,
    tries INTEGER NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (tenant, owner, turn)
);

CREATE INDEX writeback_turn_due ON writeback_turn (tenant, owner, due, place) WHERE due IS NOT NULL;

-- `body` is JSON, NULL for one that was rejected: of that only the fingerprint is kept, so that it does not come again.
CREATE TABLE proposal (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    proposal TEXT NOT NULL,
    place INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    body TEXT,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (tenant, owner, proposal)
);

CREATE INDEX proposal_fingerprint ON proposal (tenant, owner, fingerprint);
