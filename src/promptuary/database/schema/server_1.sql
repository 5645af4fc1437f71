-- The tokens of `promptuary serve`, what they used, and what was done with them. No secret and no text of a request.
--
-- In a file of its own: tokens belong to the person who serves, and one may be for several workspaces.
CREATE TABLE token (
    tenant INTEGER NOT NULL,
    id TEXT NOT NULL,
    hash BLOB NOT NULL,
    body NOT NULL,
    expires TEXT NOT NULL,
    revoked TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

-- `version` counts up when a token is made or revoked, so that other processes notice; `audited` is the last number.
CREATE TABLE tenant (
    tenant INTEGER NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    audited INTEGER NOT NULL,
    claimed INTEGER NOT NULL
);

INSERT INTO tenant (tenant, version, audited, claimed) VALUES (1, 0, 0, 0);

-- What a token used on a day, in UTC.
CREATE TABLE used (
    tenant INTEGER NOT NULL,
    token TEXT NOT NULL,
    day TEXT NOT NULL,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    money REAL NOT NULL,
    PRIMARY KEY (tenant, token, day),
    FOREIGN KEY (tenant, token) REFERENCES token (tenant, id) ON DELETE CASCADE
) WITHOUT ROWID;

-- Who made something at a model service, by the id that the service gave it: nobody else may use the id.
CREATE TABLE claim (
    tenant INTEGER NOT NULL,
    id NOT NULL,
    what TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name NOT NULL,
    agent NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

CREATE INDEX claim_owner ON claim (tenant, kind, name, agent, number);

CREATE TABLE audit (
    tenant INTEGER NOT NULL,
    number INTEGER NOT NULL,
    time TEXT NOT NULL,
    token TEXT NOT NULL,
    user NOT NULL,
    agent NOT NULL,
    "group",
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    status INTEGER NOT NULL,
    thread NOT NULL,
    turn NOT NULL,
    PRIMARY KEY (tenant, number)
) WITHOUT ROWID;
