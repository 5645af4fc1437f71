-- Version 15: what the port to the database needs: leases with their tokens, and the feed of changes.

CREATE TABLE IF NOT EXISTS tenant (
    tenant INTEGER PRIMARY KEY,
    changes INTEGER NOT NULL
);

INSERT OR IGNORE INTO tenant (tenant, changes) VALUES (1, 0);

CREATE TABLE IF NOT EXISTS lease (
    tenant INTEGER NOT NULL,
    name TEXT NOT NULL,
    token INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS change (
    tenant INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    noun TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (tenant, seq)
) WITHOUT ROWID;
